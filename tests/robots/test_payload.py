"""Payloads: a robot that carries one moves as one whose body has the sum of both inertias."""

from __future__ import annotations

import pickle

import numpy as np
import pinocchio as pin
import pytest
from casadi import SX

import trajopt
from trajopt.analysis.skeleton import skeleton_of
from trajopt.display.visuals import joint_meshes
from trajopt.dynamics import RobotExpressions
from trajopt.errors import DuplicateNameError, InvalidArgumentError
from trajopt.solvers import SolverSQP

MASS, COM, INERTIA = 3.0, [0.02, -0.01, 0.1], [0.02, 0.001, 0.0, 0.03, 0.002, 0.015]


def torques(model: pin.Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    return np.array(pin.rnea(model, model.createData(), q, v, a))


def carrying(mass: float) -> pin.Model:
    """UR10 with a body whose inertia scales with its mass, appended by hand."""
    robot = trajopt.load_robot("ur10")
    model, frame = robot.model.copy(), robot.model.frames[robot.frame_id("tool0")]
    matrix = np.zeros((3, 3))
    matrix[np.triu_indices(3)] = INERTIA
    matrix = matrix + np.triu(matrix, 1).T
    body = pin.Inertia(mass, np.array(COM), matrix * mass / MASS)
    model.inertias[frame.parentJoint] += frame.placement.act(body)
    return model


def test_a_payload_adds_its_inertia_to_the_body_of_its_frame() -> None:
    bare = trajopt.load_robot("ur10")
    robot = bare.with_payload("tool0", MASS, COM, INERTIA)
    rng = np.random.default_rng(0)
    at = rng.normal(size=(3, robot.nv))
    np.testing.assert_allclose(torques(robot.model, *at), torques(carrying(MASS), *at), atol=1e-12)
    assert robot.mass == pytest.approx(bare.mass + MASS)
    assert "payload" in robot.frame_names
    again = pickle.loads(pickle.dumps(robot.with_parameters("payload.mass")))
    assert float(again.parameters["payload.mass"].value) == MASS
    lighter = robot.with_values({"payload.mass": 1.0})
    np.testing.assert_allclose(torques(lighter.model, *at), torques(carrying(1.0), *at), atol=1e-12)
    back = lighter.with_values({"payload.mass": MASS})
    np.testing.assert_allclose(torques(back.model, *at), torques(carrying(MASS), *at), atol=1e-12)


def holding() -> trajopt.ShootingProblem:
    """The arm at rest under gravity, with a cost of the acceleration, and the payload's mass as a parameter."""
    robot = trajopt.load_robot("ur10").with_payload("tool0", MASS, COM, INERTIA).with_parameters("payload.mass")
    state = trajopt.StateMultibody(robot)
    x0 = state.at_rest(np.array([0.0, -1.2, 1.6, -2.0, -1.57, 0.0]))
    costs = trajopt.CostStack(state).add("rest", trajopt.ResidualModelState(state, x0), weight=1.0)
    costs.add("torque", trajopt.ResidualModelControl(state), weight=1e-6)
    arm = trajopt.DifferentialActionModelFreeFwdDynamics(state, trajopt.ActuationModelFull(state), costs)
    return trajopt.ShootingProblem(x0, [trajopt.IntegratedActionModelEuler(arm, dt=0.02)] * 5, costs_at_end(state, x0))


def costs_at_end(state: trajopt.StateMultibody, x0: np.ndarray) -> trajopt.CostStack:
    """Rest, and a cost of the payload's mass, off by default."""

    def missing(x: SX, robot: RobotExpressions) -> SX:
        return 4.0 - robot.parameters["payload.mass"].parameter.symbol

    costs = trajopt.CostStack(state).add("rest", trajopt.ResidualModelState(state, x0), weight=1.0)
    return costs.add("missing", trajopt.ResidualModelSymbolic(state, missing, unit="kg"), weight=0.0)


def test_the_mass_of_a_payload_is_a_parameter_of_dynamics() -> None:
    problem = holding()
    rng = np.random.default_rng(1)
    us = rng.normal(size=(5, 6))
    for mass in (MASS, 1.0, 7.0):
        problem.set_parameter("robot.payload.mass", mass)
        xs = problem.rollout(us)
        model = carrying(mass)
        for t in range(5):
            q, v = xs[t, :6], xs[t, 6:]
            np.testing.assert_allclose(torques(model, q, v, (xs[t + 1, 6:] - v) / 0.02), us[t], atol=1e-8)


@pytest.mark.slow
def test_a_solver_chooses_the_mass_of_a_payload() -> None:
    """Fixed torques hold one mass; a freed mass is that one."""
    problem = holding()
    wanted = torques(carrying(2.0), problem.x0[:6], np.zeros(6), np.zeros(6))
    problem.set_parameter("torque.reference", wanted, knots="running")
    problem.set_parameter("torque.weight", 10.0, knots="running")
    problem.free("robot.payload.mass", 0.5, 6.0)
    solution = SolverSQP(problem).solve()
    assert solution.converged
    assert float(solution.unknowns["robot.payload.mass"]) == pytest.approx(2.0, abs=1e-3)
    problem.set_parameter("missing.weight", 1e8)
    more = SolverSQP(problem).solve()
    assert float(more.unknowns["robot.payload.mass"]) == pytest.approx(4.0, abs=1e-3), "costs may read the unknown"


def test_wrong_payloads_are_refused() -> None:
    robot = trajopt.load_robot("ur10")
    loaded = robot.with_payload("tool0", MASS)
    with pytest.raises(DuplicateNameError, match="name: the robot has a frame 'payload' already"):
        loaded.with_payload("tool0", MASS)
    with pytest.raises(InvalidArgumentError, match="mass: expected"):
        robot.with_payload("tool0", -1.0)
    with pytest.raises(InvalidArgumentError, match="fixed to the world"):
        robot.with_payload("universe", 1.0)
    with pytest.raises(InvalidArgumentError, match="moments >= 0, none above"):
        robot.with_payload("tool0", 1.0, inertia=[-1.0, 0, 0, 1.0, 0, 1.0])
    with pytest.raises(InvalidArgumentError, match=r"inertia: .* sum of the others, got \[0.1 0.1 1. \] kg m²"):
        robot.with_payload("tool0", 1.0, inertia=[1.0, 0, 0, 0.1, 0, 0.1])
    robot.with_payload("tool0", 1.0, inertia=[0.033, 0, 0, 0.033, 0, 0.0664])  # a plate, rounded
    with pytest.raises(InvalidArgumentError, match=r"'payload.mass', the parameter of a payload, got 'payload.com'"):
        loaded.with_parameters("payload.com")
    with pytest.raises(DuplicateNameError, match="are on one rigid body"):
        loaded.with_parameters(["payload.mass", "tool0.mass"])


def test_pictures_have_a_payload() -> None:
    """A ball of its mass in steel, or the box of its inertia, which moves with the hand."""
    q = np.array([0.3, -1.0, 0.8, 0.4, 0.5, 0.6])
    bare = trajopt.load_robot("ur10")
    assert not skeleton_of(bare.model, q[None])[0].solids
    boxes = {
        None: 2.0 * np.full(3, (3.0 * 1.5 / (4.0 * np.pi * 7850.0)) ** (1.0 / 3.0)),
        "box": np.array([0.1, 0.2, 0.3]),
    }
    for kind, sides in boxes.items():
        about = None if kind is None else 1.5 / 12.0 * ((sides**2).sum() - sides**2)
        inertia = None if about is None else [about[0], 0.0, 0.0, about[1], 0.0, about[2]]
        robot = bare.with_payload("tool0", 1.5, [0.05, 0.0, 0.1], inertia)
        (solid,) = skeleton_of(robot.model, np.array([np.zeros(6), q]))[0].solids
        hand = robot.placement(q, "tool0")
        points = (solid.points[1] - hand[:3, 3]) @ hand[:3, :3] - [0.05, 0.0, 0.1]
        np.testing.assert_allclose(np.ptp(points, axis=0), sides, rtol=1e-6)
        np.testing.assert_allclose(points.max(axis=0), sides / 2, rtol=1e-6)


def test_views_have_a_payload() -> None:
    bare = trajopt.load_robot("planar-2r")
    robot = bare.with_payload("tool", 1.5, inertia=[0.01, 0.0, 0.0, 0.01, 0.0, 0.01])
    more, less = (
        {body.joint: sum(len(m.vertices) for m in body.meshes) for body in joint_meshes(each)} for each in (robot, bare)
    )
    assert more == {1: less[1], 2: less[2] + 24}  # four corners of each face
