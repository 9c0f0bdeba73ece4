"""Solves on several threads: the backward pass reads knots while others still compute derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.shooting.test_problem import mixed_problem, random_trajectory
from tests.solvers.test_outcomes import scalar_lq
from tests.support.kernel_runner import assert_same_bits
from trajopt import problems
from trajopt.kernels import ParallelCalls, SideBySide, get_num_threads, parallel, set_num_threads
from trajopt.shooting import ShootingProblem
from trajopt.shooting.evaluator import Evaluator
from trajopt.solution import Solution
from trajopt.solvers import SolverAbstract, SolverOptions
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic
from trajopt.solvers.riccati.riccati import Riccati


@pytest.fixture(autouse=True)
def _any_work(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = get_num_threads()
    monkeypatch.setattr(parallel, "SMALL_WORK", 1)
    yield
    set_num_threads(before)


def indefinite() -> ShootingProblem:
    """The backward pass fails at an early knot, and succeeds with more regularisation."""
    good, bad = scalar_lq(), scalar_lq(R=-50.0)
    return ShootingProblem([1.0], [bad.running[0]] * 10 + [good.running[0]] * 20, good.terminal)


PROBLEMS: dict[str, Callable[[], ShootingProblem]] = {
    "second order": lambda: problems.load("double-pendulum").problem,
    "first order": lambda: problems.load("unicycle").problem,
    "impulses and black boxes": mixed_problem,
    "indefinite": indefinite,
}


def same(one: Solution, other: Solution) -> None:
    """The same bits, and the same iterations."""
    arrays = ("xs", "us", "K", "k", "Vx", "Vxx")
    assert_same_bits([getattr(one, name) for name in arrays], [getattr(other, name) for name in arrays])
    assert one.status is other.status
    records = [[replace(record, seconds=0.0) for record in solution.history] for solution in (one, other)]
    assert repr(records[0]) == repr(records[1])


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_number_of_threads_changes_no_bit(
    name: str,
    solver: type[SolverAbstract[Any]],
    options: type[SolverOptions],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From a guess with gaps, so that those enter the backward pass too."""
    problem, reads, turns = PROBLEMS[name](), [], []
    read_by, side_by_side = ParallelCalls.read_by, SideBySide.__call__

    def counted(self: ParallelCalls, *arguments: int) -> int:
        reads.append(arguments)
        return read_by(self, *arguments)

    def rolled_out(self: SideBySide) -> None:
        turns.append(self)
        side_by_side(self)

    monkeypatch.setattr(ParallelCalls, "read_by", counted)
    monkeypatch.setattr(SideBySide, "__call__", rolled_out)
    xs, us = random_trajectory(problem)
    us = [np.r_[u, np.zeros(problem.nu - len(u))] for u in us]
    solutions, together = {}, False
    for n in (1, 2, 5):
        set_num_threads(n)
        reads.clear()
        turns.clear()
        for _ in range(3):
            solutions[n] = solver(problem, options(max_iterations=12)).solve(xs, us)
            same(solutions[n], solutions[1])
        assert bool(reads) == (n > 1)
        assert n > 1 or not turns
        together |= bool(turns)
    assert solutions[1].iterations > 1
    assert together or name == "impulses and black boxes"  # whose knots are not one call


@pytest.mark.parametrize("n", [1, 3])
def test_factor_after_the_calls_that_fill_its_arrays(n: int) -> None:
    """As if one came after the other; what was in the arrays before does not count."""
    set_num_threads(n)
    problem = problems.load("double-pendulum", T=150).problem
    e = Evaluator(problem)
    riccati = Riccati(LinearQuadratic.of(e))
    trajectories = [random_trajectory(problem, seed) for seed in range(5)]
    for xs, us in trajectories:
        e.xs[:], e.us[:] = xs, us
        e.expand(problem.x0)
        outcome = riccati.factor(1e-3)
        expected = [array.copy() for array in (riccati.Vxx, riccati.Vx, riccati.Vf, riccati.K, riccati.k)]
        e.xs[:], e.us[:] = trajectories[0]
        e.expand(problem.x0)
        e.xs[:], e.us[:] = xs, us
        assert riccati.factor(1e-3, after=e.expansion(problem.x0)) == outcome
        assert_same_bits([riccati.Vxx, riccati.Vx, riccati.Vf, riccati.K, riccati.k], expected)
        assert riccati._table[-2:] == [0, 0]  # nobody is waited for any more, who might be gone
        riccati.Vxx[:] = np.nan
        assert riccati.factor(1e-3) == outcome
        assert_same_bits([riccati.Vxx], expected[:1])
