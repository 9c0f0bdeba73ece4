"""Outcomes of a sweep: a table in memory, and trajectories on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.checks import check_known, check_number, check_path, check_text, is_integer
from trajopt.errors import InvalidArgumentError, shown
from trajopt.files import write_columns
from trajopt.objects.attributes import ExplainsAttributes
from trajopt.objects.lazy import above
from trajopt.objects.read import Read
from trajopt.solution import Solution
from trajopt.solution.batch import SolutionBatch
from trajopt.solution.components import components, labelled
from trajopt.solution.reasons import first_reason
from trajopt.sweeps.columns import OUTCOMES, Columns, read_columns
from trajopt.sweeps.failures import Failures
from trajopt.sweeps.outcome import Outcome
from trajopt.sweeps.store import begun_rows, chunk_files, read_facts, solve_again
from trajopt.sweeps.tables import write_parquet
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trajopt.solution.library import SolutionLibrary


_GUESSES = ("xs", "us", "x0", "seed", "spread")  # values of a row that are no run-time parameters


class Sweep(ExplainsAttributes):
    """Outcomes of a sweep; `trajopt.sweep` returns it, and `Sweep.read` opens a store.

    The numbers of all rows are in memory; trajectories are read from disk on demand. `sweep[i]` is one row, an
    `Outcome`. `sweep[:100]`, `sweep[sweep.cost < 1.0]` and `sweep.where(...)` select rows and return a Sweep.

    Args:
        folder: Folder of the store.
        columns: Columns of its rows.
        damaged: Files of chunks that could not be read.
        left: Number of rows of an interrupted sweep that are still to solve; None if it is unknown.

    Attributes:
        parameters: Values of each parameter, (n, ...), by name.
        index: Number of each row in the whole sweep (n,) [-].
        status: Name of the solver's status in each row (n,), such as "CONVERGED".
        converged: Whether the solver met its stopping criterion in each row (n,).
        cost: Total cost of each row (n,) [cost]; NaN if an error ended the solve.
        iterations: Iterations of the solver in each row (n,) [-].
        seconds: Wall time of each solve (n,) [s].
        error: Message of the error that ended each solve (n,); empty without an error.
    """

    parameters = Read[Mapping[str, Any]](lambda sweep: sweep._columns.parameters)
    index = Read[Any](lambda sweep: sweep._columns.outcomes["index"])
    status = Read[Any](lambda sweep: sweep._columns.outcomes["status"])
    converged = Read[Any](lambda sweep: sweep._columns.outcomes["converged"].astype(bool))
    cost = Read[Reals](lambda sweep: sweep._columns.outcomes["cost"])
    iterations = Read[Any](lambda sweep: sweep._columns.outcomes["iterations"])
    seconds = Read[Reals](lambda sweep: sweep._columns.outcomes["seconds"])
    error = Read[Any](lambda sweep: sweep._columns.outcomes["error"])

    def __init__(self, folder: Path, columns: Columns, damaged: tuple[Path, ...] = (), left: int | None = 0) -> None:
        self._columns = columns
        self.folder, self.damaged, self.left = folder, damaged, left

    @classmethod
    def read(cls, folder: str | Path) -> Sweep:
        """Opens the store of a sweep; the store of an interrupted sweep has the finished rows, if there are any.

        Raises:
            InvalidArgumentError: The folder is not a store, or all its chunks are damaged.
        """
        folder = check_path("folder", folder)
        files = chunk_files(folder)
        if not files and begun_rows(folder) == 0:
            raise InvalidArgumentError(
                f"folder: expected the store of a sweep, got {shown(str(folder))} without chunks/*.npz; "
                "trajopt.sweep(..., store=folder) writes one"
            )
        columns, damaged = read_columns(files)
        rows, solved = begun_rows(folder), columns.outcomes["index"]
        left = None if rows is None else rows - int(np.count_nonzero(np.unique(solved) < rows))
        return cls(folder, columns, damaged, left)

    @property
    def varied(self) -> dict[str, Any]:
        """Components of parameters that differ between rows (n,), by names such as "goal.reference[2]"."""
        return components(self.parameters, varied=True)

    def label(self, component: str) -> str:
        """Returns the text of a component of `varied` in pictures, such as "x0[1], theta [rad]" or "mass [kg]"."""
        check_text("component", component)
        try:
            facts = read_facts(self.folder)
            return labelled(component, facts["coordinates"], facts["units"])
        except InvalidArgumentError:  # the store has been deleted since
            return component

    @property
    def table(self) -> dict[str, Any]:
        """All columns (n,): index, components of parameters, outcomes; `pandas.DataFrame(sweep.table)` accepts it.

        Of values with more than 16 numbers, such as guesses, it has only the components that differ between rows.
        """
        outcomes = {name: self._columns.outcomes[name] for name in OUTCOMES}
        return {"index": outcomes.pop("index"), **components(self.parameters, varied=False), **outcomes}

    def __len__(self) -> int:
        return len(self.index)

    def __iter__(self) -> Iterator[Outcome]:
        return map(self._row, range(len(self)))

    def __getitem__(self, rows: Any) -> Any:
        """Returns one row by its index as an Outcome, or rows by a slice, mask (n,) or indices (m,) as a Sweep."""
        if is_integer(rows):
            if not -len(self) <= rows < len(self):
                raise InvalidArgumentError(f"row: expected one of {len(self)} rows, 0 to {len(self) - 1}, got {rows}")
            return self._row(int(rows) % len(self))
        if not isinstance(rows, slice):
            chosen = np.asarray(rows)
            rows = chosen.astype(int) if chosen.size == 0 else chosen
            if rows.ndim != 1 or rows.dtype.kind not in "bui" or (rows.dtype.kind == "b" and len(rows) != len(self)):
                raise InvalidArgumentError(
                    f"rows: expected an integer, a slice, a mask of {len(self)} rows or a list of integers, "
                    f"got {shown(chosen)}; where(name, least, most) selects rows by a parameter"
                )
            if rows.dtype.kind != "b" and rows.size and not (-len(self) <= rows.min() and rows.max() < len(self)):
                raise InvalidArgumentError(f"rows: expected integers from 0 to {len(self) - 1}, got {shown(chosen)}")
        return Sweep(self.folder, self._columns.take(rows), self.damaged, self.left)

    def where(self, name: str, least: float = -np.inf, most: float = np.inf) -> Sweep:
        """Returns a Sweep of the rows whose value in a column of `table` is at least `least` and at most `most`.

        Args:
            name: Name of a column of numbers, such as "goal.reference[2]" or "cost".
            least: Lower bound [unit of the column].
            most: Upper bound [unit of the column].

        Raises:
            UnknownNameError: There is no such column of numbers; the message lists them.
        """
        numbers = {key: column for key, column in self.table.items() if column.dtype.kind in "biuf"}
        column = numbers[check_known("column", name, numbers)]
        least, most = check_number("least", least), check_number("most", most)
        rows: Sweep = self[(column >= least) & (column <= most)]
        return rows

    def best(self) -> Outcome:
        """Returns the row with the lowest cost among those that converged.

        Raises:
            InvalidArgumentError: No row converged.
        """
        good = np.flatnonzero(self.converged)
        if not good.size:
            raise self._none()
        return self._row(int(good[np.argmin(self.cost[good])]))

    def _none(self) -> InvalidArgumentError:
        """Error of a sweep without converged rows, with the reason of the first one."""
        why = first_reason(self.status, self.error, self.index)
        words = f"; {why}; sweep.failures() shows all reasons" if why else ""
        return InvalidArgumentError(f"sweep: none of {len(self)} rows converged{words}")

    def failures(self) -> Failures:
        """Returns the rows that did not converge, grouped by reason; `failures()[reason].explain()` explains one."""
        return Failures(self)

    def trajectories(self) -> Iterator[tuple[Any, Reals, Reals]]:
        """Yields for each chunk the rows (m,), states (m, T + 1, nx) and controls (m, T, nu), for example for learning.

        Rows are indices into the columns of this sweep: `sweep.cost[rows]`. A row that ended with an error is NaN.
        """
        return self._columns.trajectories()

    def library(self) -> SolutionLibrary:
        """Returns the converged rows as a library of warm starts, found by x0 and run-time parameters.

        `solver.solve(sweep.library())` begins from the nearest row. Guesses and seeds of the rows do not count.

        Raises:
            InvalidArgumentError: No row converged.
            UnsupportedOperationError: The sweep stored no trajectories.
        """
        rows = np.flatnonzero(self.converged)
        if not rows.size:
            raise self._none()
        good = self._columns.take(rows)
        outcomes = good.outcomes
        xs, us = (np.empty((len(rows), *self._columns.trajectory(int(rows[0]), name).shape)) for name in ("xs", "us"))
        for places, *paths in good.trajectories():
            xs[places], us[places] = paths
        batch = SolutionBatch(
            xs=xs,
            us=us,
            cost=outcomes["cost"],
            status=outcomes["status"],
            iterations=outcomes["iterations"],
            seconds=outcomes["seconds"],
            error=outcomes["error"],
            x0=good.parameters.get("x0", xs[:, 0]),
            failed_knot=np.full(len(rows), -1),
            solver="a sweep",
            parameters={name: values for name, values in good.parameters.items() if name not in _GUESSES},
        )
        return batch.library()

    def to_csv(self, path: str | Path) -> Path:
        """Writes `table` to a .csv file, one line per row, and returns its path."""
        return write_columns(path, self.table)

    def to_parquet(self, path: str | Path) -> Path:
        """Writes `table` to a .parquet file and returns its path; needs pyarrow from the extra `sweep`."""
        return write_parquet(path, self.table)

    def plot(
        self, path: str | Path | None = None, *, kind: str = "summary", x: str | None = None, y: str | None = None
    ) -> Figure:
        """Draws the sweep and writes the figure to `path`; see `trajopt.plotting.plot_sweep`.

        Args:
            path: File to write (.png, .pdf or .svg).
            kind: "map" of success over two components, "costs" for a histogram, "parallel" coordinates, or "summary"
                for all of them.
            x: Component on the horizontal axis of the map, such as "goal.reference[0]"; by default the first that
                varies.
            y: Component on the vertical axis; by default the next one that varies.
        """
        return above("plotting.plot_sweep")(self, path, kind=kind, x=x, y=y)

    def report(self) -> dict[str, str]:
        """Summarises the sweep in text by keyword."""
        n, good = len(self), int(np.count_nonzero(self.converged))
        others = {reason: len(failure.rows) for reason, failure in self.failures().items()}
        words = {"converged": f"{good} of {n} ({_percent(good, n)})" if n else "no rows"}
        if self.left != 0:
            rows = "further rows" if self.left is None else "1 row" if self.left == 1 else f"{self.left} rows"
            words["interrupted"] = f"{rows} still to solve: repeat the call of trajopt.sweep with this store"
        if others:
            words["others"] = ", ".join(f"{count} {reason}" for reason, count in list(others.items())[:4])
        if good:
            words["cost"] = "{:.6g} least, {:.6g} median, {:.6g} at 90 %, {:.6g} most, of converged rows".format(
                *np.quantile(self.cost[self.converged], (0.0, 0.5, 0.9, 1.0))
            )
        solved = self.error == ""
        if np.any(solved):
            counts = np.quantile(self.iterations[solved], (0.5, 0.9, 1.0))
            words["iterations"] = "{:.0f} median, {:.0f} at 90 %, {:.0f} most".format(*counts)
            middle, late = 1e3 * np.quantile(self.seconds[solved], (0.5, 0.9))
            total = np.sum(self.seconds[solved])
            words["time"] = f"{middle:.3g} ms median, {late:.3g} ms at 90 %, {total:.3g} s of solving in all"
        if self.damaged:
            count = "1 chunk" if len(self.damaged) == 1 else f"{len(self.damaged)} chunks"
            words["damaged"] = f"{count}, left out: run the sweep again with this store"
        return words

    def __repr__(self) -> str:
        report = self.report()
        wide = max(10, *map(len, report))
        lines = (f"  {key:<{wide}}  {words}" for key, words in report.items())
        return "\n".join([f"Sweep({len(self)} rows, {self.folder})", *lines])

    def _repr_html_(self) -> str:
        from trajopt.notebook import table

        return table(f"Sweep of {len(self)} rows", self.report())

    def _row(self, row: int) -> Outcome:
        kinds: dict[str, Callable[[Any], Any]] = {
            **dict.fromkeys(("index", "iterations"), int),
            **dict.fromkeys(("cost", "seconds"), float),
            **dict.fromkeys(("status", "error"), str),
            "converged": bool,
        }
        return Outcome(
            parameters={name: values[row] for name, values in self.parameters.items()},
            **{name: kind(self._columns.outcomes[name][row]) for name, kind in kinds.items()},
            _trajectory=lambda name: self._columns.trajectory(row, name),
            _solve=self._solve_again,
        )

    def _solve_again(self, outcome: Outcome) -> Solution:
        return solve_again(self.folder, outcome.parameters)


def _percent(part: int, whole: int) -> str:
    """Share as text such as "98.7 %"; it is "100 %" only if all rows count."""
    share = 100.0 * part / whole
    text = f"{share:.1f}"
    return f"{'99.9' if text == '100.0' and part < whole else text.removesuffix('.0')} %"
