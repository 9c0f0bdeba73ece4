"""Solves of one problem for many values: one after the other, or side by side in lanes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.callbacks.bar import progress_bar, time_left
from trajopt.checks import check_flag, check_positive
from trajopt.errors import pass_on_signal
from trajopt.solution import SolutionBatch, SolverStatus
from trajopt.solvers.batch.results import BatchResults
from trajopt.solvers.batch.rows import BatchRows

if TYPE_CHECKING:
    from trajopt.solvers.base import SolverAbstract


class Watch:
    """Wall time of a call, and its bar.

    Args:
        n: Number of rows [-].
        limit: Wall time after which no row is begun or continued [s]; None for no limit.
        show: Function (done, words) that updates the bar.
    """

    def __init__(self, n: int, limit: float | None, show: Any) -> None:
        self._n, self._limit, self._show, self._begun = n, limit, show, time.perf_counter()

    @property
    def over(self) -> bool:
        """Whether the time is used up."""
        return self._limit is not None and time.perf_counter() - self._begun > self._limit

    def tell(self, done: int) -> None:
        """Updates the bar: `done` rows have ended."""
        seconds = time.perf_counter() - self._begun
        left = f", {time_left(done, self._n, seconds)}" if done else ""
        self._show(done, f"{done} of {self._n} solves, {done / max(seconds, 1e-9):.3g} a second{left}")


def solve_rows(
    solver: SolverAbstract[Any],
    x0: Any,
    parameters: Any,
    xs: Any,
    us: Any,
    *,
    time_limit: float | None,
    progress: bool,
    lanes: bool = True,
    again: tuple[int, int] = (1, 0),
) -> SolutionBatch:
    """Solves a solver's problem for many values, see `SolverAbstract.solve_batch`; without `lanes` one by one.

    `again` is the number of guesses from which rows that do not converge are solved again, and the seed.
    """
    limit = None if time_limit is None else check_positive("time_limit", time_limit)
    wanted = check_flag("progress", progress)
    rows = BatchRows(solver.problem, x0, parameters, xs, us)
    results = BatchResults(solver.problem, rows.n)
    with rows.kept() as base, progress_bar("solving", rows.n, wanted=wanted) as show:
        try:
            watch = Watch(rows.n, limit, show)
            if lanes:
                solver.solve_in_lanes(rows, results, watch)
            one_by_one(solver, rows, results, watch)
            from_other_guesses(solver, rows, results, watch, *again)
        except KeyboardInterrupt:
            results.unfinished = SolverStatus.INTERRUPTED
    return results.batch(rows, type(solver).__name__, base)


def one_by_one(solver: SolverAbstract[Any], rows: BatchRows, results: BatchResults, watch: Watch) -> None:
    """Solves all rows that are not done, one after the other."""
    for i in range(rows.n):
        if watch.over:
            results.unfinished = SolverStatus.TIME_LIMIT
            return
        if results.done[i]:
            continue
        try:
            rows.set(i)
            solution = solver._solve(*rows.guess(i), False, None)
        except Exception as error:
            pass_on_signal(error)
            results.fail(i, error)
        else:
            results.take(i, solution)
            if solution.status is SolverStatus.INTERRUPTED:
                return
        watch.tell(i + 1)


def from_other_guesses(
    solver: SolverAbstract[Any], rows: BatchRows, results: BatchResults, watch: Watch, starts: int, seed: int
) -> None:
    """Solves rows that have not converged from several guesses, and takes the solutions that have."""
    from trajopt.solvers.batch.portfolio import solve_from

    ended = results.done & (results.error == "") & (results.status != SolverStatus.CONVERGED.name)
    for i in map(int, np.flatnonzero(ended)):
        if starts == 1 or watch.over or SolverStatus.INTERRUPTED.name in results.status:
            return
        rows.set(i)
        states, controls, _ = solver._guess(*rows.guess(i), False)
        solution = solve_from(solver, states, controls, starts, seed)
        if solution.converged:
            results.take(i, solution)
