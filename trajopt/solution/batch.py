"""Solutions of one problem for many values, in arrays with a row for each solve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.checks import check_instance, check_text, is_integer
from trajopt.errors import InvalidArgumentError, UnsupportedOperationError, shown
from trajopt.objects.attributes import ExplainsAttributes
from trajopt.objects.lazy import above
from trajopt.shooting import ShootingProblem
from trajopt.solution import batch_file
from trajopt.solution.components import components, labelled, units_of
from trajopt.solution.history import Histories
from trajopt.solution.reasons import first_reason
from trajopt.solution.record import SolverStatus
from trajopt.solution.solution import Solution
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trajopt.solution.library import SolutionLibrary

ERROR = "ERROR"
"""Status of a row whose solve raised an error."""
DEAR = 100.0
"""Multiple of the median cost above which a converged row may be a poor local optimum [-]."""
PEAK = 0.02
"""Part of its cost by which a converged row exceeds both rows beside it if it may be a poor local optimum [-]."""
END = 2.0
"""Ratio of the cost of the first or last converged row to what those beside it suggest, likewise [-]."""
_NAMED = ("parameters", "multipliers", "unknowns", "chosen")
_PER_ROW = ("xs", "us", "cost", "status", "iterations", "seconds", "error", "x0", "failed_knot", "K", "k")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SolutionBatch(ExplainsAttributes):
    """Solutions of one problem for many values, from `solver.solve_batch`.

    `solutions[17]` is a Solution; `solutions[:100]` and `solutions[solutions.cost < 1.0]` select rows and return a
    SolutionBatch. Numbers of a row without a trajectory are NaN.

    Attributes:
        xs: States (B, T + 1, nx).
        us: Controls (B, T, nu).
        cost: Total costs (B,) [cost].
        status: Name of the solver's status of each row (B,), such as "CONVERGED", equal to SolverStatus.CONVERGED;
            "ERROR" if the solve raised one. They are texts; `solutions[i].status` is the SolverStatus of row i.
        iterations: Number of iterations of each row (B,) [-].
        seconds: Wall time of each solve (B,) [s]; of rows that are solved side by side, its part of their time.
        error: Message of the error that ended each solve (B,); empty without an error.
        x0: Initial states (B, nx).
        failed_knot: Knot at which the backward pass of each row finally failed (B,); -1 if it did not [-].
        parameters: Values that were set for each row, (B, ...) by name.
        K: Feedback gains of u = us - K (x ⊖ xs), shape (B, T, nu, ndx); None if the solver has none.
        k: Feed-forward part of the last direction (B, T, nu); None if the solver has none.
        multipliers: Lagrange multipliers by kind, as in `Solution`, with the row in front.
        unknowns: Values of the parameters that the solver chose, (B, ...) by name.
        chosen: The same at each knot that has the parameter, (B, n, ...) by name.
        histories: Records of the iterations.
        solver: Name of the solver.
        base: Values of all parameters of the problem, before those of a row were set.
        problem: The problem; None after `load` without a problem.
        described: Names and units of the trajectories from a file.
        varied: Numbers that differ between rows (B,), by names such as "x0[1]" and "goal.reference[2]".
    """

    xs: Reals
    us: Reals
    cost: Reals
    status: npt.NDArray[np.str_]
    iterations: npt.NDArray[np.int64]
    seconds: Reals
    error: npt.NDArray[np.str_]
    x0: Reals
    failed_knot: npt.NDArray[np.int64]
    solver: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    K: Reals | None = None
    k: Reals | None = None
    multipliers: Mapping[str, Reals] = field(default_factory=dict)
    unknowns: Mapping[str, Reals] = field(default_factory=dict)
    chosen: Mapping[str, Reals] = field(default_factory=dict)
    histories: Histories = field(default_factory=Histories)
    base: Mapping[str, Reals] = field(default_factory=dict)
    problem: ShootingProblem | None = None
    described: Mapping[str, Any] = field(default_factory=dict)

    @property
    def converged(self) -> npt.NDArray[np.bool_]:
        """Whether the solver met its stopping criterion in each row (B,)."""
        return self.status == SolverStatus.CONVERGED.name

    @property
    def _begun(self) -> npt.NDArray[np.bool_]:
        """Rows whose solve was begun (B,); one that begins at a solution has no iterations."""
        return (self.iterations > 0) | ~np.isnan(self.cost)

    @property
    def varied(self) -> dict[str, Any]:
        """Numbers that differ between rows (B,), by names such as "x0[1]" and "goal.reference[2]"."""
        return components({"x0": self.x0, **self.parameters}, varied=True)

    def label(self, component: str) -> str:
        """Returns the text of a component of `varied` in pictures, such as "x0[1], theta [rad]" or "mass [kg]"."""
        check_text("component", component)
        if self.problem is None:
            return component
        return labelled(component, self.problem.state.coordinate_names, units_of(self.problem))

    def table(self) -> dict[str, Any]:
        """Columns (B,) of numbers and outcomes, one row a solve; `pandas.DataFrame(solutions.table())` accepts it.

        Of values with more than 16 numbers it has only those that differ between rows.
        """
        outcomes = ("status", "converged", "cost", "iterations", "seconds", "error")
        values = components({"x0": self.x0, **self.parameters}, varied=False)
        return {**values, **{name: getattr(self, name).copy() for name in outcomes}}

    def __len__(self) -> int:
        return len(self.cost)

    def __iter__(self) -> Iterator[Solution]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, rows: Any) -> Any:
        """Returns one row by its index as a Solution, or rows by a slice, mask (B,) or indices (m,) as a SolutionBatch.

        Raises:
            InvalidArgumentError: There is no such row.
            UnsupportedOperationError: The solve of this row raised an error, or was never begun.
        """
        if is_integer(rows):
            if not -len(self) <= rows < len(self):
                raise InvalidArgumentError(f"row: expected one of {len(self)} rows, 0 to {len(self) - 1}, got {rows}")
            return self._row(int(rows) % len(self))
        chosen = np.asarray(np.arange(len(self))[rows] if isinstance(rows, slice) else rows)
        chosen = chosen.astype(int) if chosen.size == 0 else chosen
        fits = chosen.ndim == 1 and chosen.dtype.kind in "bui"
        if fits and chosen.dtype.kind == "b":
            fits, chosen = len(chosen) == len(self), np.flatnonzero(chosen)
        elif fits and chosen.size:
            fits = bool(-len(self) <= chosen.min() and chosen.max() < len(self))
        if not fits:
            raise InvalidArgumentError(
                f"rows: expected an integer, a slice, a mask of {len(self)} rows or a list of integers from 0 to "
                f"{len(self) - 1}, got {shown(rows)}"
            )
        arrays = {name: getattr(self, name) for name in _PER_ROW}
        changed: dict[str, Any] = {name: None if array is None else array[chosen] for name, array in arrays.items()}
        for name in _NAMED:
            changed[name] = {key: values[chosen] for key, values in getattr(self, name).items()}
        return replace(self, histories=self.histories.take(chosen), **changed)

    def _row(self, i: int) -> Solution:
        if self.status[i] == ERROR:
            raise UnsupportedOperationError(f"row {i} has no solution, its solve failed with: {self.error[i]}")
        if not self._begun[i]:
            raise UnsupportedOperationError(f"row {i} has no solution, its solve was not begun: {self.status[i]}")
        return Solution(
            xs=self.xs[i].copy(),
            us=self.us[i].copy(),
            cost=float(self.cost[i]),
            status=SolverStatus[self.status[i]],
            iterations=int(self.iterations[i]),
            history=self.histories[i],
            solver=self.solver,
            seconds=float(self.seconds[i]),
            x0=self.x0[i].copy(),
            failed_knot=int(self.failed_knot[i]) if self.failed_knot[i] >= 0 else None,
            K=None if self.K is None else self.K[i].copy(),
            k=None if self.k is None else self.k[i].copy(),
            multipliers={name: values[i].copy() for name, values in self.multipliers.items()},
            unknowns={name: values[i].copy() for name, values in self.unknowns.items()},
            problem=self.problem,
            parameters=self._parameters_of(i),
            described=self.described,
        )

    def _parameters_of(self, i: int) -> Mapping[str, Reals]:
        """Values of all parameters of a row, one for each knot that has the parameter."""
        chosen = {name: values[i] for name, values in self.chosen.items()}
        if self.problem is None:
            return {**self.base, **{name: values[i] for name, values in self.parameters.items()}, **chosen}
        table = self.problem.table
        before = table.values.copy()
        try:
            table.load(self.base)
            for name, values in self.parameters.items():
                parameter, _, knots = name.partition("@")
                table.set(parameter, values[i], knots or None)
            table.load(chosen)
            return dict(table.snapshot())
        finally:
            table.values[:] = before

    def best(self) -> Solution:
        """Returns the solution with the lowest cost among those that converged.

        Raises:
            InvalidArgumentError: No row converged.
        """
        good = np.flatnonzero(self.converged)
        if not good.size:
            raise InvalidArgumentError(f"solutions: none of {len(self)} rows converged{self._because()}")
        return self._row(int(good[np.argmin(self.cost[good])]))

    def _because(self) -> str:
        """Ending of an error about rows that did not converge, with the reason of the first one."""
        why = first_reason(self.status, self.error)
        return f"; {why}" if why else ""

    def library(self) -> SolutionLibrary:
        """Returns the converged rows as a library of warm starts, found by x0 and parameters.

        A poor local optimum is a poor guess, too; leave it out: `solutions[solutions.cost < 5.0].library()`.

        Raises:
            InvalidArgumentError: No row converged.
        """
        found: SolutionLibrary = above("solution.library.SolutionLibrary")(self)
        return found

    def report(self) -> dict[str, str]:
        """Summarises the batch in text by keyword."""
        n, good = len(self), int(np.count_nonzero(self.converged))
        words = {"converged": f"{good} of {n}" if n else "no rows"}
        names, counts = np.unique(self.status[~self.converged], return_counts=True)
        if n > good:
            words["others"] = ", ".join(f"{count} {name}" for name, count in zip(names, counts))
            if {"INFEASIBLE", "STALLED", "MAX_ITERATIONS"} & set(names.tolist()):
                words["others"] += "; solve_batch(..., starts=6) tries other guesses"
            words["reason"] = first_reason(self.status, self.error)
        if good:
            least, middle, most = np.quantile(self.cost[self.converged], (0.0, 0.5, 1.0))
            words["cost"] = f"{least:.6g} least, {middle:.6g} median, {most:.6g} most, of converged rows"
            words |= self._dear(float(middle)) | self._peak() | self._ends()
        begun = self.iterations[self._begun]
        if begun.size:
            middle, most = np.quantile(begun, (0.5, 1.0))
            words["iterations"] = f"{middle:.0f} median, {most:.0f} most"
            words["time"] = f"{np.nansum(self.seconds):.3g} s in all"
        return words

    def _dear(self, median: float) -> dict[str, str]:
        """Text about converged rows that cost much more than the median, which may be poor local optima."""
        dear = np.flatnonzero(self.converged & (self.cost > DEAR * median)) if median > 0.0 else np.array([], dtype=int)
        if not dear.size:
            return {}
        first, rows = int(dear[np.argmax(self.cost[dear])]), f"row{'s' * (dear.size > 1)}"
        cure = f"problem.x0 = solutions.x0[{first}] and solver.solve(starts=8) try other guesses of row {first}"
        return {"dear": f"{dear.size} converged {rows} above {DEAR:g} times the median, maybe poor optima; {cure}"}

    def _peak(self) -> dict[str, str]:
        """Text about the converged row that most exceeds both rows beside it, in the order of a single varying number.

        The cost of one family of local optima changes smoothly with a parameter.
        """
        varied = self.varied
        if len(varied) != 1:
            return {}
        ((name, values),) = varied.items()
        order = np.argsort(values, kind="stable")
        costs = np.where(self.converged, self.cost, np.nan)[order]
        excess = costs[1:-1] - np.maximum(costs[:-2], costs[2:])
        parts = np.nan_to_num(excess / np.maximum(np.abs(costs[1:-1]), 1e-300))
        if not parts.max(initial=0.0) > PEAK:
            return {}
        before, row, after = order[int(parts.argmax()) + np.arange(3)]
        cure = "solver.solve(starts=8) with its values tries other guesses"
        more = f"costs {100 * parts.max():.2g} % more than rows {before} and {after} on both sides of its {name}"
        return {"peak": f"row {row} {more}, maybe a poor optimum; {cure}"}

    def _ends(self) -> dict[str, str]:
        """Text about a first or last row, in the same order, that costs `END` times what the three beside it suggest.

        These are continued by a parabola through their costs or through the logarithms of these.
        """
        varied = self.varied
        if len(varied) != 1 or len(self) < 4:
            return {}
        ((name, values),) = varied.items()
        order = np.argsort(values, kind="stable")
        parts = {}
        for end, *beside in (order[:4], order[:-5:-1]):
            costs, at = self.cost[beside], values[beside] - values[end]
            if self.converged[[end, *beside]].all() and np.unique(at).size == 3 and (costs > 0.0).all():
                suggested = max(costs[0], _continued(at, costs), _continued(at, np.log(costs), logarithms=True))
                parts[int(end), int(beside[0])] = float(self.cost[end] / suggested)
        row, next_row = max(parts, key=lambda rows: parts[rows], default=(0, 0))
        if not parts.get((row, next_row), 0.0) > END:
            return {}
        more = f"costs {parts[row, next_row]:.2g} times what the rows beside it suggest, at an end of {name}"
        cure = f"solver.solve(solutions[{next_row}]) or solver.solve(starts=8) with its values tries other guesses"
        return {"end": f"row {row} {more}, maybe a poor optimum; {cure}"}

    def __repr__(self) -> str:
        lines = (f"  {key:<10}  {words}" for key, words in self.report().items())
        return "\n".join([f"SolutionBatch({len(self)} solves by {self.solver})", *lines])

    def plot(self, path: str | Path | None = None, *, x: str | None = None, y: str | None = None) -> Figure:
        """Draws costs over two numbers that vary, and a fan of motions; see `trajopt.plotting.plot_batch`.

        Args:
            path: File to write (.png, .pdf or .svg).
            x: Number on the horizontal axis, one of `varied`, such as "x0[1]"; by default the first.
            y: Number on the vertical axis; by default the next one.
        """
        return above("plotting.plot_batch")(self, path, x=x, y=y)

    def save(self, path: str | Path) -> Path:
        """Writes all but the problem's functions to a .npz file and returns its path; `load` reads it.

        Raises:
            InvalidArgumentError: The folder does not exist or cannot be written, or the suffix is not .npz.
        """
        return batch_file.write(path, {f.name: getattr(self, f.name) for f in fields(self)})

    @classmethod
    def load(cls, path: str | Path, problem: ShootingProblem | None = None) -> SolutionBatch:
        """Reads a file that `save` has written.

        Args:
            path: The file.
            problem: The problem that was solved, without which rows have no cost terms, forces and checks.

        Raises:
            InvalidArgumentError: The file cannot be read, or its trajectories do not fit the problem.
        """
        found = batch_file.read(path)
        if problem is not None:
            check_instance("problem", problem, ShootingProblem, "the one that was solved")
            got = (found["xs"].shape[1] - 1, found["xs"].shape[2], found["us"].shape[2])
            expected = (problem.T, problem.state.nx, problem.nu)
            if got != expected:
                raise InvalidArgumentError(
                    f"problem: expected the one that was solved, with (T, nx, nu) = {got}, got {expected}"
                )
        return cls(**found, problem=problem)


def _continued(at: Reals, values: Reals, *, logarithms: bool = False) -> float:
    """Value at 0 of the parabola through three values at other places (3,), all different; e^ it of logarithms."""
    others = at[[[1, 2], [0, 2], [0, 1]]]
    with np.errstate(over="ignore"):
        value = values @ (others / (others - at[:, None])).prod(axis=1)
        return float(np.exp(value) if logarithms else value)
