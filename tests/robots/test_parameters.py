"""Robots with run-time parameters: models are those of a robot with the same numbers, and nothing is compiled."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin
import pytest
from scipy.optimize import minimize_scalar

import trajopt
from tests.support import contact_robots
from tests.support.contact_models import impulse, variable
from tests.support.inverse_dynamics import inverse_model
from tests.support.model_list import free_dynamics
from tests.test_examples import EXAMPLES, load
from trajopt import ik
from trajopt.errors import DuplicateNameError, InvalidArgumentError, UnknownNameError
from trajopt.kernels import compiler
from trajopt.model.content import model_hash
from trajopt.model.programs import outputs_at
from trajopt.robots import Robot, load_robot, planar_arm
from trajopt.simulator import ActionModelSimulator, MDPContact, Simulator
from trajopt.solvers import SolutionDerivatives, SolverFDDP, SolverSQP

Reals = npt.NDArray[np.float64]
NAMES = contact_robots.PARAMETERS["variable"]


def values() -> dict[str, Any]:
    """Other numbers of the robot "variable"."""
    rng, p = np.random.default_rng(3), contact_robots.robot_state("variable").robot.parameters
    result = {name: each.parameter.default * rng.uniform(0.5, 1.5, each.parameter.shape) for name, each in p.items()}
    result |= {name: 0.4 * rng.normal(size=3) for name, each in p.items() if each.quantity == "rotation"}
    return result | {"foot0.inertia": np.array([0.3, 0.01, 0.02, 0.4, 0.03, 0.5])}


def bouncing(robot: Robot) -> trajopt.ActionModelAbstract:
    simulator = Simulator(robot, [MDPContact("foot0", strength=1e6)], joint_friction="smooth", barrier_weight=0.05)
    costs = trajopt.CostStack(simulator.state).add("state", trajopt.ResidualModelState(simulator.state), 0.1)
    return ActionModelSimulator(simulator, costs, dt=2e-3)


def euler(make: Callable[[], Any]) -> Callable[[], trajopt.ActionModelAbstract]:
    return lambda: trajopt.IntegratedActionModelEuler(make(), dt=0.02)


MODELS: dict[str, Callable[[], trajopt.ActionModelAbstract]] = {
    "free": euler(lambda: free_dynamics("variable", friction="smooth")),
    "contact": euler(variable),
    "inverse": euler(lambda: inverse_model(free_dynamics("variable", friction="smooth"))),
    "inverse-contact": euler(lambda: inverse_model(variable())),
    "impulse": lambda: impulse("variable", "foot0"),
    "simulator": lambda: bouncing(contact_robots.robot_state("variable").robot),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_are_those_of_a_robot_with_these_numbers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values, derivatives, Gauss-Newton Hessians and the control that holds the robot at rest."""
    model, numbers = MODELS[name](), {f"robot.{key}": value for key, value in values().items()}
    state = model.state
    x, u = state.integrate(state.zero(), np.linspace(-0.4, 0.5, state.ndx)), np.linspace(1.0, -1.0, model.nu)
    found = model.program("calc_diff").evaluate(x, u, model.layout.column(numbers))
    before = model.program("calc_diff").evaluate(x, u, model.layout.column())
    rest = model.quasi_static(x, numbers)

    other = trajopt.StateMultibody(Robot(contact_robots.ROBOTS["variable"](), name="variable").with_values(values()))
    for module in ("contact_models", "contact_robots"):
        monkeypatch.setattr(f"tests.support.{module}.robot_state", lambda _: other)
    monkeypatch.setattr("tests.support.model_list.state_of", lambda _: other)
    plain = MODELS[name]()
    assert not [each for each in plain.parameters() if each.startswith("robot.")]
    wanted = outputs_at(plain, plain.program("calc_diff"), x, u)
    for one, two in zip(found, wanted):
        assert np.abs(one - two).max() <= 1e-10 * max(1.0, np.abs(two).max())
    assert max(np.abs(two - first).max() for two, first in zip(wanted, before)) > 1e-2
    if name not in ("impulse", "simulator"):  # these have no closed form
        np.testing.assert_allclose(rest, plain.quasi_static(x), atol=1e-9 * max(1.0, np.abs(rest).max(initial=0.0)))


def reach(robot: Robot) -> trajopt.ShootingProblem:
    state = trajopt.StateMultibody(robot)
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), 1e-2)
    there = trajopt.ResidualModelFrameTranslation(state, "tool", [0.3, 0.0, 0.4])
    goal = trajopt.CostStack(state).add("tool", there, 1.0)
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(state, trajopt.ActuationModelFull(state), costs)
    return trajopt.ShootingProblem(state.zero(), [trajopt.IntegratedActionModelEuler(dynamics, 0.05)] * 10, goal)


def test_a_change_compiles_nothing_and_solves_another_robot() -> None:
    robot, numbers = Robot(planar_arm()), {"link_2.mass": 2.5, "joint_2.translation": [0.7, 0.0, 0.1]}
    numbers |= {
        "joint_2.rotation": [0.3, -0.2, 0.5],
        "tool.translation": [0.1, 0.2, -0.1],
        "tool.rotation": [0.4, 0, 0],
    }
    problem = reach(robot.with_parameters(numbers))
    SolverFDDP(problem).solve()
    count = compiler.compilations()
    for name, value in numbers.items():
        problem.set_parameter(f"robot.{name}", value, knots="all")
    found = SolverFDDP(problem).solve()
    assert compiler.compilations() == count
    wanted = SolverFDDP(reach(robot.with_values(numbers))).solve()
    assert found.cost == pytest.approx(wanted.cost, rel=1e-10)
    np.testing.assert_allclose(found.us, wanted.us, atol=1e-7)


@pytest.mark.parametrize("name", ["link_2.mass", "joint_2.translation", "joint_2.rotation", "tool.translation"])
def test_costs_by_parameters(name: str) -> None:
    """The derivative of a solution's cost, by differences of two more solves."""
    problem = reach(Robot(planar_arm()).with_parameters([name]))
    solution = SolverFDDP(problem).solve()
    slope = np.ravel(SolutionDerivatives(solution).by(f"robot.{name}").dcost)[0]
    value, costs = problem.get_parameter(f"robot.{name}", "running"), []
    for step in (1e-5, -1e-5):
        moved = value + step * np.eye(max(value.size, 1))[0].reshape(value.shape)
        problem.set_parameter(f"robot.{name}", moved, knots="all")
        costs.append(SolverFDDP(problem).solve(solution).cost)
    assert slope == pytest.approx((costs[0] - costs[1]) / 2e-5, rel=1e-5)


def test_an_unknown_mass_is_found_at_its_bound() -> None:
    """The cheapest arm is the lightest."""
    problem = reach(Robot(planar_arm()).with_parameters(["link_2.mass"]))
    problem.free("robot.link_2.mass", 0.6, 3.0)
    solution = SolverSQP(problem).solve()
    assert solution.unknowns["robot.link_2.mass"] == pytest.approx(0.6, abs=1e-6)
    lighter = problem.terminal.state.robot.with_values(solution.unknowns)
    assert lighter.model.inertias[2].mass == pytest.approx(0.6, abs=1e-6)
    assert lighter.parameters.keys() == {"link_2.mass"}


def test_inverse_kinematics_use_the_lengths_of_the_model() -> None:
    robot = Robot(planar_arm()).with_parameters(["joint_2.translation"])
    target, state = robot.placement([0.3, 0.8], "tool")[:3, 3], trajopt.StateMultibody(robot)
    tool = trajopt.ResidualModelFrameTranslation(state, "tool", target)
    result = ik.solve(robot, trajopt.ConstraintStack(state).add("tool", tool, equals=0.0))
    np.testing.assert_allclose(robot.placement(result.q, "tool")[:3, 3], target, atol=1e-5)


def test_numbers_of_a_robot() -> None:
    robot = load_robot("talos_arm")
    frame = robot.model.frames[robot.frame_id("gripper_left_joint")]
    body = robot.model.inertias[frame.parentJoint]
    own = robot.with_parameters(["gripper_left_joint.com", "gripper_left_joint.inertia", "arm_left_7_joint.armature"])
    p = own.parameters
    assert repr(p["arm_left_7_joint.armature"]) == "arm_left_7_joint.armature = 0.1 kg m²"
    np.testing.assert_allclose(frame.placement.act(p["gripper_left_joint.com"].parameter.default), body.lever)
    seen = frame.placement.rotation.T @ body.inertia @ frame.placement.rotation
    np.testing.assert_allclose(p["gripper_left_joint.inertia"].parameter.default, seen[np.triu_indices(3)], atol=1e-15)
    again = robot.with_values({name: each.parameter.default for name, each in p.items()})
    np.testing.assert_allclose(again.model.inertias[-1].inertia, robot.model.inertias[-1].inertia, atol=1e-15)
    heavy = robot.with_values({"gripper_left_joint.mass": 2 * body.mass}).model.inertias[frame.parentJoint]
    np.testing.assert_allclose(heavy.inertia, 2 * body.inertia)
    np.testing.assert_allclose(heavy.lever, body.lever)


def test_robots_with_parameters_are_plain_objects() -> None:
    robot = load_robot("solo12").with_parameters(["base_link.mass"])
    more = robot.with_parameters("FL_HFE.damping")
    assert list(more.parameters) == ["base_link.mass", "FL_HFE.damping"]
    assert "parameters: base_link.mass, FL_HFE.damping" in repr(more)
    again = pickle.loads(pickle.dumps(more))
    states = [trajopt.StateMultibody(each) for each in (robot, more, again, load_robot("solo12"))]
    assert states[1] == states[2] != states[0] != states[3]
    hashes = [model_hash(trajopt.ResidualModelState(state)) for state in states]
    assert hashes[1] == hashes[2]
    assert len(set(hashes)) == 3
    assert load_robot("solo12").with_parameters([]).parameters == {}


def test_messages() -> None:
    robot = load_robot("solo12")
    light = pin.Model()
    joint = light.addJoint(0, pin.JointModelRX(), pin.SE3.Identity(), "light")
    light.addFrame(pin.Frame("feather", joint, 0, pin.SE3.Identity(), pin.FrameType.OP_FRAME))
    wrong: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: robot.with_parameters(["nose.mass"]), UnknownNameError, "frame 'nose' not found"),
        (lambda: robot.with_parameters(["nose.damping"]), UnknownNameError, "joint 'nose' not found"),
        (lambda: robot.with_parameters(["base_link.weight"]), UnknownNameError, "parameter of a robot 'base_link.weig"),
        (lambda: robot.with_parameters(["base_link.mas"]), UnknownNameError, "did you mean 'base_link.mass'"),
        (lambda: robot.with_parameters(["universe.mass"]), InvalidArgumentError, "body is fixed to the world"),
        (lambda: Robot(light).with_parameters(["feather.mass"]), InvalidArgumentError, "whose body is of mass 0"),
        (
            lambda: robot.with_parameters(["FL_FOOT.mass", "FL_LOWER_LEG.com"]),
            DuplicateNameError,
            "'FL_FOOT' and 'FL_LOWER_LEG' are on one rigid body; use one of them",
        ),
        (lambda: robot.with_values({"base_link.mass": 0.0}), InvalidArgumentError, "base_link.mass: expected .* > 0"),
        (lambda: robot.with_values({"FL_HFE.damping": -1}), InvalidArgumentError, "FL_HFE.damping: expected .* >= 0"),
        (lambda: robot.with_values({"base_link.com": [0, 0]}), InvalidArgumentError, r"com: expected shape \(3,"),
        (
            lambda: robot.with_parameters(["base_link.mass"]).lock_joints(["FL_HFE"]),
            InvalidArgumentError,
            "lock joints first, then call with_parameters",
        ),
        (
            lambda: reach(Robot(planar_arm()).with_parameters(["joint_1.damping"])),
            InvalidArgumentError,
            "friction: expected 'smooth' or a SmoothFriction, got None, with which the robot's parameter 'joint_1.dam",
        ),
    ]
    for call, error, message in wrong:
        with pytest.raises(error, match=message):
            call()


@pytest.mark.slow
def test_a_length_is_the_minimum_of_a_scan() -> None:
    """The link of a throw, see the example; a scan solves one problem for each length."""
    path = next(path for path in EXAMPLES if path.stem == "40_link_length")
    example: Any = load(path)
    problem, length = example.throw(), example.NAME
    first = SolverSQP(problem).solve()

    def cost(value: float) -> float:
        problem.set_parameter(length, [value, 0.0, 0.0], knots="all")
        return SolverSQP(problem).solve(first).cost

    best = minimize_scalar(cost, bounds=(0.4, 0.55), method="bounded", options={"xatol": 1e-5})
    free = example.throw()
    free.free(length, [0.2, 0.0, 0.0], [1.2, 0.0, 0.0])
    solution = SolverSQP(free).solve(first)
    assert solution.cost == pytest.approx(best.fun, rel=1e-6)
    assert solution.unknowns[length][0] == pytest.approx(best.x, abs=1e-4)
