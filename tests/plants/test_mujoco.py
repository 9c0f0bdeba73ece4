"""MuJoCoPlant: scenes beside the simulator and closed forms, torques and stops, files, what it tells and refuses."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from tests.plants.scenes import DT, Scene, placed, scenes
from trajopt import ActuationModelFloatingBaseThrusters, Thruster, mpc
from trajopt.articulations import ArticulationBuilder
from trajopt.errors import (
    InvalidArgumentError,
    MissingDependencyError,
    ModelEvaluationError,
    UnsupportedOperationError,
)
from trajopt.gaits import Terrain
from trajopt.mpc import MuJoCoPlant
from trajopt.problems import mpc as loops
from trajopt.robots import Box, Robot, load_robot
from trajopt.simulator import BodySurface, HeightField, MDPContact, Plane, Simulator
from trajopt.states import StateMultibody

mujoco = pytest.importorskip("mujoco")

NOTHING = np.zeros(0)


@pytest.mark.parametrize("scene", scenes(), ids=lambda scene: scene.name)
def test_bodies_move_as_in_mujoco_and_in_closed_form(scene: Scene) -> None:
    """Within 0.3 % of closed forms; those that rest creep by 2 mm in 2 s, and lean by half a degree."""
    ours, theirs = scene.measure(scene.ours), scene.measure(scene.theirs)
    if np.isnan(scene.exact):
        assert ours == pytest.approx(theirs, abs=10.0)
        assert min(ours, theirs) > 90.0
    elif scene.exact == 0.0:
        assert max(ours, theirs) < (2.0 if "creep" in scene.quantity else 0.5)
    else:
        assert [ours, theirs] == pytest.approx([scene.exact] * 2, rel=3e-3)


def test_each_sphere_touches_its_own_plane_alone() -> None:
    """Two contacts of a body, of which one may touch a plane 0.5 m up, above both: the body rests on the floor."""
    floor, shelf = (Plane((0.0, 0.0, 1.0, -height)) for height in (0.0, 0.5))
    contacts = (
        MDPContact("body", radius=0.1, surface=floor, name="low"),
        MDPContact("body", (0.0, 0.0, 1.0), 0.1, shelf, name="high"),
    )
    plant, x = MuJoCoPlant(scenes()[0].robot, contacts), placed(0.15)
    for _ in range(1000):
        x = plant.step(x, NOTHING, DT)
    assert x[2] == pytest.approx(0.1, abs=2e-3)
    many = [MDPContact("body", surface=Plane((0.0, 0.0, 1.0, -h)), name=f"c{h}") for h in range(32)]
    with pytest.raises(UnsupportedOperationError, match="contacts: expected at most 31 surfaces, got 32"):
        MuJoCoPlant(scenes()[0].robot, many)


def test_a_ball_falls_onto_stairs_and_boxes_as_in_the_simulator() -> None:
    """It lies on the step below it, or beside all steps on the floor."""
    robot, turned = scenes()[0].robot, np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    stairs = Terrain.stairs(3, rise=0.1, depth=0.3, start=0.5, width=1.0)
    box = Box((1.0, 0.4, 0.2), placement=np.column_stack([turned, [0.0, 2.0, 0.1]]))
    for surface, x, y, height in (
        (stairs, 0.0, 0.0, 0.0), (stairs, 0.65, 0.0, 0.1), (stairs, 0.95, 0.2, 0.2), (stairs, 1.5, 0.0, 0.3),
        (stairs, 1.5, 0.8, 0.0), (box, 0.0, 2.4, 0.2),
    ):  # fmt: skip
        contact = MDPContact("body", radius=0.1, surface=surface)
        plant, start = MuJoCoPlant(robot, (contact,)), placed(height + 0.102)
        start[:2] = x, y
        ends = [start, start]
        simulator = Simulator(robot, (contact,))
        for _ in range(500):
            ends = [plant.step(ends[0], NOTHING, DT), simulator.step(DT, ends[1])[0]]
        for end in ends:
            np.testing.assert_allclose(end[:3], [x, y, height + 0.1], atol=3e-3)


def test_thrusts_are_clipped_at_their_own_limits() -> None:
    """A thruster that pushes only up: a negative control gives none."""
    robot = scenes()[0].robot
    thruster = ActuationModelFloatingBaseThrusters(StateMultibody(robot), [Thruster((0, 0, 0), upper=20.0)])
    falls = [
        MuJoCoPlant(robot, (), actuation=thruster).step(placed(1.0), np.array([u]), DT, None)[9] for u in (-5.0, 0.0)
    ]
    assert falls[0] == falls[1]


def test_a_step_goes_on_from_where_mujoco_is() -> None:
    """States that come back are not converted again, and any other state starts anew: both give the same motion."""
    x = placed(0.1, twist=(1.0, 0.2, 0.0, 3.0, -2.0, 1.0))
    plant, peer = (MuJoCoPlant(scenes()[2].robot, (MDPContact("body", radius=0.1),)) for _ in range(2))
    peer.data.qpos[:], peer.data.qvel[:] = peer._map.to_peer(x)
    for _ in range(200):
        x = plant.step(x, NOTHING, DT)
        mujoco.mj_step(peer.model, peer.data)
    np.testing.assert_array_equal(plant.data.qpos, peer.data.qpos)
    again = plant.step(x + 0.0, NOTHING, DT)
    plant.begin()
    np.testing.assert_allclose(plant.step(x, NOTHING, DT, None), again, rtol=0, atol=1e-6)


def test_forces_on_frames_push_as_in_the_world() -> None:
    """1 N along world y on a turned free body of 1 kg for 1 s gives it 1 m/s along y."""
    plant = MuJoCoPlant(scenes()[0].robot, contacts=())
    plant.model.opt.gravity[:] = 0.0
    x = placed(1.0, angle=0.7)
    for _ in range(1000):
        R = pin.Quaternion(x[3:7]).matrix()
        x = plant.step(x, NOTHING, DT, np.concatenate([R.T @ [0.0, 1.0, 0.0], np.zeros(3)]))
    np.testing.assert_allclose(pin.Quaternion(x[3:7]).matrix() @ x[7:10], [0.0, 1.0, 0.0], atol=1e-12)


def pendulum(**limits: float) -> Robot:
    builder = ArticulationBuilder()
    builder.add_link("pole")
    builder.add_capsule("pole", 0.02, end=(0, 0, 0.5), density=1000.0)
    builder.add_revolute("world", "pole", axis="y", **limits)
    return builder.build("pendulum")


def test_torques_are_clipped_at_the_motors_limits() -> None:
    robot = pendulum(effort=0.5)
    states = []
    for torque, limited in ((0.5, True), (3.0, True), (3.0, False)):
        plant = MuJoCoPlant(robot, contacts=(), torque_limits=limited)
        states.append(plant.step(np.zeros(2), np.array([torque]), DT, None))
    np.testing.assert_array_equal(states[0], states[1])
    assert states[2][1] == pytest.approx(6.0 * states[1][1])


def test_joints_stop_at_their_limits_unless_told() -> None:
    robot = pendulum(lower=-0.5, upper=0.5)
    ends = []
    for stops in (True, False):
        plant, x = MuJoCoPlant(robot, contacts=(), joint_limits=stops), np.array([0.2, 0.0])
        for _ in range(1500):
            x = plant.step(x, np.zeros(1), DT, None)
        ends.append(x[0])
    assert ends[0] == pytest.approx(0.5, abs=0.01)
    assert ends[1] > 1.0


def test_armature_and_damping_of_joints() -> None:
    """The pole's moment is raised by the armature, and its speed falls as e^{-b t / (I + a)}."""
    robot = pendulum()
    plain, geared = (MuJoCoPlant(robot, contacts=(), armature=a, damping=0.1) for a in (0.0, 0.3))
    for plant, armature in ((plain, 0.0), (geared, 0.3)):
        plant.model.opt.gravity[:] = 0.0
        x = np.array([0.0, 1.0])
        for _ in range(500):
            x = plant.step(x, np.zeros(1), DT, None)
        moment = pin.crba(robot.model, robot.model.createData(), np.zeros(1))[0, 0]
        assert x[1] == pytest.approx(np.exp(-0.05 / (moment + armature)), rel=5e-3)


def test_dry_friction_stops_a_joint() -> None:
    """Without gravity the speed of the pole falls by f t / I, and stays 0."""
    robot, friction = pendulum(), 0.4
    plant, x, speeds = MuJoCoPlant(robot, contacts=(), dry_friction=friction), np.array([0.0, 1.0]), []
    plant.model.opt.gravity[:] = 0.0
    moment = pin.crba(robot.model, robot.model.createData(), np.zeros(1))[0, 0]
    stop = moment / friction
    for _ in range(round(1.5 * stop / DT)):
        x = plant.step(x, np.zeros(1), DT, None)
        speeds.append(x[1])
    half = round(0.5 * stop / DT)
    assert speeds[half - 1] == pytest.approx(1.0 - friction * half * DT / moment, abs=5e-3)
    assert speeds[-1] == pytest.approx(0.0, abs=1e-3)


def test_losses_of_a_file_that_are_passed_are_not_left_out() -> None:
    robot = load_robot("planar-2r")
    robot.model.damping[:] = 0.5
    robot.model.upperDryFrictionLimit[:] = 0.2
    none, damped = MuJoCoPlant(robot), MuJoCoPlant(robot, damping=0.5)
    both = MuJoCoPlant(robot, damping=0.5, dry_friction=0.2)
    assert none.left_out == (
        "damping of joints in the robot's file: pass damping=...",
        "dry friction of joints in the robot's file: pass dry_friction=...",
    )
    assert damped.left_out == none.left_out[1:]
    assert both.left_out == ()


def test_solids_lie_on_the_floor() -> None:
    """A capsule, a box and a ball fall, and rest at their radius or half their height."""
    for add, height in (("capsule", 0.05), ("box", 0.1), ("sphere", 0.15)):
        builder = ArticulationBuilder()
        builder.add_link("body")
        if add == "capsule":
            builder.add_capsule("body", 0.05, start=(-0.2, 0, 0), end=(0.2, 0, 0), density=1000.0)
        elif add == "box":
            builder.add_box("body", (0.2, 0.2, 0.2), density=1000.0)
        else:
            builder.add_sphere("body", 0.15, density=1000.0)
        builder.add_free("world", "body")
        robot = builder.build("solid")
        plant, x = MuJoCoPlant(robot, robot.shapes), placed(0.3)
        for _ in range(1000):
            x = plant.step(x, NOTHING, DT)
        assert x[2] == pytest.approx(height, abs=2e-3)
        assert plant.contact_forces()[:, 2].sum() == pytest.approx(9.81 * robot.mass, rel=1e-2)


def test_a_legged_robot_stands_on_its_feet_by_default() -> None:
    robot = load_robot("go2")
    plant = MuJoCoPlant(robot)
    assert plant.model.ngeom == 5  # four feet and the floor
    assert "strength, exponent and rays of contacts" in plant.left_out[0]
    assert MuJoCoPlant(load_robot("ur5")).model.ngeom == 0


def test_a_file_is_taken_as_it_is(tmp_path: Path) -> None:
    path = MuJoCoPlant(pendulum(lower=-3.0, upper=3.0), contacts=()).save(tmp_path / "pendulum.xml")
    plant, own = MuJoCoPlant(path), MuJoCoPlant(pendulum(lower=-3.0, upper=3.0), contacts=())
    x = y = np.array([0.3, 0.0])
    for _ in range(300):
        x, y = plant.step(x, np.zeros(1), DT, None), own.step(y, np.zeros(1), DT, None)
    np.testing.assert_allclose(x, y, rtol=0, atol=1e-12)
    with pytest.raises(InvalidArgumentError, match="save: expected a plant from a Robot"):
        plant.save(tmp_path / "again.xml")
    with pytest.raises(InvalidArgumentError, match="contacts, armature, damping, dry_friction: expected none"):
        MuJoCoPlant(path, damping=0.1)
    with pytest.raises(InvalidArgumentError, match="expected none with a file, which has its own"):
        MuJoCoPlant(path, dry_friction=0.1)


def test_what_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = scenes()[0].robot
    hills = MDPContact("body", radius=0.1, surface=HeightField(lambda x, y: 0.1 * x * y))
    moving = MDPContact("body", radius=0.1, surface=BodySurface(Box([1.0, 1.0, 0.1], frame="body")))
    for contact, named in ((hills, "HeightField"), (moving, "BodySurface on 'body'")):
        words = f"contacts: expected planes and boxes fixed to the world, got {named} for 'body'; pass"
        with pytest.raises(UnsupportedOperationError, match=words):
            MuJoCoPlant(robot, (contact,))
    with pytest.raises(InvalidArgumentError, match="damping: expected finite numbers >= 0, got -1"):
        MuJoCoPlant(robot, (), damping=-1)
    with pytest.raises(InvalidArgumentError, match=r"armature: expected a number or shape \(6,\)"):
        MuJoCoPlant(robot, (), armature=[1.0, 2.0])
    with pytest.raises(InvalidArgumentError, match=r"damping: expected a number or shape \(6,\)"):
        MuJoCoPlant(robot, (), damping=datetime.timedelta(1))
    with pytest.raises(InvalidArgumentError, match="contacts: expected MDPContact or Shape, got 'body'"):
        MuJoCoPlant(robot, ("body",))
    case = loops.load("cart-pole-balance", pushes=())
    with pytest.raises(InvalidArgumentError, match="plant: expected a state with nx = 4 and ndx = 4"):
        mpc.simulate(case.controller, MuJoCoPlant(robot, ()), case.x0, 0.1)
    with pytest.raises(InvalidArgumentError, match="model_error: expected an action model as plant"):
        mpc.simulate(case.controller, loops.load("cart-pole-balance", plant="mujoco").plant, case.x0, 0.1,
                     model_error={"pole_mass": 1.0})  # fmt: skip
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MissingDependencyError, match="MuJoCoPlant needs mujoco: pip install mujoco"):
        MuJoCoPlant(robot, ())


@pytest.mark.parametrize(
    ("x", "u", "dt", "message"),
    [
        ([0.1, 0.0, 0.0], [0.0], 1e-3, r"x: expected shape \(2,\), got \(3,\)"),
        ([np.nan, 0.0], [0.0], 1e-3, "x: expected finite numbers"),
        ([0.1, 0.0], [0.0, 0.0], 1e-3, r"u: expected shape \(1,\), got \(2,\); one number for each motor"),
        ([0.1, 0.0], [0.0], 0.0, r"dt: expected a number > 0 \[s\]"),
        ([0.1, 0.0], [0.0], -1e-3, r"dt: expected a number > 0 \[s\]"),
    ],
)
def test_a_step_that_cannot_be_taken_is_refused_and_changes_nothing(x: Any, u: Any, dt: Any, message: str) -> None:
    plant, clean = (MuJoCoPlant(pendulum(), contacts=()) for _ in range(2))
    before = plant.step(np.array([0.1, 0.0]), np.zeros(1), 1e-3)
    with pytest.raises(InvalidArgumentError, match=message):
        plant.step(x, u, dt)
    clean.step(np.array([0.1, 0.0]), np.zeros(1), 1e-3)
    np.testing.assert_array_equal(plant.step(before, np.zeros(1), 1e-3), clean.step(before, np.zeros(1), 1e-3))


def test_a_state_that_diverges_is_an_error() -> None:
    plant = MuJoCoPlant(pendulum(), contacts=(), torque_limits=False)
    with pytest.raises(ModelEvaluationError, match=r"MuJoCo's state diverged \(mjWARN_BADQ"):
        plant.step(np.zeros(2), np.array([1e14]), 0.1, None)


def test_a_cart_and_pole_is_that_of_the_controller() -> None:
    """Masses and damping are the same in both plants: with steps of 0.1 ms, they agree to 1e-3 after 1 s."""
    from trajopt.plants.argument import plant_of

    changes = {"pole_mass": 0.3, "cart_mass": 1.3, "damping": (0.5, 0.005)}
    case, peer = (loops.load("cart-pole-balance", plant=plant, **changes) for plant in ("model", "mujoco"))
    problem, x = case.controller.problem, np.array([0.1, 0.5, 0.2, -3.0])
    own, y = plant_of(None, problem, case.model_error, 0.02), x
    own.follow(problem.running[0], problem.table.values[0])
    for i in range(10_000):
        u = np.array([3.0 * np.sin(3e-4 * i)])
        x, y = own.step(x, u, 1e-4, None), peer.plant.step(y, u, 1e-4, None)
    np.testing.assert_allclose(x, y, atol=1e-3)


def test_a_case_takes_another_plant_without_the_errors_of_its_own_model() -> None:
    case, peer = (loops.load("cart-pole-balance", plant=plant) for plant in ("model", "mujoco"))
    assert case.model_error
    assert case.simulate(0.1, plant=peer.plant).plant == "MuJoCoPlant"
    with pytest.raises(InvalidArgumentError, match="plant: expected None for the controller's model, .* got 'mujoco'"):
        mpc.simulate(case.controller, "mujoco", case.x0, 0.1, model_error={"pole_mass": 1.0})


def test_a_quadrotor_is_that_of_the_controller() -> None:
    """The same thrusts turn and move it as in the model: with steps of 0.1 ms, they agree to 1e-3 after 1 s."""
    case, peer = (loops.load("quadrotor-gates", plant=plant, mass=1.2) for plant in ("model", "mujoco"))
    x = y = np.r_[case.controller.problem.x0[:7], 0.3, -0.2, 0.1, 0.5, -0.4, 1.0]
    u, data = np.array([2.92, 2.89, 2.91, 2.93]), case.plant.create_data()
    for _ in range(200):
        case.plant.calc(data, x, u)
        x = data.xnext.copy()
    for _ in range(10_000):
        y = peer.plant.step(y, u, 1e-4, None)
    np.testing.assert_allclose(x, y, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cart-pole-balance", "arm-tracking", "quadruped-trot-mpc", "quadrotor-gates"])
def test_ready_controllers_run_in_mujoco(name: str) -> None:
    log = loops.load(name, plant="mujoco").simulate(1.0)
    assert log.counts["failed"] == 0
    assert log.plant == "MuJoCoPlant"
    if name == "quadruped-trot-mpc":
        assert log.xs[:, 2].min() > 0.3
    if name == "quadrotor-gates":
        assert np.abs(log.xs[-1, :3] - [0.9, 0.326, 0.986]).max() < 0.01  # as by the model
    if name == "arm-tracking":
        assert np.abs(log.xs[-1, :7]).max() < 3.0
        assert log.costs[-100:].mean() < 1e-4
