"""Solves of one problem for many values: one after the other, or side by side in lanes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.callbacks.bar import progress_bar, time_left
from trajopt.checks import check_flag, check_positive
from trajopt.errors import pass_on_signal
from trajopt.solution import Solution, SolutionBatch, SolverStatus
from trajopt.solvers.batch.results import BatchResults
from trajopt.solvers.batch.rows import BatchRows
from trajopt.types import Reals

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
    again: Callable[[Reals, Reals], Solution] | None = None,
) -> SolutionBatch:
    """Solves a solver's problem for many values, see `SolverAbstract.solve_batch`; without `lanes` one by one.

    `again` solves a row that has not converged another time, from its guess (T + 1, nx) and (T, nu).
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
            if again is not None:
                once_more(solver, rows, results, watch, again)
        except KeyboardInterrupt:
            results.unfinished = SolverStatus.INTERRUPTED
    return results.batch(rows, type(solver).__name__, base)


def one_by_one(solver: SolverAbstract[Any], rows: BatchRows, results: BatchResults, watch: Watch) -> None:
    """Solves all rows that are not done, one after the other."""
    left = np.flatnonzero(~results.done)
    rows.hold(left)
    for i in map(int, left):
        if watch.over:
            results.unfinished = SolverStatus.TIME_LIMIT
            return
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


def once_more(
    solver: SolverAbstract[Any],
    rows: BatchRows,
    results: BatchResults,
    watch: Watch,
    again: Callable[[Reals, Reals], Solution],
) -> None:
    """Solves rows that have not converged another time, and takes the solutions that have."""
    ended = results.done & (results.error == "") & (results.status != SolverStatus.CONVERGED.name)
    for i in map(int, np.flatnonzero(ended)):
        if watch.over or SolverStatus.INTERRUPTED.name in results.status:
            return
        rows.set(i)
        states, controls, _ = solver._guess(*rows.guess(i), False)
        solution = again(states, controls)
        if solution.converged:
            results.take(i, solution)
