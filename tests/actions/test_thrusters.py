"""Thrusters on a floating base: wrenches in closed form, hovering, and Crocoddyl's quadrotor."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.support.model_list import state_of
from trajopt import ActuationModelFloatingBaseThrusters, Thruster
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.solution.solution import motion_solution
from trajopt.solvers import FDDPOptions, SolverFDDP

ARM, DRAG = 0.15, 0.01  # [m]
PLACES = [(ARM, 0, 0), (0, ARM, 0), (-ARM, 0, 0), (0, -ARM, 0)]


def rotors(**limits: float) -> list[Thruster]:
    return [Thruster(at, DRAG, "ccw" if i % 2 == 0 else "cw", **limits) for i, at in enumerate(PLACES)]


def hector() -> trajopt.StateMultibody:
    pytest.importorskip("example_robot_data")
    return trajopt.StateMultibody(trajopt.load_robot("hector"))


def test_wrenches_are_those_of_crocoddyl() -> None:
    """Crocoddyl 3.2.1 with the same thrusters and u = (1, 2, 3, 4) N."""
    motors = ActuationModelFloatingBaseThrusters(hector(), rotors())
    np.testing.assert_allclose(motors.matrix @ [1.0, 2.0, 3.0, 4.0], [0, 0, 10, -0.3, 0.3, 0.02], atol=1e-15)


def test_a_tilted_thruster_pushes_along_its_axis() -> None:
    placement = pin.SE3(pin.utils.rotate("x", 0.3), np.array([0.1, -0.2, 0.05]))
    thruster = Thruster(placement, 0.02, "cw")
    force = np.array([0.0, -np.sin(0.3), np.cos(0.3)])
    np.testing.assert_allclose(thruster.wrench[:3], force)
    np.testing.assert_allclose(thruster.wrench[3:], np.cross([0.1, -0.2, 0.05], force) + 0.02 * force)


def test_it_hovers() -> None:
    """At rest the thrusts carry the weight, and the acceleration is zero."""
    state = hector()
    motors = ActuationModelFloatingBaseThrusters(state, rotors())
    u = motors.hover()
    np.testing.assert_allclose(u, state.robot.mass * 9.81 / 4, rtol=1e-9)
    model = trajopt.DifferentialActionModelFreeFwdDynamics(state, motors, trajopt.CostStack(state))
    problem = trajopt.ShootingProblem(
        state.zero(), [trajopt.IntegratedActionModelEuler(model, 0.01)], trajopt.CostStack(state)
    )
    np.testing.assert_allclose(problem.rollout(u[None])[-1], state.zero(), atol=1e-12)
    off_centre = ActuationModelFloatingBaseThrusters(state, [Thruster((0.3, 0.0, 0.0))])
    with pytest.raises(InvalidArgumentError, match="thrusters: they cannot hold the robot at rest"):
        off_centre.hover()


def test_joints_have_motors_behind_the_thrusters() -> None:
    state = state_of("drone")
    motors = ActuationModelFloatingBaseThrusters(state, rotors(lower=0.1, upper=5.0))
    assert motors.nu == 4 + state.nv - 6
    assert motors.names[:4] == ["thrust0", "thrust1", "thrust2", "thrust3"]
    np.testing.assert_array_equal(motors.lower[:4], 0.1)
    np.testing.assert_array_equal(motors.upper[:4], 5.0)
    np.testing.assert_array_equal(motors.matrix[6:, 4:], np.eye(state.nv - 6))


def test_the_quadrotor_of_crocoddyl() -> None:
    """Its notebook's flight: cost and iterations under Crocoddyl's settings."""
    state = hector()
    motors = ActuationModelFloatingBaseThrusters(state, rotors())
    weights = trajopt.ActivationModelWeightedQuad([0.1] * 3 + [1000.0] * 9)
    place = trajopt.ResidualModelFramePlacement(state, "base_link", pin.SE3(np.eye(3), np.array([1.0, 0.0, 1.0])))
    running = trajopt.CostStack(state).add("xReg", trajopt.ResidualModelState(state), 1e-6, weights)
    running.add("uReg", trajopt.ResidualModelControl(state), 1e-6).add("track", place, 1e-2)
    end = trajopt.CostStack(state).add("goal", place, 3.0)
    model = trajopt.DifferentialActionModelFreeFwdDynamics(state, motors, running)
    knots = [trajopt.IntegratedActionModelEuler(model, 3e-2)] * 33
    problem = trajopt.ShootingProblem(state.zero(), knots, end)
    solver = SolverFDDP(problem, FDDPOptions.crocoddyl(max_iterations=100))
    found = solver.solve(np.tile(state.zero(), (34, 1)), np.zeros((33, 4)))
    assert found.cost == pytest.approx(0.005208697743095514, rel=1e-9)
    assert found.iterations == 25  # Crocoddyl counts from 0 to 24


def test_what_does_not_fit_is_refused() -> None:
    state = hector()
    with pytest.raises(InvalidArgumentError, match="thrusters: expected at least one, got none"):
        ActuationModelFloatingBaseThrusters(state, [])
    with pytest.raises(InvalidArgumentError, match="thrusters: expected a Thruster"):
        ActuationModelFloatingBaseThrusters(state, [(0, 0, 1)])
    with pytest.raises(InvalidArgumentError, match="state: expected a robot with a free flyer"):
        ActuationModelFloatingBaseThrusters(state_of("planar-2r"), rotors())
    with pytest.raises(UnknownNameError, match="spin 'left' not found"):
        Thruster((0, 0, 0), spin="left")
    with pytest.raises(InvalidArgumentError, match="lower: expected lower <= upper, got 2 and 1 N"):
        Thruster((0, 0, 0), lower=2.0, upper=1.0)


def test_a_policy_keeps_the_limits_of_thrusters() -> None:
    """Thrusts that a plan has below zero, or above the largest one, are clipped."""
    state = hector()
    motors = ActuationModelFloatingBaseThrusters(state, rotors(lower=0.5, upper=5.0))
    model = trajopt.DifferentialActionModelFreeFwdDynamics(state, motors, trajopt.CostStack(state))
    knots = [trajopt.IntegratedActionModelEuler(model, 0.01)]
    problem = trajopt.ShootingProblem(state.zero(), knots, trajopt.CostStack(state))
    plan = motion_solution(problem, np.tile(state.zero(), (2, 1)), np.array([[-3.0, 9.0, 2.0, 0.0]]), solver="")
    np.testing.assert_array_equal(plan.feedback("open")(0.0, state.zero()), [0.5, 5.0, 2.0, 0.5])
