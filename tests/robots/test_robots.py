"""Robots: against example-robot-data's own loader, closed forms of the small ones, and every message."""

from __future__ import annotations

import pickle
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import example_robot_data
import numpy as np
import pinocchio as pin
import pytest

from trajopt.errors import InvalidArgumentError, MissingDependencyError, UnknownNameError
from trajopt.robots import Robot, load_robot
from trajopt.robots.builtin import BUILTIN_ROBOTS, cart_pole, double_pendulum, planar_arm

INERTIA = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'

URDF = f"""<robot name="two_links">
  <link name="base"><inertial><mass value="2"/>{INERTIA}</inertial></link>
  <link name="arm"><inertial><mass value="1"/>{INERTIA}</inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="2" effort="3" velocity="4"/></joint>
</robot>"""

MJCF = """<mujoco model="pole"><worldbody><body name="cart">BASE
  <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
  <body name="pole"><joint name="hinge" type="hinge" axis="0 1 0"/>
  <inertial pos="0 0 0.5" mass="1" diaginertia="1 1 1"/></body></body></worldbody></mujoco>"""


@pytest.fixture
def urdf(tmp_path: Path) -> Path:
    path = tmp_path / "two_links.urdf"
    path.write_text(URDF)
    return path


@pytest.mark.parametrize("name", ["talos_arm", "talos_legs", "hyq", "kinova", "hector", "human"])
def test_example_robot_equals_the_loaders(name: str) -> None:
    expected = example_robot_data.load(name).model
    expected.name = load_robot(name).model.name
    robot = load_robot(name)
    assert robot.model == expected


@pytest.mark.parametrize("name", ["solo8", "solo12"])
def test_placeholders_of_solo_are_the_torques_of_its_motors(name: str) -> None:
    """0.025 N m/A x 12 A x 9 (Grimminger et al. 2020); all else is as in the package."""
    robot, expected = load_robot(name), example_robot_data.load(name).model
    np.testing.assert_array_equal(expected.effortLimit[6:], 1000.0)
    expected.effortLimit = np.r_[expected.effortLimit[:6], np.full(expected.nv - 6, 0.025 * 12.0 * 9.0)]
    np.testing.assert_allclose(robot.model.effortLimit, expected.effortLimit, rtol=1e-15)
    expected.effortLimit, expected.name = robot.model.effortLimit, robot.model.name
    assert robot.model == expected


def test_model_comparison_sees_a_difference() -> None:
    model = load_robot("talos_arm").model
    other = model.copy()
    other.armature[3] += 1e-9
    assert model == model.copy()
    assert model != other


def test_example_robot_loads_fast() -> None:
    load_robot("talos_arm")
    start = time.perf_counter()
    load_robot("talos_arm")
    assert time.perf_counter() - start < 0.1


def test_example_robot_configurations_and_base() -> None:
    arm, hyq = load_robot("talos_arm"), load_robot("hyq")
    assert (arm.nq, arm.nv, arm.floating_base) == (7, 7, False)
    assert (hyq.nq, hyq.nv, hyq.floating_base) == (19, 18, True)
    assert list(arm.configurations) == ["half_sitting"]
    with pytest.raises(UnknownNameError, match="half_siting.*half_sitting"):
        arm.configurations["half_siting"]
    np.testing.assert_allclose(np.linalg.norm(hyq.configuration("standing")[3:7]), 1.0, atol=1e-15)
    fixed = load_robot("hyq", floating_base=False)
    assert (fixed.nq, fixed.nv) == (12, 12)
    assert fixed.joint_names == hyq.joint_names[1:]


def test_unknown_robot_lists_close_and_known_names() -> None:
    with pytest.raises(UnknownNameError, match=r"robot 'talos_am' not found; did you mean 'talos_arm'.*cart-pole.*hyq"):
        load_robot("talos_am")
    with pytest.raises(UnknownNameError, match=r"did you mean 'planar-2r'"):
        load_robot("planar-2R")


def test_missing_optional_package(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("example_robot_data", "example_robot_data.robots_loader"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=r"'talos_arm'.*planar-2r.*pip install example-robot-data-loaders"):
        load_robot("talos_arm")
    assert load_robot("planar-2r").nq == 2


def test_fixed_loader_refuses_another_base() -> None:
    with pytest.raises(InvalidArgumentError, match="floating_base: expected None or True for 'talos_legs', got False"):
        load_robot("talos_legs", floating_base=False)
    with pytest.raises(InvalidArgumentError, match="floating_base: expected None or False for 'cart-pole'"):
        load_robot("cart-pole", floating_base=True)


def test_urdf_is_fixed_by_default_and_floats_on_demand(urdf: Path) -> None:
    fixed, floating = load_robot(urdf), load_robot(str(urdf), floating_base=True, name="loose")
    assert fixed.joint_names == ("shoulder",)
    assert not fixed.floating_base
    assert (fixed.name, floating.name) == ("two_links", "loose")
    assert floating.joint_names == ("root_joint", "shoulder")
    assert floating.floating_base
    assert (floating.nq, floating.nv) == (8, 7)
    assert pin.computeTotalMass(floating.model) == pytest.approx(3.0)
    assert fixed.mass == floating.mass == pytest.approx(3.0), "the base counts, fixed or not"
    assert fixed.model.upperPositionLimit[0] == 2.0


def test_package_dirs_find_a_file(urdf: Path) -> None:
    assert load_robot("package://two_links.urdf", package_dirs=[urdf.parent]).nq == 1
    assert load_robot("two_links.urdf", package_dirs=[urdf.parent]).nq == 1


def test_bad_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidArgumentError, match=r"source: expected an existing file, got 'nowhere\.urdf'"):
        load_robot("nowhere.urdf")
    for name in ("broken.urdf", "broken.xml"):
        (tmp_path / name).write_text("<robot")
        with pytest.raises(InvalidArgumentError, match=f"source: expected a valid robot in .*{name}"):
            load_robot(tmp_path / name)
    other = URDF.replace('<child link="', '<child link="no_', 1)
    assert other != URDF
    (tmp_path / "broken.urdf").write_text(other)
    with pytest.raises(
        InvalidArgumentError, match=r"joint '.*' in line \d+ has the child 'no_.*', and there is no such"
    ):
        load_robot(tmp_path / "broken.urdf")
    (tmp_path / "broken.urdf").write_text("<robot name='x'>\n<link name='a'/><joint></robot>")
    with pytest.raises(InvalidArgumentError, match="XML that cannot be read: mismatched tag: line 2"):
        load_robot(tmp_path / "broken.urdf")
    (tmp_path / "robot.txt").write_text(URDF)
    with pytest.raises(InvalidArgumentError, match=r"source: expected a file \.urdf, \.xml, \.mjcf"):
        load_robot(tmp_path / "robot.txt")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidArgumentError, match=r"source: expected a file \.urdf, \.xml, \.mjcf, got 'robot.txt'"):
        load_robot("robot.txt")


def test_mjcf(tmp_path: Path) -> None:
    welded, free, sliding = (tmp_path / name for name in ("welded.xml", "free.xml", "sliding.xml"))
    welded.write_text(MJCF.replace("BASE", ""))
    free.write_text(MJCF.replace("BASE", '<freejoint name="free"/>'))
    sliding.write_text(MJCF.replace("BASE", '<joint name="slide" type="slide" axis="1 0 0"/>'))
    assert load_robot(welded).joint_names == ("hinge",)
    assert load_robot(welded, floating_base=True).joint_names == ("root_joint", "hinge")
    assert load_robot(free).floating_base
    assert load_robot(free).nv == load_robot(free, floating_base=True).nv == 7
    with pytest.raises(InvalidArgumentError, match=r"floating_base: expected None or True, got False.*lock_joints"):
        load_robot(free, floating_base=False)
    with pytest.raises(
        InvalidArgumentError, match=r"floating_base: expected None or False, got True.*'slide'.*freejoint"
    ):
        load_robot(sliding, floating_base=True)


def test_joints_are_locked_where_pinocchio_fills_in_wrong_limits() -> None:
    legs = load_robot("talos_legs")
    assert legs.lock_joints("leg_left_6_joint").nv == legs.nv - 1


def test_lock_joints_keeps_the_kinematics() -> None:
    robot = load_robot("talos_arm")
    q = robot.configuration("half_sitting")
    locked = robot.lock_joints(["gripper_left_joint", "arm_left_4_joint"], "half_sitting")
    assert (locked.nq, locked.name) == (5, "talos_arm")
    assert "arm_left_4_joint" not in locked.joint_names
    kept = [robot.model.joints[robot.joint_id(n)].idx_q for n in locked.joint_names]
    np.testing.assert_array_equal(locked.configuration("half_sitting"), q[kept])
    places = []
    for r, configuration in ((robot, q), (locked, q[kept])):
        data = r.model.createData()
        pin.framesForwardKinematics(r.model, data, configuration)
        places.append(data.oMf[r.frame_id("gripper_left_base_link")].homogeneous)
    np.testing.assert_allclose(places[0], places[1], atol=1e-14)
    assert robot.nq == 7
    np.testing.assert_array_equal(
        robot.lock_joints("arm_left_4_joint").model.jointPlacements[4].homogeneous,
        robot.lock_joints("arm_left_4_joint", np.zeros(7)).model.jointPlacements[4].homogeneous,
    )


def test_lock_joints_messages() -> None:
    robot = load_robot("hyq")
    with pytest.raises(InvalidArgumentError, match=r"names: .*its values belong in configuration="):
        robot.lock_joints({"lf_haa_joint": 0.3})
    with pytest.raises(UnknownNameError, match=r"hyq: joint 'lf_haa' not found; did you mean 'lf_haa_joint'"):
        robot.lock_joints(["lf_haa"])
    with pytest.raises(UnknownNameError, match=r"configuration 'sitting' not found.*standing"):
        robot.lock_joints(["lf_haa_joint"], "sitting")
    with pytest.raises(InvalidArgumentError, match=r"configuration: expected shape \(19,\), got \(3,\)"):
        robot.lock_joints(["lf_haa_joint"], np.zeros(3))
    with pytest.raises(InvalidArgumentError, match=r"configuration: expected rotations .* norm 1.*normalize"):
        robot.lock_joints(["lf_haa_joint"], np.zeros(19))


def test_names() -> None:
    robot = load_robot("talos_arm")
    assert robot.model.names[robot.joint_id("arm_left_4_joint")] == "arm_left_4_joint"
    assert robot.model.frames[robot.frame_id("gripper_left_joint")].name == "gripper_left_joint"
    assert robot.frame_names[robot.frame_id("gripper_left_base_link")] == "gripper_left_base_link"
    with pytest.raises(
        UnknownNameError, match="talos_arm: frame 'gripper_left' not found; did you mean 'gripper_left_"
    ):
        robot.frame_id("gripper_left")
    with pytest.raises(UnknownNameError, match="joint 'universe' not found"):
        robot.joint_id("universe")


def test_frames_of_the_same_name() -> None:
    model = planar_arm()
    model.addFrame(pin.Frame("joint_2", 2, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    assert Robot(model).frame_id("joint_2") == model.getFrameId("joint_2", pin.FrameType.JOINT)
    model.addFrame(pin.Frame("joint_2", 1, 0, pin.SE3.Identity(), pin.FrameType.OP_FRAME))
    with pytest.raises(InvalidArgumentError, match=r"frame 'joint_2': expected one placement, got frames \[3, 6, 7\]"):
        Robot(model).frame_id("joint_2")


def test_robot_keeps_copies() -> None:
    model = planar_arm()
    robot = Robot(model, configurations={"bent": [0.1, 0.2]})
    model.gravity.linear = np.zeros(3)
    assert robot.model.gravity.linear[2] == pytest.approx(-9.81)
    robot.configuration("bent")[0] = 7.0
    robot.configurations["bent"][0] = 7.0
    np.testing.assert_array_equal(robot.configuration("bent"), [0.1, 0.2])
    assert "stretched" in robot.configurations


def test_robot_checks_its_arguments() -> None:
    with pytest.raises(
        InvalidArgumentError, match=r"model: expected a pinocchio\.Model, got str; for a file or a name use load_robot"
    ):
        Robot("talos_arm")
    with pytest.raises(InvalidArgumentError, match=r"configurations\['up'\]: expected shape \(2,\), got \(3,\)"):
        Robot(planar_arm(), configurations={"up": np.zeros(3)})
    with pytest.raises(InvalidArgumentError, match=r"lengths\[1\]: expected a length \[m\] with a finite moment"):
        planar_arm(lengths=(0.5, 1e200))
    hector = load_robot("hector").model
    with pytest.raises(InvalidArgumentError, match=r"configurations\['bad'\]: expected rotations .* norm 1"):
        Robot(hector, configurations={"bad": [0, 0, 0, 0, 0, 0, 1.01]})


@pytest.mark.parametrize("name", ["planar-3r", "hyq"])
def test_robot_pickles(name: str) -> None:
    robot = load_robot(name, name="mine")
    again = pickle.loads(pickle.dumps(robot))
    assert again.name == "mine"
    assert again.model == robot.model
    assert again.configurations.keys() == robot.configurations.keys()


def test_repr() -> None:
    assert repr(load_robot("cart-pole")) == (
        "Robot('cart-pole', nq=2, nv=2, fixed base, joints: cart, pole; configurations: hanging, upright)"
    )
    assert "floating base" in repr(load_robot("hyq"))
    assert "... (13)" in repr(load_robot("hyq"))


@pytest.mark.parametrize("name", sorted(set(BUILTIN_ROBOTS) - {"small-quadruped", "small-biped", "four-limbs"}))
def test_builtin_robots_move_in_the_vertical_plane(name: str) -> None:
    robot = load_robot(name)
    data = robot.model.createData()
    pin.framesForwardKinematics(robot.model, data, np.full(robot.nq, 0.4))
    tip = data.oMf[robot.frame_id("tool" if name.startswith("planar") else "tip")]
    assert tip.translation[1] == pytest.approx(0.0, abs=1e-15)
    assert robot.name == robot.model.name == name


def test_planar_arm_closed_form() -> None:
    """Tool at (Σ l cos, Σ l sin); gravity torque of the last joint m g (l/2) cos(q₁ + q₂); rod about its end m l²/3."""
    robot = Robot(planar_arm(lengths=(0.7, 0.4), masses=(2.0, 3.0)))
    q = np.array([0.3, 0.5])
    data = robot.model.createData()
    pin.framesForwardKinematics(robot.model, data, q)
    tool = data.oMf[robot.frame_id("tool")].translation
    expected = [0.7 * np.cos(0.3) + 0.4 * np.cos(0.8), 0.0, 0.7 * np.sin(0.3) + 0.4 * np.sin(0.8)]
    np.testing.assert_allclose(tool, expected, atol=1e-15)
    assert pin.computeGeneralizedGravity(robot.model, data, q)[1] == pytest.approx(3 * 9.81 * 0.2 * np.cos(0.8))
    assert pin.crba(robot.model, data, q)[1, 1] == pytest.approx(3 * 0.4**2 / 3)


def test_double_pendulum_closed_form() -> None:
    """m₂ l₂² (q̈₁ + q̈₂) + m₂ l₁ l₂ (q̈₁ cos q₂ + q̇₁² sin q₂) + m₂ g l₂ sin(q₁ + q₂) = τ₂."""
    model = double_pendulum(lengths=(0.7, 0.4), masses=(2.0, 3.0))
    q, v, a = np.array([0.3, 0.5]), np.array([1.1, -0.6]), np.array([0.2, 0.9])
    torque = 3 * 0.16 * (a[0] + a[1]) + 3 * 0.28 * (a[0] * np.cos(0.5) + v[0] ** 2 * np.sin(0.5))
    torque += 3 * 9.81 * 0.4 * np.sin(0.8)
    assert pin.rnea(model, model.createData(), q, v, a)[1] == pytest.approx(torque)


def test_cart_pole_closed_form() -> None:
    """(M + m) ẍ + m l (θ̈ cos θ - θ̇² sin θ) = F and m l² θ̈ + m l ẍ cos θ + m g l sin θ = τ, θ = 0 hanging."""
    model = cart_pole(cart_mass=2.0, pole_mass=0.3, pole_length=0.6)
    th, w, ax, aw = 0.4, 1.3, 0.7, -0.2
    expected = [
        2.3 * ax + 0.18 * (aw * np.cos(th) - w**2 * np.sin(th)),
        0.108 * aw + 0.18 * ax * np.cos(th) + 0.18 * 9.81 * np.sin(th),
    ]
    tau = pin.rnea(model, model.createData(), np.array([0.1, th]), np.array([0.5, w]), np.array([ax, aw]))
    np.testing.assert_allclose(tau, expected, atol=1e-14)


@pytest.mark.parametrize(("name", "frame"), [("planar-3r", "tool"), ("hyq", "rh_foot")])
def test_jacobians_are_differences_of_placements(name: str, frame: str) -> None:
    """In the axes of the world: the origin's velocity above, ω with [ω]× = Ṙ Rᵀ below."""
    robot, step = load_robot(name), 1e-6
    q = pin.integrate(robot.model, pin.neutral(robot.model), np.random.default_rng(0).normal(size=robot.nv))
    found = robot.jacobian(q, frame)
    rotation = robot.placement(q, frame)[:3, :3]
    for j, direction in enumerate(np.eye(robot.nv)):
        ends = [robot.placement(pin.integrate(robot.model, q, s * direction), frame) for s in (-step, step)]
        rate = (ends[1] - ends[0])[:3] / (2 * step)
        turning = rate[:, :3] @ rotation.T
        np.testing.assert_allclose(found[:3, j], rate[:, 3], atol=1e-8)
        np.testing.assert_allclose(found[3:, j], [turning[2, 1], turning[0, 2], turning[1, 0]], atol=1e-8)
    many = robot.jacobian(np.array([q, pin.neutral(robot.model)]), frame)
    assert many.shape == (2, 6, robot.nv)
    np.testing.assert_array_equal(many[0], found)
    with pytest.raises(UnknownNameError, match="frame 'hand' not found"):
        robot.jacobian(q, "hand")


def test_builtin_robots_check_their_arguments() -> None:
    with pytest.raises(InvalidArgumentError, match=r"lengths: expected a vector, got shape \(\)"):
        planar_arm(lengths=3)
    assert [inertia.mass for inertia in planar_arm(lengths=(1, 2, 3)).inertias][1:] == [1.0, 1.0, 1.0]
    with pytest.raises(InvalidArgumentError, match=r"lengths\[1\]: expected a number > 0 \[m\], got -0.5"):
        planar_arm(lengths=(0.5, -0.5))
    with pytest.raises(InvalidArgumentError, match=r"masses: expected one mass for each of the 3 lengths .* got 2"):
        planar_arm(lengths=(0.5, 0.5, 0.5), masses=(1.0, 1.0))
    with pytest.raises(InvalidArgumentError, match="lengths: expected 2 rods, got 1"):
        double_pendulum(lengths=(0.5,), masses=(1.0,))
    with pytest.raises(InvalidArgumentError, match=r"pole_mass: expected a number > 0 \[kg\], got 0"):
        cart_pole(pole_mass=0.0)


def test_placement_and_com_are_those_of_pinocchio(rng: np.random.Generator) -> None:
    robot = load_robot("talos_arm")
    model, data = robot.model, robot.model.createData()
    qs = np.array([pin.randomConfiguration(model, -np.ones(7), np.ones(7)) for _ in range(3)])
    name = "gripper_left_joint"
    for q, place, com in zip(qs, robot.placement(qs, name), robot.com(qs)):
        pin.framesForwardKinematics(model, data, q)
        np.testing.assert_allclose(place, data.oMf[model.getFrameId(name)].homogeneous, atol=1e-15)
        np.testing.assert_allclose(com, pin.centerOfMass(model, data, q), atol=1e-15)
        np.testing.assert_array_equal(robot.placement(q, name), place)
        np.testing.assert_array_equal(robot.com(list(q)), com)
    assert robot.placement(np.zeros((0, 7)), name).shape == (0, 4, 4)
    assert robot.com(np.zeros((0, 7))).shape == (0, 3)


def test_kinematics_make_data_once_for_each_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    robot, made = load_robot("panda"), []
    create = pin.Model.createData
    monkeypatch.setattr(pin.Model, "createData", lambda model: made.append(model) or create(model))
    qs = np.random.default_rng(0).uniform(-1.0, 1.0, (500, robot.nq))
    hand, expected = "panda_hand", [robot.placement(qs, "panda_hand"), robot.com(qs), robot.jacobian(qs, "panda_hand")]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda q: [robot.placement(q, hand), robot.com(q), robot.jacobian(q, hand)], qs))
    for one, all_of_it in zip(zip(*found), expected):
        np.testing.assert_array_equal(one, all_of_it)
    assert len(made) <= 5


def test_placement_refuses_wrong_configurations_and_frames() -> None:
    robot = load_robot("hyq")
    x = np.concatenate([robot.configuration("standing"), np.zeros(18)])
    with pytest.raises(InvalidArgumentError, match=r"q: expected shape \(19,\), got \(37,\); .* x\[:19\] of a state x"):
        robot.placement(x, "lf_foot")
    with pytest.raises(UnknownNameError, match="frame 'lf_fot' not found; did you mean 'lf_foot'"):
        robot.placement(x[:19], "lf_fot")
    with pytest.raises(InvalidArgumentError, match=r"q\[1\]: expected rotations with coordinates of norm 1"):
        robot.com([x[:19], np.zeros(19)])
    with pytest.raises(InvalidArgumentError, match=r"q: expected numbers of shape \(19,\)"):
        robot.com([[1.0, 2.0], [3.0]])


@pytest.mark.parametrize("source", [5, None, 3.5, ["ur5"], b"ur5"])
def test_load_robot_refuses_other_sources(source: Any) -> None:
    with pytest.raises(
        InvalidArgumentError, match=r"source: expected the name of a robot such as 'ur5', or the path of"
    ):
        load_robot(source)
