"""Results of a batch, filled row by row in any order."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.solution import Solution, SolutionBatch, SolverStatus
from trajopt.solution.batch import ERROR
from trajopt.solution.history import Histories
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.shooting import ShootingProblem
    from trajopt.solvers.batch.rows import BatchRows


class BatchResults:
    """Arrays with a row for each solve; rows that are not filled are NaN, with the status `unfinished`.

    Args:
        problem: The problem.
        n: Number of rows [-].

    Attributes:
        done: Whether each row is filled (B,).
        unfinished: Status of rows that are not.
    """

    def __init__(self, problem: ShootingProblem, n: int) -> None:
        self._problem, self._n = problem, n
        T, nx, nu = problem.T, problem.state.nx, problem.nu
        self.xs, self.us = np.full((n, T + 1, nx), np.nan), np.full((n, T, nu), np.nan)
        self.cost, self.seconds = np.full(n, np.nan), np.zeros(n)
        self.iterations, self.done = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=bool)
        self.failed_knot = np.full(n, -1, dtype=np.int64)
        self.status, self.error = np.full(n, "", dtype="U32"), np.full(n, "", dtype=object)
        self.histories: list[Any] = [()] * n
        self.records = Histories()  # those of lanes, which come before the ones of `histories`
        self._lock = threading.Lock()  # rows are filled by several threads
        self._more: dict[str, Reals] = {}  # gains and multipliers, made when the first row has them
        self.unfinished = SolverStatus.INTERRUPTED

    def take(self, i: int, solution: Solution) -> None:
        """Fills row i from a solution."""
        self.xs[i], self.us[i], self.cost[i] = solution.xs, solution.us, solution.cost
        self.status[i], self.iterations[i] = solution.status.name, solution.iterations
        self.seconds[i], self.done[i] = solution.seconds, True
        self.histories[i] = solution.history
        self.failed_knot[i] = -1 if solution.failed_knot is None else solution.failed_knot
        self.more(i, {"K": solution.K, "k": solution.k})
        chosen = {name: solution.parameters[name] for name in solution.unknowns}
        for prefix, named in (("y:", solution.multipliers), ("f:", solution.unknowns), ("c:", chosen)):
            self.more(i, {prefix + name: array for name, array in named.items()})

    def more(self, rows: Any, arrays: Mapping[str, Reals | None]) -> None:
        """Sets gains and multipliers of row i, or of rows (m,) with arrays (m, ...)."""
        for name, array in arrays.items():
            if array is None:
                continue
            with self._lock:
                if name not in self._more:
                    shape = array.shape if np.ndim(rows) == 0 else array.shape[1:]
                    self._more[name] = np.full((self._n, *shape), np.nan)
            self._more[name][rows] = array

    def fail(self, i: int, error: Exception) -> None:
        """Notes the error that ended row i."""
        self.status[i], self.error[i], self.done[i] = ERROR, f"{type(error).__name__}: {error}", True

    def batch(self, rows: BatchRows, solver: str, base: Mapping[str, Reals]) -> SolutionBatch:
        """Returns the results, with the inputs that belong to them."""
        self.status[~self.done] = self.unfinished.name
        return SolutionBatch(
            xs=self.xs,
            us=self.us,
            cost=self.cost,
            status=self.status,
            iterations=self.iterations,
            seconds=self.seconds,
            error=self.error.astype(str),
            x0=rows.x0,
            failed_knot=self.failed_knot,
            solver=solver,
            parameters=rows.parameters,
            K=self._more.get("K"),
            k=self._more.get("k"),
            multipliers=self._named("y:"),
            unknowns=self._named("f:"),
            chosen=self._named("c:"),
            histories=self.records.then(self.histories),
            base=base,
            problem=self._problem,
        )

    def _named(self, prefix: str) -> dict[str, Reals]:
        return {name[2:]: array for name, array in self._more.items() if name.startswith(prefix)}
