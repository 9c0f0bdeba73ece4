"""Verdicts on problems without a solution, and on neighbours that have one."""

from __future__ import annotations

import pytest

from tests.support.infeasible_problems import KINDS
from trajopt.analysis.contradictions import EXCLUDE
from trajopt.solution import Solution, SolverStatus
from trajopt.solvers import SolverSQP

INFEASIBLE = [(name, value) for name, kind in KINDS.items() for value in kind.infeasible]
FEASIBLE = [(name, value) for name, kind in KINDS.items() for value in kind.feasible]
HARD = [(name, value) for name, kind in KINDS.items() for value in kind.hard]


def solved(name: str, value: float) -> Solution:
    problem, guess = KINDS[name].build(value)
    return SolverSQP(problem).solve(*guess)


@pytest.mark.parametrize(("name", "value"), INFEASIBLE)
def test_problems_without_a_solution(name: str, value: float) -> None:
    kind, solution = KINDS[name], solved(name, value)
    assert solution.status is SolverStatus.INFEASIBLE
    assert solution.iterations <= kind.iterations
    text = solution.explain()
    assert any(row in text for row in kind.rows)
    (*_, advice) = proofs = [line for line in text.splitlines() if line.startswith("->") and EXCLUDE in line] or [""]
    assert bool(advice) == (value in kind.proved) == bool(solution.description.contradictions)
    if advice:
        assert len(proofs) == 1
        assert all(row in advice for row in kind.rows)


@pytest.mark.parametrize(("name", "value"), FEASIBLE)
def test_neighbours_with_a_solution(name: str, value: float) -> None:
    assert solved(name, value).converged


@pytest.mark.parametrize(("name", "value"), HARD)
def test_attempts_that_end_differently_are_no_verdict(name: str, value: float) -> None:
    solution = solved(name, value)
    assert solution.status in (SolverStatus.MAX_ITERATIONS, SolverStatus.STALLED, SolverStatus.CONVERGED)
    assert solution.converged == (max(v.max() for v in solution.violations().values()) < 1e-6)
    assert solution.description.contradictions == ()
