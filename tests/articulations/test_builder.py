"""The builder: inertias, limits, order, frames, configurations, and what it refuses."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.articulations.built import crane
from trajopt.articulations import ArticulationBuilder, Axis
from trajopt.errors import InvalidArgumentError, TrajoptError
from trajopt.simulator import Simulator


def two() -> ArticulationBuilder:
    """Links "a" and "b", each a ball, without joints."""
    builder = ArticulationBuilder()
    for link in "ab":
        builder.add_sphere(builder.add_link(link), 0.1)
    return builder


def one(**link: Any) -> ArticulationBuilder:
    """A link "a" on a free joint."""
    builder = ArticulationBuilder()
    builder.add_link("a", **link)
    builder.add_free("world", "a")
    return builder


def test_inertias_are_those_of_solids() -> None:
    """Closed forms; a capsule against a fine sum over its volume."""
    builder = one()
    builder.add_box("a", (0.2, 0.4, 0.6), placement=pin.SE3(pin.exp3(np.array([0, 0, np.pi / 2])), np.array([1, 0, 0])))
    inertia = builder.build("box").model.inertias[1]
    assert inertia.mass == pytest.approx(48.0)
    np.testing.assert_allclose(inertia.lever, [1, 0, 0], atol=1e-15)
    np.testing.assert_allclose(
        inertia.inertia, np.diag([0.40, 0.52, 0.20]) * 4, atol=1e-12
    )  # m/12 (b² + c²), x and y swap
    builder = one()
    builder.add_cylinder("a", 0.1, start=(0, 0, 1), end=(0, 2, 1), density=500.0)
    inertia = builder.build("cylinder").model.inertias[1]
    mass = 500 * np.pi * 0.01 * 2
    assert inertia.mass == pytest.approx(mass)
    np.testing.assert_allclose(inertia.lever, [0, 1, 1], atol=1e-12)
    across, along = mass * (3 * 0.01 + 4) / 12, mass * 0.01 / 2
    np.testing.assert_allclose(inertia.inertia, np.diag([across, along, across]), atol=1e-9)
    builder = one()
    builder.add_capsule("a", 0.5, start=(-0.5, 0, 0), end=(0.5, 0, 0))
    inertia = builder.build("capsule").model.inertias[1]
    x = (np.arange(4000) + 0.5) / 2000 - 1
    radii = 0.25 - np.maximum(np.abs(x) - 0.5, 0.0) ** 2  # squared, of slices
    slices = 1e3 * np.pi * radii / 2000
    assert inertia.mass == pytest.approx(slices.sum(), rel=1e-6)
    bends = np.sum(slices * (x**2 + radii / 4))
    np.testing.assert_allclose(np.diag(inertia.inertia), [np.sum(slices * radii / 2), bends, bends], rtol=1e-6)


def test_inertias_follow_the_mass_or_the_passed_inertia() -> None:
    ball = one(mass=3.0)
    ball.add_sphere("a", 0.2, center=(0, 0, 0.5))
    inertia = ball.build("ball").model.inertias[1]
    assert inertia.mass == pytest.approx(3.0)
    np.testing.assert_allclose(inertia.inertia, 0.4 * 3 * 0.04 * np.eye(3), atol=1e-12)
    np.testing.assert_allclose(inertia.lever, [0, 0, 0.5])
    given = one(mass=2.0, com=(0.1, 0, 0), inertia=(0.3, 0.4, 0.5)).build("given").model.inertias[1]
    np.testing.assert_allclose(given.inertia, np.diag([0.3, 0.4, 0.5]))
    np.testing.assert_allclose(given.lever, [0.1, 0, 0])
    seen = one(mass=2.0, inertia=np.eye(3))
    seen.add_box("a", (1, 1, 1), density=0.0)
    robot = seen.build("seen")
    np.testing.assert_allclose(robot.model.inertias[1].inertia, np.eye(3))
    assert len(robot.shapes) == 1


def test_fixed_links_are_parts_of_the_body_that_holds_them() -> None:
    robot = crane()
    rod, ball = 2.0, 1e3 * 4 / 3 * np.pi * 1e-3
    assert robot.model.inertias[2].mass == pytest.approx(rod + ball)
    np.testing.assert_allclose(robot.model.inertias[2].lever, [0, 0, -(0.4 * rod + 0.8 * ball) / (rod + ball)])
    np.testing.assert_allclose(robot.placement(np.zeros(4), "tool")[:3, 3], [0, 0, 0.6], atol=1e-15)
    np.testing.assert_allclose(robot.configuration("aside"), [0, 0, 0.1, 0.4])


def test_a_fixed_link_is_where_its_anchors_meet() -> None:
    """x_wc = x_wp X_p X_c⁻¹, and frames on it go on from there."""
    turn = pin.SE3(pin.exp3(np.array([0.3, -0.2, 0.9])), np.array([0.1, 0.2, 0.3]))
    builder, X_p = two(), pin.SE3(pin.exp3(np.array([0.0, 1.0, 0.4])), np.array([0.0, 0.5, 0.0]))
    builder.add_revolute("world", "a")
    builder.add_fixed("a", "b", X_p=X_p, X_c=turn)
    builder.add_frame("tool", "b", turn)
    robot = builder.build("r")
    np.testing.assert_allclose(robot.placement([0.0], "b"), (X_p * turn.inverse()).homogeneous, atol=1e-15)
    np.testing.assert_allclose(robot.placement([0.0], "tool"), X_p.homogeneous, atol=1e-15)


def test_links_of_one_parent_are_in_the_order_of_their_declaration() -> None:
    builder = two()
    builder.add_sphere(builder.add_link("c"), 0.1)
    for parent, child in (("world", "a"), ("a", "b"), ("a", "c")):
        builder.add_d6(parent, child, linear=[Axis("x", damping=1.0, armature=2.0), Axis("y", damping=3.0)])
    model = builder.build("r").model
    assert list(model.names)[1:] == ["a_joint", "b_joint", "c_joint"]
    np.testing.assert_array_equal(model.damping, [1, 3] * 3)
    np.testing.assert_array_equal(model.armature, [2, 0] * 3)


def test_joints_are_in_depth_first_order_with_their_limits() -> None:
    builder = two()
    builder.add_sphere(builder.add_link("c"), 0.1)
    builder.add_revolute(
        "a", "c", name="elbow", lower=-1.0, upper=2.0, velocity=3.0, effort=4.0, armature=0.5, damping=0.2
    )
    builder.add_prismatic("world", "b", axis="-x", effort=7.0)
    builder.add_ball("world", "a", effort=5.0)
    model = builder.build("robot").model
    assert list(model.names)[1:] == ["b_joint", "a_joint", "elbow"]
    np.testing.assert_allclose(model.upperEffortLimit, [7, 5, 5, 5, 4])
    assert (model.lowerPositionLimit[-1], model.upperPositionLimit[-1], model.upperVelocityLimit[-1]) == (-1, 2, 3)
    assert (model.armature[-1], model.damping[-1]) == (0.5, 0.2)
    assert repr(builder).startswith("ArticulationBuilder(links: a, b, c; joints: elbow (axes), b_joint (axes)")


def test_a_builder_goes_on_and_robots_stay() -> None:
    builder = one(mass=1.0, inertia=np.eye(3))
    first = builder.build("first")
    builder.add_sphere(builder.add_link("b"), 0.1)
    builder.add_revolute("a", "b")
    assert (first.nv, builder.build("second").nv) == (6, 7)
    assert first.floating_base


def test_a_light_finger_on_a_heavy_base_is_no_defect() -> None:
    builder = one(mass=1e4, inertia=1e4 * np.eye(3))
    builder.add_link("finger", mass=1e-5, inertia=1e-9 * np.eye(3))
    builder.add_revolute("a", "finger", X_p=(10, 0, 0))
    assert builder.build("light").nv == 7
    builder.add_link("motor")
    builder.add_revolute("finger", "motor", armature=0.1)
    assert builder.build("motor").nv == 8


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "negative mass": (lambda: one(mass=-1.0), r"mass: expected a number >= 0 \[kg\], got -1.0"),
    "inertia alone": (lambda: one(inertia=np.eye(3)), "mass: expected a mass .* with com or inertia, got None; pass"),
    "no body": (lambda: one(mass=1.0, inertia=(1, 1, 3)), "inertia: expected a symmetric .*; a solid such as add"),
    "not symmetric": (lambda: one(mass=1.0, inertia=[[1, 1, 0], [0, 1, 0], [0, 0, 1]]), "inertia: expected a sym"),
    "name twice": (lambda: two().add_link("a"), "name: expected a new one, got 'a', which"),
    "world": (lambda: two().add_link("world"), "name: expected a new one, got 'world'"),
    "no name": (lambda: two().add_link(""), "name: expected a string that is not empty"),
    "number as name": (lambda: two().add_link(3), "name: expected a string such as 'upper_arm', got 3"),
    "frame twice": (lambda: (b := two()).add_frame(b.add_frame("tool", "a"), "b"), "name: expected a new one"),
    "unknown parent": (lambda: two().add_revolute("c", "a"), "parent: link 'c' not found. Known: a, b, world"),
    "unknown child": (lambda: two().add_revolute("a", "A"), "child: link 'A'.*a, b"),
    "unknown link": (lambda: two().add_box("c", (1, 1, 1)), "link 'c'"),
    "itself": (lambda: two().add_revolute("a", "a"), "child: expected a link other than the parent, got 'a'"),
    "two joints": (
        lambda: [(b := two()).add_fixed("world", "a"), b.add_revolute("b", "a")],
        "child: expected a link without a joint, got 'a', which joint 'a_joint' moves; close a loop with a Contact",
    ),
    "loop": (
        lambda: [(b := two()).add_revolute("a", "b"), b.add_revolute("b", "a"), b.build("r")],
        "expected each link to be connected to the world, got a loop of 'a', 'b'; remove",
    ),
    "no joint": (
        lambda: [(b := two()).add_revolute("world", "a"), b.build("r")],
        r"expected one for each link, got none for 'b'; add_free\('world', 'b'\) lets it float",
    ),
    "two roots": (lambda: two().build("r"), "expected one for each link, got none for 'a', 'b'"),
    "nothing": (lambda: ArticulationBuilder().build("r"), "expected one for each link, got no link"),
    "nothing moves": (lambda: [(b := one(mass=1.0)), b.build("r")], "joint 'a_joint': expected inertia behind each"),
    "all fixed": (
        lambda: [(b := two()).add_fixed("world", "a"), b.add_fixed("a", "b"), b.build("r")],
        "expected at least one that moves",
    ),
    "massless": (
        lambda: [(b := ArticulationBuilder()).add_link("a"), b.add_revolute("world", "a"), b.build("r")],
        "joint 'a_joint': expected inertia behind each.*give its link a mass",
    ),
    "point on a ball": (
        lambda: [(b := ArticulationBuilder()).add_link("a", mass=1.0, com=(0, 0, 1)), b.add_ball("world", "a"),
                 b.build("r")],
        "joint 'a_joint': expected inertia behind each",
    ),
    "axis": (lambda: two().add_revolute("world", "a", axis="w"), "direction: expected one of x, -x, y"),
    "no axis": (lambda: two().add_prismatic("world", "a", axis=(0, 0, 0)), "direction: expected a direction, got a"),
    "limits": (lambda: two().add_revolute("world", "a", lower=1, upper=0), "lower: expected lower <= upper, got 1"),
    "effort": (lambda: two().add_revolute("world", "a", effort=0), "effort: expected a limit > 0, or inf for no limit"),
    "anchor": (lambda: two().add_revolute("world", "a", X_p=(0, 1)), "X_p: expected a pinocchio.SE3"),
    "no rotation": (lambda: two().add_ball("world", "a", X_c=2 * np.eye(4)), "X_c: expected a rotation matrix"),
    "ball's speed": (lambda: two().add_ball("world", "a", velocity=-1), "velocity: expected a limit > 0"),
    "d6 without axes": (lambda: two().add_d6("world", "a"), "linear, angular: expected at least one axis, got none"),
    "d6 with four": (lambda: two().add_d6("world", "a", linear=list("xyzx")), "linear: expected at most 3 axes, got 4"),
    "d6 slides twice": (lambda: two().add_d6("world", "a", linear=["x", "-x"]), "linear: expected axes in independent"),
    "d6 not square": (
        lambda: two().add_d6("world", "a", angular=["x", (1, 1, 0), "z"]), "angular: expected each axis perpendicular"
    ),
    "d6 text": (lambda: two().add_d6("world", "a", linear="xy"), "linear: expected a list of axes, got 'xy'"),
    "universal": (lambda: two().add_universal("world", "a", axes=["x", "x"]), "axes: expected two directions"),
    "universal there and back": (
        lambda: two().add_universal("world", "a", axes=["x", "-x"]), "axes: expected two directions"
    ),
    "universal of one": (lambda: two().add_universal("world", "a", axes=["x"]), "axes: expected 2 axes, got 1; add_d6"),
    "planar": (lambda: two().add_planar("world", "a", linear=["x"]), "linear: expected 2 axes, got 1"),
    "distance": (lambda: two().add_distance("world", "a", lower=2, upper=1), "lower, upper: expected 0 <= lower"),
    "below zero": (lambda: two().add_distance("world", "a", lower=-1), "lower, upper: expected 0 <= lower <= upper"),
    "box": (lambda: two().add_box("a", (1, 1, 0)), r"size\[2\]: expected a number > 0 \[m\], got 0"),
    "sphere": (lambda: two().add_sphere("a", -1), r"radius: expected a number > 0 \[m\]"),
    "capsule": (lambda: two().add_capsule("a", 0.1, end=(0, 0, 0)), "end: expected a point other than the start"),
    "density": (lambda: two().add_sphere("a", 1, density=-1), "density: expected a number >= 0"),
    "color": (lambda: two().add_sphere("a", 1, color=3), "color: expected a string such as 'tab:blue'"),
    "colour": (lambda: two().add_sphere("a", 1, color="nocolour"), "color: expected a colour of Matplotlib such as"),
    "configuration": (lambda: built(b=0.1), r"configurations\['home'\]: joint 'b'.*a_joint"),
    "coordinates": (lambda: built(a_joint=[1, 2]), r"configurations\['home'\]\['a_joint'\]: expected shape \(1,\)"),
    "axis of axis": (lambda: Axis("x", damping=-1), "damping: expected a number >= 0"),
}  # fmt: skip


def built(**home: Any) -> trajopt.Robot:
    builder = two()
    builder.add_revolute("world", "a")
    builder.add_fixed("a", "b")
    return builder.build("r", {"home": home})


@pytest.mark.parametrize("wrong", REFUSED, ids=str)
def test_wrong_inputs_name_the_argument_and_the_cure(wrong: str) -> None:
    call, message = REFUSED[wrong]
    with pytest.raises(TrajoptError, match=message):
        call()


def test_a_robot_refuses_shapes_and_distances_that_do_not_fit() -> None:
    robot, arm = crane(), trajopt.load_robot("planar-2r")
    with pytest.raises(KeyError, match="frame 'trolley'"):
        trajopt.Robot(arm.model, shapes=robot.shapes)
    with pytest.raises(InvalidArgumentError, match="distances: expected names of free flyers, got 'joint_1'"):
        trajopt.Robot(arm.model, distances={"joint_1": (0, 1)})
    with pytest.raises(InvalidArgumentError, match="shapes: expected a Shape"):
        trajopt.Robot(arm.model, shapes=[3])  # type: ignore[list-item]


def test_targets_and_poses_are_configurations() -> None:
    """Newton's joint_target, and the pose of a free body: "target" has both, "initial" the pose alone."""
    builder = ArticulationBuilder()
    for link in ("box", "arm", "slide"):
        builder.add_link(link, mass=1.0)
        builder.add_sphere(link, 0.1)
    builder.add_free("world", "box", pose=(0.1, 0.2, 0.3))
    builder.add_revolute("box", "arm", axis="y", target=0.4)
    builder.add_prismatic("arm", "slide", target=-0.05)
    robot = builder.build("free-arm")
    np.testing.assert_allclose(robot.configuration("target"), [0.1, 0.2, 0.3, 0, 0, 0, 1, 0.4, -0.05])
    np.testing.assert_allclose(robot.configuration("initial"), [0.1, 0.2, 0.3, 0, 0, 0, 1, 0, 0])
    simulator = Simulator(robot)
    x = np.concatenate([robot.configuration("initial"), np.zeros(robot.nv)])
    simulator.set_PD_controller(10.0, 1.0, robot.configuration("target"))
    np.testing.assert_allclose(simulator.controller_torque(x)[6:], [4.0, -0.5])
    with pytest.raises(InvalidArgumentError, match="target: expected"):
        builder.add_revolute("box", "arm", target=np.nan)


def test_a_robot_without_targets_has_no_such_configuration() -> None:
    builder = ArticulationBuilder()
    builder.add_link("arm", mass=1.0)
    builder.add_sphere("arm", 0.1)
    builder.add_revolute("world", "arm")
    assert builder.build("arm").configurations == {}


def test_coordinates_of_joints_with_several_axes_have_their_names() -> None:
    builder = ArticulationBuilder()
    for name in ("block", "finger"):
        builder.add_link(name, mass=1.0)
        builder.add_box(name, (0.2, 0.2, 0.2))
    builder.add_planar("world", "block", linear=("x", "z"), angular="y")
    builder.add_d6("world", "finger", linear=("x", "z"))
    names = trajopt.StateMultibody(builder.build("pusher")).coordinate_names[:5]
    assert [name.removeprefix("q:") for name in names] == [
        "block_joint.x", "block_joint.z", "block_joint.ry", "finger_joint.x", "finger_joint.z"
    ]  # fmt: skip


def test_gravity_of_the_built_robot() -> None:
    """A ball falls as gravity says, also after changes of the robot; in orbit it stays where it is."""
    builder = one()
    builder.add_sphere("a", 0.1)
    builder.add_link("b")
    builder.add_sphere("b", 0.05)
    builder.add_revolute("a", "b", axis="z")
    for gravity in ([0.0, 0.0, 0.0], [0.0, 0.5, -1.62]):
        robot = builder.build("probe", gravity=gravity)
        for each in (robot, robot.with_payload("b", 1.0), robot.lock_joints(["b_joint"])):
            model = each.model
            rate = pin.aba(model, model.createData(), pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv))
            np.testing.assert_allclose(rate[:3], gravity, atol=1e-15)
    assert builder.build("probe").model.gravity.linear.tolist() == [0.0, 0.0, -9.81]
    with pytest.raises(InvalidArgumentError, match=r"gravity: expected shape \(3,\), got \(\); its acceleration along"):
        builder.build("probe", gravity=-1.62)
