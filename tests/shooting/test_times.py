"""Times at which costs compare with references."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import trajopt
from trajopt import mpc, planar
from trajopt.solvers import SolverFDDP
from trajopt.types import Reals

STATE, N, DT = planar.state_of_pose(), 60, 0.05


def circle(t: Reals) -> Reals:
    """States (n, 3) on a circle of 1 m at 1 m/s, for times (n,)."""
    return np.column_stack([np.cos(t), np.sin(t), t + 0.5 * np.pi])


def driving(tableau: trajopt.Tableau | None) -> trajopt.ShootingProblem:
    """A unicycle from the circle's start; None is an Euler step."""
    path = trajopt.ResidualModelState(STATE, elements=[0, 1])
    end = trajopt.CostStack(STATE).add("path", path, weight=1e2)
    costs = trajopt.CostStack(STATE).add("path", path, weight=1e2)
    costs.add("effort", trajopt.ResidualModelControl(STATE), weight=1e-6)
    robot = planar.DifferentialActionModelUnicycle(costs)
    step: trajopt.ActionModelAbstract = trajopt.IntegratedActionModelEuler(robot, DT)
    if tableau is not None:
        step = trajopt.IntegratedActionModelRK(robot, DT, tableau=tableau)
    return trajopt.ShootingProblem(circle(np.zeros(1))[0], [step] * N, end)


def lead(xs: Reals, times: Reals) -> float:
    """Mean time by which states are ahead of the circle, but for its beginning and end [s]."""
    angles = np.unwrap(np.arctan2(xs[:, 1], xs[:, 0])) - times
    return float(angles[N // 3 : -N // 3].mean())


STEPS = [(None, 0.0), (trajopt.Tableau.EULER, 0.0), (trajopt.Tableau.HEUN, 0.5), (trajopt.Tableau.CLASSICAL, 0.5)]


@pytest.mark.parametrize(("tableau", "part"), STEPS, ids=["Euler", "RK1", "RK2", "RK4"])
def test_a_motion_is_not_late_behind_its_references(tableau: trajopt.Tableau | None, part: float) -> None:
    problem = driving(tableau)
    at, times = problem.reference_times, problem.times
    assert at is not None
    assert times is not None
    np.testing.assert_allclose(at[:-1] - times[:-1], part * DT, atol=1e-15)
    assert at[-1] == times[-1]
    problem.set_parameter("path.reference", circle(at))
    assert abs(lead(SolverFDDP(problem).solve(circle(times)).xs, times)) < 0.02 * DT
    problem.set_parameter("path.reference", circle(times))
    late = lead(SolverFDDP(problem).solve(circle(times)).xs, times)
    assert late == pytest.approx(-part * DT, abs=0.02 * DT)


@pytest.mark.parametrize(("tableau", "part"), STEPS[::3], ids=["Euler", "RK4"])
def test_controllers_evaluate_references_of_costs_at_these_times(tableau: trajopt.Tableau | None, part: float) -> None:
    problem = driving(tableau)
    controller = mpc.MPCController(problem)
    controller.follow("path.reference", lambda t: circle(np.array([t]))[0])
    controller.follow("effort.weight", lambda t: 1e-6 * (1.0 + t))
    controller.reset(t=1.0)
    knots = 1.0 + DT * np.arange(N)
    given = controller.problem.get_parameter("path.reference", knots="running")
    np.testing.assert_allclose(given, circle(knots + part * DT))


class Drop(trajopt.ActionModelDiscrete):
    """The robot is turned by a push."""

    instantaneous = True

    def next_state(self, x: SX, u: SX) -> SX:
        return ca.vertcat(x[0], x[1], x[2] + 0.5)

    def running_cost(self, x: SX, u: SX) -> SX:
        return SX(0)

    def terminal_cost(self, x: SX) -> SX:
        return SX(0)


def test_a_jump_between_other_knots_takes_no_time() -> None:
    fall = driving(None).running[0]
    drop = Drop(fall.state, nu=0)
    problem = trajopt.ShootingProblem(driving(None).x0, [fall, drop, fall], trajopt.CostStack(fall.state))
    np.testing.assert_allclose(problem.times, [0.0, DT, DT, 2 * DT])
    solution = SolverFDDP(problem).solve()
    np.testing.assert_allclose(solution.times, problem.times)


def test_without_time_steps_there_are_none() -> None:
    free = trajopt.ActionModelLQR(A=np.eye(1), B=np.eye(1), Q=np.eye(1), R=np.eye(1))
    problem = trajopt.ShootingProblem([1.0], [free] * 2, free)
    assert problem.times is None
    assert problem.reference_times is None
