"""Curved rows of one knot that exclude each other are named together; those that a state keeps are not."""

from __future__ import annotations

import re

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import trajopt
from tests.support.unsolved import solution_of
from trajopt.analysis.advice.one_knot import one_knot
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.solvers import SolverSQP

KNOTS = 6


class Point(trajopt.ActionModelDiscrete):
    """A point in the plane, x⁺ = x + 0.1 u with cost ½ |u|²."""

    def next_state(self, x: SX, u: SX) -> SX:
        return x + 0.1 * u

    def running_cost(self, x: SX, u: SX) -> SX:
        return 0.5 * ca.sumsqr(u)

    def terminal_cost(self, x: SX) -> SX:
        return 0.0 * x[0]


def circle(beyond: float, *, most: float = np.inf, knot: str = "end") -> ShootingProblem:
    """A point is to be on the unit circle and beyond the line x + y = `beyond`, with speeds of at most `most`."""
    state = trajopt.StateVector(2, names=["x", "y"], units=["m", "m"])
    rows, last = trajopt.ConstraintStack(state), trajopt.ConstraintStack(state)
    rows.add("motor", trajopt.ResidualModelControl(state), lower=-most, upper=most)
    where = last if knot == "end" else rows
    where.add("circle", trajopt.ResidualModelSymbolic(state, lambda x: ca.sumsqr(x), unit="m²"), equals=1.0)
    where.add("line", trajopt.ResidualModelSymbolic(state, lambda x: x[0] + x[1], unit="m"), lower=beyond)
    running, end = Point(state, 2, constraints=rows), Point(state, 2, constraints=last)
    return ShootingProblem([0.1, 0.0], [running] * KNOTS, end)


def test_rows_that_exclude_each_other_at_the_end_are_named() -> None:
    """The farthest point of the circle is at x + y = √2."""
    solution = SolverSQP(circle(2.0)).solve()
    assert not solution.converged
    assert one_knot(solution) == (
        f"no state was found at knot {KNOTS} that keeps them together, from 8 guesses: circle and line; move one of "
        "their bounds"
    )
    text = solution.explain()
    assert f"-> {one_knot(solution)}" in text.splitlines()
    assert "more time" not in text
    assert "soften it with a slack" in text


@pytest.mark.parametrize("beyond", [1.0, 1.4])
def test_rows_that_a_state_keeps_are_not_named(beyond: float) -> None:
    """The point cannot get there in time."""
    solution = SolverSQP(circle(beyond, most=0.5)).solve()
    assert not solution.converged
    assert solution.violations()["circle"].max() > 0.1
    assert one_knot(solution) == ""
    assert "no state was found" not in solution.explain()


def test_rows_between_start_and_end_are_searched_with_their_control_and_x0_stays() -> None:
    problem = circle(2.0, knot="running")
    xs = np.tile([0.8, 0.8], (KNOTS + 1, 1))
    text = one_knot(solution_of(problem, xs, np.zeros((KNOTS, 2))))
    assert re.match(r"no state was found at knot 1 .*: circle and line;", text)
    assert one_knot(solution_of(circle(1.0, knot="running"), xs, np.zeros((KNOTS, 2)))) == ""


def test_a_motion_that_keeps_its_constraints_has_no_such_rows() -> None:
    solution: Solution = SolverSQP(circle(1.2)).solve()
    assert solution.converged
    assert one_knot(solution) == ""
