"""Progress is that of the attempt that returned the motion, and of a cost whose constraints hold."""

from __future__ import annotations

import dataclasses
from typing import Any

import casadi
import numpy as np
import pytest
from casadi import SX

import trajopt
from tests.solvers.test_sqp import known
from tests.support.constrained import arm, pendulum, weak_pendulum
from trajopt.analysis import constraint_rows
from trajopt.analysis.advice.dead_ends import looser_first
from trajopt.analysis.advice.progress import going_on, last_records, stagnation
from trajopt.solution import IterationRecord, Solution, SolverStatus
from trajopt.solvers import SolverSQP, SQPOptions


def stopped(solution: Solution, costs: Any, **columns: Any) -> Solution:
    """A solution that ran out of iterations with these costs, and with other columns of its records."""
    history = tuple(
        IterationRecord(
            iteration=i + 1, cost=float(cost), seconds=0.0, **{name: values[i] for name, values in columns.items()}
        )
        for i, cost in enumerate(costs)
    )
    return dataclasses.replace(solution, history=history, status=SolverStatus.MAX_ITERATIONS)


def test_costs_of_later_attempts_are_not_those_of_the_motion() -> None:
    """Five iterations lead to the motion; ten more of other attempts end far from it."""
    cost = pendulum().cost
    later = np.linspace(9.0, 4.0, 10) * cost
    costs, attempts = np.r_[np.full(5, cost), later], [1] * 5 + [2] * 5 + [3] * 5
    solution = stopped(pendulum(), costs, attempt=attempts, constraint_violation=[1e-9] * 5 + [3.0] * 10)
    assert [record.iteration for record in last_records(solution)] == [1, 2, 3, 4, 5]
    (line,) = going_on(solution)
    assert line.startswith("the motion is that of iteration 5, and no later attempt from another guess found a better")
    solution = dataclasses.replace(solution, multipliers={})  # so that its gradient is not 0
    assert f"-> {line}" in solution.explain().splitlines()
    assert "the cost still fell" not in solution.explain()


def test_a_cost_that_falls_says_by_how_much() -> None:
    cost = pendulum().cost
    costs = cost * np.linspace(2.0, 1.0, 12)
    (line,) = going_on(stopped(pendulum(), costs, constraint_violation=[1e-9] * 12))
    assert line.startswith(f"the cost still fell by {costs[2] - cost:.2g} in the last 10 iterations: raise max_iter")
    crossed = stopped(pendulum(), costs, constraint_violation=[1.0] * 7 + [1e-9] * 5)
    assert f"fell by {costs[7] - cost:.2g} in" in going_on(crossed)[0]  # a cost at a violation is none of a motion
    assert going_on(stopped(pendulum(), np.full(12, cost))) == []


def test_violations_that_fall_are_told_instead_of_the_cost() -> None:
    solution = weak_pendulum()
    costs = np.append(np.linspace(3.0, 2.0, 11) * solution.cost, solution.cost)
    falling = stopped(solution, costs, constraint_violation=np.linspace(4.1, 3.0, 12))
    assert going_on(falling) == [
        "violations still fell by 23 % in the last 10 iterations: raise max_iterations, or start from a better guess"
    ]
    assert going_on(stopped(solution, costs, constraint_violation=np.full(12, 3.0))) == []


def test_attempts_that_all_end_at_violations_say_that_a_problem_may_be_infeasible() -> None:
    solution = weak_pendulum()
    costs, attempts = np.full(12, solution.cost), [1] * 4 + [2] * 4 + [3] * 4
    left = np.r_[[4.0, 2.0, 1.0, 1.0], [3.0, 0.6, 0.5, 0.5], [9.0] * 4]
    stuck = stopped(solution, costs, attempt=attempts, constraint_violation=left)
    words = "-> the problem may be infeasible: the violations stopped falling in 2 attempts, in none below 0.5; relax a"
    assert advice(stuck)[0] == f"{words} limit, or give the motion more time"
    torn = stopped(solution, costs, attempt=attempts, constraint_violation=0.0 * left, gap_norm=left)
    assert stagnation(torn) == stagnation(stuck)
    left[7] = 0.0
    assert stagnation(stopped(solution, costs, attempt=attempts, constraint_violation=left)) == ""
    assert stagnation(stopped(solution, costs, attempt=[1] * 4 + [2] * 8, constraint_violation=left)) == ""
    assert stagnation(dataclasses.replace(stuck, history=())) == ""


def test_an_attempt_that_others_followed_is_to_be_gone_on_with() -> None:
    """Its violations still fell when it stopped; iterations after it belong to other attempts."""
    solution = weak_pendulum()
    costs = np.append(np.linspace(3.0, 2.0, 10) * solution.cost, [solution.cost, *[9.0 * solution.cost] * 5])
    attempts, left = [1] * 11 + [2] * 5, np.r_[np.linspace(4.0, 3.0, 11), np.full(5, 9.0)]
    (line,) = going_on(stopped(solution, costs, attempt=attempts, constraint_violation=left))
    assert line == (
        "violations still fell by 23 % in the last 10 iterations up to 11, which led to this motion: "
        "solver.solve(solution) goes on from it"
    )


def advice(solution: Solution) -> list[str]:
    return [line for line in solution.explain().splitlines() if line.startswith("->")]


def test_going_on_and_wider_limits_come_before_what_is_to_be_relaxed() -> None:
    solution = weak_pendulum()
    costs = np.append(np.linspace(3.0, 2.0, 11) * solution.cost, solution.cost)
    falling = stopped(solution, costs, constraint_violation=np.linspace(4.1, 3.0, 12))
    starts = ("-> violations still fell by 23 %", "-> 'motor' is at its bounds", "-> constraints are still violated, ")
    assert [line for line in advice(falling) if line.startswith(starts)] == advice(falling)[:3]
    assert all(line.startswith(begin) for line, begin in zip(advice(falling), starts))
    stalled = dataclasses.replace(falling, status=SolverStatus.STALLED)
    assert advice(stalled)[0].startswith(starts[1])
    assert any("relax 'upright" in line or "relax 'motor" in line for line in advice(stalled)[1:])


def test_iterations_are_no_cure_for_a_start_beyond_a_bound() -> None:
    """Violations may fall from one iteration to the next, and limits may be met, but x0 stays where it is."""
    problem = arm().problem
    assert problem is not None
    x0 = problem.x0
    try:
        problem.x0 = np.array([0.5, 0.0, 0.0, 0.0])
        solution = SolverSQP(problem, SQPOptions(max_iterations=30)).solve()
        costs = np.append(np.linspace(3.0, 2.0, 11), solution.cost)
        falling = stopped(solution, costs, constraint_violation=np.linspace(4.1, 3.0, 12), step_length=[0.01] * 12)
        assert going_on(falling)
        assert looser_first(falling, constraint_rows(falling))
        assert advice(falling)[0].startswith("-> move x0, which is 0.0776 m above 0.8 of 'wall[x]'")
        for words in ("raise max_iterations", "goes on from it", "begin with wider ones", "starts=8"):
            assert words not in falling.explain()
    finally:
        problem.x0 = x0


def test_gaps_count_while_there_is_no_motion() -> None:
    xs = arm().xs.copy()
    xs[20:, 0] += 0.5
    torn = dataclasses.replace(arm(), xs=xs)
    costs = np.full(12, arm().cost)
    (line,) = going_on(stopped(torn, costs, gap_norm=np.linspace(6.0, 0.5, 12)))
    assert line.startswith("gaps and violations still fell by 90 % in the last 10")
    assert going_on(stopped(arm(), costs, gap_norm=np.linspace(6.0, 0.5, 12))) == []  # closed by the last step


@pytest.mark.parametrize("name", ["pendulum", "cart_pole", "obstacles"])
def test_rows_whose_violation_still_falls_need_not_exclude_each_other(name: str) -> None:
    case = known(name)
    cut = SolverSQP(case.problem, SQPOptions(max_iterations=16)).solve(*case.guess)
    advice = [line for line in cut.explain().splitlines() if line.startswith("->")]
    assert any("still fell" in line for line in advice)
    assert not any("may exclude each other" in line or "relax " in line for line in advice)


def test_violations_that_have_stopped_falling_are_not_said_to_fall() -> None:
    """A unicycle with 6 s for 6 m at 0.8 m/s ends 1.2 m before its goal, and goes no further."""
    state = trajopt.StateVector(3)
    speeds = trajopt.ResidualModelControl(state, np.zeros(2))
    motors = trajopt.ConstraintStack(state).add("motors", speeds, lower=[-0.8, -2.0], upper=[0.8, 2.0])
    goal = trajopt.ConstraintStack(state).add("goal", trajopt.ResidualModelState(state, [6.0, 0.0, 0.0]), equals=0.0)
    drive = Unicycle(state, 2, trajopt.CostStack(state).add("effort", speeds, weight=1e-2), constraints=motors)
    end = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=goal)
    knots = [trajopt.IntegratedActionModelRK4(drive, dt=0.1)] * 60
    text = SolverSQP(trajopt.ShootingProblem(np.zeros(3), knots, end)).solve().explain()
    assert "goes on from it" not in text
    assert "give the motion more time" in text


class Unicycle(trajopt.DifferentialActionModelSymbolic):
    """x = (position, heading), u = (speed, rate)."""

    def xdot(self, x: SX, u: SX) -> SX:
        return casadi.vertcat(u[0] * casadi.cos(x[2]), u[0] * casadi.sin(x[2]), u[1])
