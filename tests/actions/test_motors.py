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
from trajopt.analysis.advice.blocked_goals import blocked_goals
from trajopt.analysis.advice.resting import cannot_rest
from trajopt.analysis.goals import pose_goals
from trajopt.errors import InvalidArgumentError
from trajopt.kernels.program import Program
from trajopt.shooting.inspection import torques
from trajopt.shooting.toward_end import toward_end
from trajopt.solvers import SolverFDDP, SolverSQP, SQPOptions


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


class Boat(trajopt.DifferentialActionModelSymbolic):
    """A boat with thrusts ahead and to the side, a torque, and linear drag; x = (x, y, theta, and their rates)."""

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        turn = ca.vertcat(ca.horzcat(ca.cos(x[2]), -ca.sin(x[2])), ca.horzcat(ca.sin(x[2]), ca.cos(x[2])))
        return ca.vertcat(turn @ u[:2], u[2]) - 0.5 * x[3:]


def boat(goal: list[float], *, rock: bool = False) -> trajopt.ShootingProblem:
    """A boat behind motors that ends in a state (6,); `rock` adds an obstacle about its place."""
    state = trajopt.StateVector(
        6, names=["x", "y", "theta", "vx", "vy", "w"], units=["m", "m", "rad", "m/s", "m/s", "rad/s"]
    )
    there, control = trajopt.ResidualModelState(state, goal), trajopt.ResidualModelControl(state)
    costs = trajopt.CostStack(state).add("effort", control, 0.1)
    rows = trajopt.ConstraintStack(state).add("thrust", control, lower=-4.0, upper=4.0)
    if rock:
        distance = trajopt.ResidualModelObstacleDistance(state, [[goal[0], goal[1], 0.5]], 0.1)
        rows.add("rock", distance, lower=0.0)
    knot = trajopt.ActionModelMotors(
        trajopt.IntegratedActionModelEuler(Boat(state, 3, costs, constraints=rows), 0.1), 0.2
    )
    end = trajopt.ConstraintStack(state).add("goal", there, equals=0.0)
    terminal = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=end)
    return trajopt.ShootingProblem(np.zeros(9), [knot] * 20, trajopt.ActionModelMotors(terminal, motors=3))


def test_pictures_and_guesses_know_the_goal_of_a_model_behind_motors() -> None:
    problem = boat([1.0, 0.5, 0.3, 0.0, 0.0, 0.0])
    solution = SolverSQP(problem).solve()
    np.testing.assert_allclose(pose_goals(solution), [[1.0, 0.5, 0.0]])
    problem.free("dt", 0.05, 0.2)
    way = toward_end(problem)
    np.testing.assert_allclose(way[10], [0.5, 0.25, 0.15, *6 * [0.0]], atol=1e-15)


def test_a_report_names_the_cause_of_a_failure_behind_motors() -> None:
    degrees = SolverSQP(boat([1.0, 0.5, 90.0, 0.0, 0.0, 0.0])).solve()
    assert "the reference of 'goal': x.theta is 90 rad, which looks like degrees" in degrees.explain()
    blocked = SolverSQP(boat([1.0, 0.0, 0.0, 0.0, 0.0, 0.0], rock=True), SQPOptions(max_iterations=5)).solve()
    assert blocked_goals(blocked) == [
        "move 'goal', where 'rock' is 0.57 m beyond its bound, which holds until knot 19: no way leads there"
    ]
    assert cannot_rest(blocked) == []
