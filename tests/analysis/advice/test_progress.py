"""Progress is that of the attempt that returned the motion, and of a cost whose constraints hold."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from tests.support.constrained import arm, pendulum, weak_pendulum
from trajopt.analysis.advice.progress import going_on, last_records
from trajopt.solution import IterationRecord, Solution, SolverStatus


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


def test_gaps_count_while_there_is_no_motion() -> None:
    xs = arm().xs.copy()
    xs[20:, 0] += 0.5
    torn = dataclasses.replace(arm(), xs=xs)
    costs = np.full(12, arm().cost)
    (line,) = going_on(stopped(torn, costs, gap_norm=np.linspace(6.0, 0.5, 12)))
    assert line.startswith("gaps and violations still fell by 90 % in the last 10")
    assert going_on(stopped(arm(), costs, gap_norm=np.linspace(6.0, 0.5, 12))) == []  # closed by the last step
