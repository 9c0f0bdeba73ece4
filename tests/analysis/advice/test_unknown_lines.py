"""Lines on parameters that the solver chose, beside their bounds."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest

import trajopt
from tests.solvers.test_border import PHASES, windy
from tests.support.free_problems import Pendulum
from trajopt.analysis.advice.unknowns import bounds_of_failure, unknown_lines
from trajopt.solvers import SolverDDP, SolverFatrop, SolverIpopt, SolverSQP, SQPOptions


@pytest.mark.parametrize(
    ("bounds", "value", "words"),
    [
        ((0.01, 0.05), 0.03, "within its bounds"),
        ((1e-6, 1000.0), 0.03, "within its bounds"),
        ((0.01, 0.03), 0.0301, "beyond its upper bound"),
        ((0.02, 0.05), 0.0199, "beyond its lower bound"),
        ((0.01, 0.03), 0.03, "at its upper bound"),
        ((-1e-9, 1e-9), 1e-9, "at its upper bound"),
        ((0.03, 0.03), 0.03, "fixed by its bounds"),
    ],
)
def test_a_bound_is_named_as_it_is(bounds: tuple[float, float], value: float, words: str) -> None:
    state = trajopt.StateVector(2)
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state, np.zeros(1)), weight=1.0)
    knot = trajopt.IntegratedActionModelEuler(Pendulum(costs), dt=0.05)
    problem = trajopt.ShootingProblem(np.zeros(2), [knot] * 3, trajopt.CostStack(state))
    solution = SolverSQP(problem, SQPOptions(max_iterations=1)).solve()
    problem.free("length", *bounds, guess=bounds[0])
    solution = dataclasses.replace(solution, problem=problem, unknowns={"length": np.array(value)})
    (line,) = unknown_lines(solution)
    assert words in line
    assert len(bounds_of_failure(solution)) == (0 if words.startswith(("within", "fixed")) else 1)


def test_elements_of_several_units_have_none() -> None:
    """A state's angle is not in "rad, rad/s"."""
    state = trajopt.StateVector(2, names=["q", "v"], units=["rad", "rad/s"])
    upright = trajopt.ConstraintStack(state).add("upright", trajopt.ResidualModelState(state), equals=0.0)
    end = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=upright)
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), weight=1.0)
    knot = trajopt.IntegratedActionModelEuler(Pendulum(costs), dt=0.05)
    problem = trajopt.ShootingProblem([0.5, 0.0], [knot] * 20, end)
    problem.free("upright.reference", [0.4, 0.0], [1.0, 0.0], guess=[0.5, 0.0])
    angle, rate = unknown_lines(SolverSQP(problem).solve())
    assert re.search(r"reference\[0\]': 0\.\d+, ", angle)
    assert rate.startswith("  unknown 'upright.reference[1]': 0, fixed by its bounds")


SOLVERS = [SolverSQP, SolverDDP, SolverIpopt, SolverFatrop]


def solved(solver: Any, lower: float, upper: float, total: float | None) -> trajopt.Solution:
    problem = windy(-9.0, 9.0)
    problem.free("wind", lower, upper, guess=lower if lower == upper else None, knots=PHASES, total=total)
    solution = solver(problem).solve()
    assert solution.converged
    return solution


@pytest.mark.parametrize("solver", SOLVERS)
def test_prices_are_what_moved_bounds_and_totals_save(solver: Any) -> None:
    """With a total, a lower bound that moves by 1 % lets other elements grow."""
    first = solved(solver, -0.9, 0.9, -3.0)
    inside, bound, total = unknown_lines(first)
    assert inside.endswith("within its bounds")
    for line, words, moved in (
        (bound, "at its lower bound; to lower it by 1 %", solved(solver, -0.909, 0.909, -3.0)),
        (total, "'wind in all': -3 N, fixed by its total; to raise it by 1 %", solved(solver, -0.9, 0.9, -2.97)),
    ):
        assert words in line
        assert price(line) == pytest.approx(first.cost - moved.cost, rel=0.02)


@pytest.mark.parametrize("solver", SOLVERS)
def test_price_of_a_bound_of_zero_and_of_a_fixed_value(solver: Any) -> None:
    first = solved(solver, 0.0, 0.5, None)
    (line,) = (line for line in unknown_lines(first) if "lower bound" in line)
    assert "at its lower bound; to lower it by 0.005 N" in line
    assert price(line) == pytest.approx(first.cost - solved(solver, -0.005, 0.5, None).cost, rel=0.05)
    first, more = (solved(solver, value, value, None) for value in (1.5, 1.515))
    prices = [price(line) * (1.0 if "raise" in line else -1.0) for line in unknown_lines(first)]
    assert all("fixed by its bounds; to " in line for line in unknown_lines(first))
    assert sum(prices) == pytest.approx(first.cost - more.cost, rel=0.05)


def price(line: str) -> float:
    found = re.search(r"would save about (\S+)", line)
    assert found is not None, line
    return float(found[1])
