"""Motors of first order: the exact response, the limit of fast motors, solvers, the Hessian, and refusals."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import trajopt
from tests.support.model_list import free_dynamics, state_of
from tests.support.slow_twin import assert_close, central_differences
from trajopt.actions.expansion import Multipliers, Point
from trajopt.errors import InvalidArgumentError
from trajopt.kernels.program import Program
from trajopt.shooting.inspection import torques
from trajopt.solvers import SolverFDDP, SolverSQP


class Mass(trajopt.DifferentialActionModelSymbolic):
    """dv/dt = u, with cost ½ u²."""

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return u


def mass() -> Any:
    state = trajopt.StateVector(2)
    return Mass(state, 1, trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), 1.0))


def test_a_constant_command_is_approached_exponentially() -> None:
    """m(t) = u + exp(-t / T) (m - u); velocity is its integral, exactly, and the cost that of the mean torque."""
    T, dt, u, m = 0.3, 0.1, 2.0, -1.0
    model = trajopt.ActionModelMotors(trajopt.IntegratedActionModelEuler(mass(), dt), T)
    end = trajopt.ActionModelMotors(trajopt.CostStack(trajopt.StateVector(2)), motors=1)
    problem = trajopt.ShootingProblem([0.0, 0.5, m], [model] * 5, end)
    xs = problem.rollout([[u]] * 5)
    t = dt * np.arange(6)
    np.testing.assert_allclose(xs[:, 2], u + np.exp(-t / T) * (m - u), rtol=1e-14)
    np.testing.assert_allclose(xs[:, 1], 0.5 + u * t + (m - u) * T * (1 - np.exp(-t / T)), rtol=1e-13)
    mean = np.diff(xs[:, 1]) / dt
    assert problem.calc(xs, [[u]] * 5).cost == pytest.approx(0.5 * dt * np.sum(mean**2), rel=1e-13)
    np.testing.assert_allclose(problem.get_parameter("time_constant", 0), [T])
    problem.set_parameter("time_constant", 1e-3)
    fast = problem.rollout([[u]] * 5)
    np.testing.assert_allclose(fast[1:, 2], u, rtol=1e-12)
    assert fast[1, 1] == pytest.approx(0.5 + u * dt - 3.0e-3, rel=1e-12)


def arm(T: float | None) -> trajopt.ShootingProblem:
    state = state_of("planar-2r")
    costs, end = trajopt.CostStack(state), trajopt.CostStack(state)
    costs.add("effort", trajopt.ResidualModelControl(state), 1e-2)
    end.add("goal", trajopt.ResidualModelState(state, [0.5, -0.4, 0.0, 0.0]), 50.0)
    d = trajopt.DifferentialActionModelFreeFwdDynamics(state, trajopt.ActuationModelFull(state), costs)
    inner = trajopt.IntegratedActionModelEuler(d, 0.02)
    if T is None:
        return trajopt.ShootingProblem(np.zeros(4), [inner] * 30, end)
    end_model = trajopt.ActionModelMotors(end, motors=2)
    return trajopt.ShootingProblem(np.zeros(6), [trajopt.ActionModelMotors(inner, T)] * 30, end_model)


def test_motors_of_a_robot_have_the_names_of_its_joints() -> None:
    problem = arm(0.1)
    assert problem.state.coordinate_names[4:] == ["motor.joint_1", "motor.joint_2"]
    assert problem.state.coordinate_units[4:] == ["N m", "N m"]
    legged = trajopt.CostStack(trajopt.StateMultibody(trajopt.load_robot("small-quadruped")))
    for motors, last in ((12, "motor.rh_kfe"), (4, "motor.x3")):
        assert trajopt.ActionModelMotors(legged, motors=motors).state.coordinate_names[-1] == last


def test_solvers_plan_ahead_of_slow_motors() -> None:
    """Solvers agree; the cost is that of motors without delay, and the slower they are, the larger the commands."""
    at_once, command = SolverFDDP(arm(None)).solve(), []
    for T in (0.005, 0.1):
        problem = arm(T)
        one, two = SolverFDDP(problem).solve(), SolverSQP(problem).solve()
        assert one.converged
        assert two.converged
        assert one.cost == pytest.approx(two.cost, rel=1e-7)
        assert one.cost == pytest.approx(at_once.cost, rel=1e-9)
        for own, expected in zip(torques(problem, one.xs, one.us).values(), at_once.us.T, strict=True):
            np.testing.assert_allclose(own, expected, atol=1e-4)
        command.append(np.abs(one.us).max())
    assert command[1] > 1.5 * command[0]


def test_the_hessian_of_the_lagrangian() -> None:
    """Of the dynamics, by central differences; motors are linear and add none of their own."""
    model = trajopt.ActionModelMotors(trajopt.IntegratedActionModelEuler(free_dynamics("planar-2r"), 0.05), [0.08, 0.2])
    x, u, lam = model.state.rand(1), np.array([1.0, -2.0]), np.linspace(0.5, 1.5, 6)
    program = Program("hessian")
    inputs = [program.input(size) for size in (6, 2, model.layout.size, 6)]
    point = Point(x=inputs[0], u=inputs[1], parameters=inputs[2])
    program.output(model.expansion(program, point, Multipliers(dynamics=inputs[3])).H)
    H = [program.evaluate(x, u, model.layout.column(), factor * lam)[0] for factor in (1.0, 0.0)]

    def slope(z: np.ndarray) -> np.ndarray:
        data = model.create_data()
        model.calc(data, x + z[:6], u + z[6:])
        model.calc_diff(data, x + z[:6], u + z[6:])
        return np.hstack([data.Fx, data.Fu]).T @ lam

    assert_close(H[0] - H[1], central_differences(slope, 8), 1e-6)


def test_refusals() -> None:
    inner = trajopt.IntegratedActionModelEuler(mass(), 0.1)
    with pytest.raises(InvalidArgumentError, match=r"time_constant: expected numbers > 0 \[s\], got \[0.0\]"):
        trajopt.ActionModelMotors(inner, 0.0)
    with pytest.raises(InvalidArgumentError, match=r"time_constant: expected shape \(1,\), got \(2,\)"):
        trajopt.ActionModelMotors(inner, [0.1, 0.1])
    with pytest.raises(InvalidArgumentError, match="motors: expected their number for a terminal model alone, got 1"):
        trajopt.ActionModelMotors(inner, 0.1, motors=1)
    with pytest.raises(InvalidArgumentError, match="motors: expected their number for a terminal model.*got None"):
        trajopt.ActionModelMotors(trajopt.CostStack(trajopt.StateVector(2)))
    with pytest.raises(InvalidArgumentError, match="model: expected one with a time step, got ActionModelLQR"):
        trajopt.ActionModelMotors(trajopt.ActionModelLQR(np.eye(2), np.ones((2, 1)), np.eye(2), np.eye(1)), 0.1)
    with pytest.raises(InvalidArgumentError, match="model: expected a model that is an expression, got 3"):
        trajopt.ActionModelMotors(3)  # type: ignore[arg-type]
