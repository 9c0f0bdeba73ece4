"""Trees of all types of joints from the builder: where bodies are, round trips, the table."""

from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

import trajopt
from tests.articulations.built import built_tree, crane, motions
from trajopt.articulations import (
    ArticulationBuilder,
    Axis,
    body_names,
    generalized_to_maximal,
    joint_table,
    maximal_to_generalized,
)


@pytest.mark.parametrize("convention", ["newton", "pinocchio"])
@pytest.mark.parametrize("seed", range(4))
def test_coordinates_come_back(seed: int, convention: str) -> None:
    """Newton's conversions, both ways, batched over a trajectory, all types of joints under moving parents."""
    robot = built_tree(seed)
    qs, vs = motions(robot, 1200, seed)
    bodies = generalized_to_maximal(robot, qs, vs, convention=convention)
    q, v, residual = maximal_to_generalized(robot, *bodies, convention=convention)
    assert max(np.abs(pin.difference(robot.model, a, b)).max() for a, b in zip(q, qs)) < 1e-12
    np.testing.assert_allclose(v, vs, atol=1e-12)
    assert residual.largest() < 1e-12


def test_twists_are_rates_of_poses() -> None:
    """Central differences of all bodies' poses along the motion."""
    robot, h = built_tree(1), 1e-6
    (q,), (v,) = motions(robot, 1)
    ahead, behind = (generalized_to_maximal(robot, pin.integrate(robot.model, q, s * h * v), v)[0] for s in (1, -1))
    poses, twists = generalized_to_maximal(robot, q, v)
    for j, body in enumerate(body_names(robot)):
        com = robot.model.frames[robot.frame_id(body)].placement.actInv(robot.model.inertias[j + 1].lever)
        placed = [pin.XYZQUATToSE3(rows[j]) for rows in (ahead, behind)]
        np.testing.assert_allclose((placed[0] * com - placed[1] * com) / (2 * h), twists[j, :3], atol=1e-7)
        turn = pin.log3(placed[0].rotation @ placed[1].rotation.T) / (2 * h)
        np.testing.assert_allclose(turn, twists[j, 3:], atol=1e-7)
    np.testing.assert_allclose(poses, (ahead + behind) / 2, atol=1e-9)


def test_a_child_is_where_newton_places_it() -> None:
    """Newton: x_wc = x_wp x_pj x_j x_cj⁻¹, here of two D6 joints in a row, the second with two skewed turning axes."""
    pin.seed(0)
    X_p, X_c = (pin.SE3.Random() for _ in range(2))
    first, second = np.array([0.6, 0.0, 0.8]), np.array([0.0, 1.0, 1.0])
    builder = ArticulationBuilder()
    for link in "ab":
        builder.add_sphere(builder.add_link(link), 0.1)
    builder.add_d6("world", "a", linear=["x", [0, 1, 1]], angular=["-y"], X_p=X_p, X_c=X_c)
    builder.add_d6("a", "b", linear=["z"], angular=[first, second], X_p=X_c, X_c=X_p)
    robot = builder.build("two")
    q = np.array([0.3, -0.2, 0.7, 0.4, 0.5, -0.6])
    square = second - (second @ first) * first
    square /= np.linalg.norm(square)
    slid = 0.3 * np.array([1, 0, 0]) - 0.2 * np.array([0, 1, 1]) / np.sqrt(2)
    a = X_p * pin.SE3(pin.exp3(np.array([0, -0.7, 0])), slid) * X_c.inverse()
    turned = pin.exp3(0.5 * first) @ pin.exp3(-0.6 * square)
    b = a * X_c * pin.SE3(turned, np.array([0, 0, 0.4])) * X_p.inverse()
    poses, _ = generalized_to_maximal(robot, q, np.zeros(6))
    for pose, place, link in zip(poses, (a, b), "ab"):
        np.testing.assert_allclose(pin.XYZQUATToSE3(pose).homogeneous, place.homogeneous, atol=1e-12)
        np.testing.assert_allclose(robot.placement(q, link), place.homogeneous, atol=1e-12)


def test_sliding_axes_on_a_turning_parent() -> None:
    """The term v - ω × x of what has slid out counts, which Newton 1.8 leaves out of D6 joints under such parents."""
    builder = ArticulationBuilder()
    for link in ("arm", "slide"):
        builder.add_sphere(builder.add_link(link), 0.1)
    builder.add_revolute("world", "arm", axis="x")
    builder.add_d6("arm", "slide", linear=["y", "z"])
    robot = builder.build("slides")
    q, v = np.array([0.3, 0.4, -0.7]), np.array([2.0, 0.1, 0.2])
    poses, twists = generalized_to_maximal(robot, q, v)
    poses[1, :3] += 0.05 * robot.placement(q, "slide")[:3, 0]  # off along x, where no axis is
    _, found, residual = maximal_to_generalized(robot, poses, twists)
    np.testing.assert_allclose(found, v, atol=1e-12)
    np.testing.assert_allclose(residual.position, [0, 0.05], atol=1e-12)


def test_numbers_of_newtons_documentation() -> None:
    """Newton: a hinge at 0.5 with 10 rad/s; a box at (1, 2, 3), turned by 90 degrees about z, on a free joint."""
    builder = ArticulationBuilder()
    builder.add_box(builder.add_link("body"), (1, 1, 1))
    builder.add_revolute("world", "body", axis=(0, 0, 1))
    poses, twists = generalized_to_maximal(builder.build("hinge"), [0.5], [10.0])
    np.testing.assert_allclose(poses[0], [0, 0, 0, 0, 0, np.sin(0.25), np.cos(0.25)], atol=1e-15)
    np.testing.assert_allclose(twists[0], [0, 0, 0, 0, 0, 10], atol=1e-15)
    builder = ArticulationBuilder()
    builder.add_box(builder.add_link("body"), (1, 1, 1))
    builder.add_free("world", "body")
    q, _, _ = maximal_to_generalized(
        builder.build("box"), [[1, 2, 3, 0, 0, np.sqrt(0.5), np.sqrt(0.5)]], np.zeros((1, 6))
    )
    np.testing.assert_allclose(q, [1, 2, 3, 0, 0, 0.7071067811865476, 0.7071067811865476], atol=1e-15)


def test_the_table_has_newtons_sizes() -> None:
    """Newton: coordinates, velocities, sliding and turning axes of each type; sums and places in q and v."""
    robot = built_tree(2)
    rows = joint_table(robot, fixed=True)
    sizes = {row.type: (row.nq, row.nv, row.n_linear, row.n_angular) for row in rows if row.type != "d6"}
    assert sizes == {
        "free": (7, 6, 3, 3), "distance": (7, 6, 3, 3), "ball": (4, 3, 0, 3), "fixed": (0, 0, 0, 0),
        "revolute": (1, 1, 0, 1), "prismatic": (1, 1, 1, 0), "universal": (2, 2, 0, 2), "planar": (3, 3, 2, 1),
    }  # fmt: skip
    d6 = sorted((row.nv, row.n_linear) for row in rows if row.type == "d6")
    assert d6 == [(3, 0), (3, 1), (3, 2), (3, 3), (6, 3)]  # that of one axis is a prismatic or revolute joint
    q = v = 0
    for row in rows:
        assert (row.q_start, row.v_start) == (q, v)
        q, v = q + row.nq, v + row.nv
        assert row.distance == ((0.1, 2.0) if row.type == "distance" else None)
    assert (q, v) == (robot.nq, robot.nv)
    placed = {"world"}
    for row in rows:
        placed.add(row.child)
    assert len(placed) == len(rows) + 1


def test_the_table_has_axes_and_limits() -> None:
    rows = joint_table(crane(), fixed=True)
    assert [(r.name, r.type, r.parent, r.child) for r in rows] == [
        ("trolley_joint", "d6", "world", "trolley"),
        ("rod_joint", "universal", "trolley", "rod"),
        ("hook_joint", "fixed", "rod", "hook"),
    ]
    np.testing.assert_array_equal(rows[0].axes, [[1, 0, 0], [0, 1, 0]])
    np.testing.assert_array_equal(rows[0].lower, [-1, -np.inf])
    np.testing.assert_array_equal(rows[0].upper, [1, np.inf])
    np.testing.assert_array_equal(rows[0].effort, [50, np.inf])
    assert [r.name for r in joint_table(crane())] == ["trolley_joint", "rod_joint"]
    ur5 = [row.name for row in joint_table(trajopt.load_robot("ur5"), fixed=True) if row.type == "fixed"]
    assert "ee_fixed_joint" in ur5


def test_left_handed_axes_keep_their_signs() -> None:
    builder = ArticulationBuilder()
    builder.add_sphere(builder.add_link("body"), 0.1)
    builder.add_d6("world", "body", angular=["x", "y", Axis("-z")])
    robot = builder.build("left")
    q, v = np.array([0.2, -0.3, 0.4]), np.array([1.0, 2.0, 3.0])
    there, back, _ = maximal_to_generalized(robot, *generalized_to_maximal(robot, q, v), tolerance=1e-13)
    np.testing.assert_allclose(there, q, atol=1e-14)
    np.testing.assert_allclose(back, v, atol=1e-14)


def test_angles_come_back_within_half_a_turn() -> None:
    """Newton reads angles back in (-π, π]; of two turning axes too, which lock nowhere."""
    builder = ArticulationBuilder()
    for link in "abc":
        builder.add_sphere(builder.add_link(link), 0.1)
    builder.add_revolute("world", "a", axis=(1, 2, 2))
    builder.add_universal("a", "b", axes=("z", (0.6, 0.0, 0.8)))
    builder.add_d6("b", "c", linear=["y"], angular=["x", "-y"])
    robot, rng = builder.build("turns"), np.random.default_rng(0)
    q, v = rng.uniform(-np.pi, np.pi, (200, 6)), rng.standard_normal((200, 6))
    q[0] = np.pi / 2
    found = maximal_to_generalized(robot, *generalized_to_maximal(robot, q, v))
    np.testing.assert_allclose(found[0], q, atol=1e-12)
    np.testing.assert_allclose(found[1], v, atol=1e-12)
    assert found[2].largest() < 1e-12
    many = maximal_to_generalized(robot, *generalized_to_maximal(robot, np.full(6, 4.0), v[0]))[0]
    np.testing.assert_allclose(many, [4.0 if i == 3 else 4.0 - 2 * np.pi for i in range(6)], atol=1e-12)


@pytest.mark.parametrize("axes", ["xyz", "zyx", "xzx", "zyz", ["x", "y", "-z"], ["x", "y", (0.6, 0.0, 0.8)]])
def test_angles_are_davenports(axes: Any) -> None:
    """SciPy's angles of random rotations, and rates that give the angular velocity."""
    builder = ArticulationBuilder()
    builder.add_sphere(builder.add_link("body"), 0.1)
    builder.add_d6("world", "body", angular=list(axes))
    robot = builder.build("wrist")
    directions = joint_table(robot)[0].axes
    turns = Rotation.random(200, random_state=0)
    poses = np.hstack([np.zeros((200, 3)), turns.as_quat()])[:, None]
    twists = np.concatenate([np.zeros((200, 1, 3)), np.random.default_rng(0).standard_normal((200, 1, 3))], axis=2)
    q, v, residual = maximal_to_generalized(robot, poses, twists)
    np.testing.assert_allclose(np.exp(1j * q), np.exp(1j * turns.as_davenport(directions, "intrinsic")))
    assert residual.largest() < 1e-12
    np.testing.assert_allclose(generalized_to_maximal(robot, q, v)[1], twists, atol=1e-11)


def test_gimbal_lock_gives_coordinates_of_the_pose() -> None:
    """The first angle is 0 there, and the rates are the nearest that do not use it."""
    builder = ArticulationBuilder()
    builder.add_sphere(builder.add_link("body"), 0.1)
    builder.add_d6("world", "body", angular=["x", "y", "z"])
    robot = builder.build("locked")
    poses, twists = generalized_to_maximal(robot, [0.3, np.pi / 2, 0.4], [0.1, 0.2, 0.3])
    q, v, residual = maximal_to_generalized(robot, poses, twists)
    np.testing.assert_allclose(q, [0.0, np.pi / 2, 0.7], atol=1e-7)
    assert np.isfinite(v).all()
    assert residual.rotation.max() < 1e-7
