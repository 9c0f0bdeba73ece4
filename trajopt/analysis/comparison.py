"""Comparison of solutions of alike problems: costs by term, use of limits, violations, times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trajopt import notebook
from trajopt.analysis.basics import check_solution
from trajopt.analysis.constraints import HELD
from trajopt.analysis.limits import largest_shares, limit_uses, nearest
from trajopt.analysis.penalties import penalised_lengths
from trajopt.checks import check_texts
from trajopt.errors import SHORT, InvalidArgumentError, TrajoptError, shown_numbers
from trajopt.objects.lazy import above
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trajopt.solution import Solution


_NAMED = 3  # largest number of listed terms with parameters that other solutions lack [-]
_SAME = 1e-9  # difference of initial states that is not listed [unit of the coordinate]


@dataclass(frozen=True)
class Comparison:
    """Solutions side by side; as text it is a table.

    Attributes:
        solutions: The solutions.
        labels: Name of each.
        rows: Entry of each solution by the name of the row, in order; empty where a solution has none.
    """

    solutions: tuple[Solution, ...]
    labels: tuple[str, ...]
    rows: dict[str, tuple[str, ...]]

    def __str__(self) -> str:
        columns = [("", *self.rows), *zip(self.labels, *self.rows.values())]
        widths = [max(map(len, column)) for column in columns]
        lines = zip(*([text.ljust(width) for text in column] for column, width in zip(columns, widths)))
        return "\n".join("  ".join(line).rstrip() for line in lines)

    def __repr__(self) -> str:
        return f"Comparison({', '.join(self.labels)}; {len(self.rows)} rows)"

    def _repr_html_(self) -> str:
        return notebook.columns(("", *self.labels), [(name, *entries) for name, entries in self.rows.items()])

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draws the solutions over each other, and writes a picture (.png, .pdf or .svg) if there is a path."""
        draw = above("plotting.comparison.plot_comparison")
        figure: Figure = above("plotting.saved.saved")(draw, path, self.solutions, self.labels)
        return figure


def compare(*solutions: Solution, labels: Sequence[str] | None = None) -> Comparison:
    """Compares two solutions or more: status, times, cost by term, limits, violations, and what differs in the problem.

    Violations are those of constraints, at knots or else between them, and of quadratic barriers on lengths [m].

    Coordinates of x0 and parameters have a row if they differ between the solutions; terms whose parameters another
    solution lacks have one together.

        print(trajopt.compare(before, after, labels=["before", "after"]))

    Args:
        solutions: The solutions, such as of two solvers, or of a problem with other weights.
        labels: Name of each; by default "a", "b", ...

    Raises:
        InvalidArgumentError: There are fewer than two solutions, or labels do not fit.
    """
    several = [check_solution(solution) for solution in solutions]
    if len(several) < 2:
        raise InvalidArgumentError(f"solutions: expected two or more, got {len(several)}; compare(a, b)")
    names = [chr(ord("a") + i % 26) for i in range(len(several))] if labels is None else check_texts("labels", labels)
    if len(names) != len(several):
        raise InvalidArgumentError(f"labels: expected {len(several)} names, got {len(names)}")
    columns = [{**_column(solution), **other} for solution, other in zip(several, differences(several))]
    keys = list(dict.fromkeys(key for column in columns for key in column))
    rows = {key: tuple(column.get(key, "") for column in columns) for key in keys}
    return Comparison(tuple(several), tuple(names), rows)


def differences(solutions: Sequence[Solution]) -> list[dict[str, str]]:
    """Returns coordinates of x0 and parameters of each solution that are not the same for all, by name of the row."""
    columns: list[dict[str, str]] = [{} for _ in solutions]
    if len({solution.coordinate_names for solution in solutions}) == 1:
        starts = np.array([solution.x0 for solution in solutions])
        for i in np.flatnonzero(np.ptp(starts, axis=0) > _SAME):
            for column, start in zip(columns, starts):
                column[f"x0 {solutions[0].coordinate_names[i]}"] = f"{start[i]:.6g}"
    every = dict.fromkeys(name for solution in solutions for name in solution.parameters)
    shared = [name for name in every if all(name in solution.parameters for solution in solutions)]
    for name in shared:
        values = [np.asarray(solution.parameters[name]) for solution in solutions]
        if not name.endswith("_slots") and not all(_same(value, values[0]) for value in values):
            for column, value in zip(columns, values):  # slots of collisions follow the motion
                column[name] = _words(value, values[0])
    for column, solution in zip(columns, solutions):
        own = list(dict.fromkeys(name.rpartition(".")[0] or name for name in solution.parameters if name not in shared))
        if own:
            more = f" and {len(own) - _NAMED} more" if len(own) > _NAMED else ""
            column["parameters of its own"] = f"of {', '.join(own[:_NAMED])}{more}"
    return columns


def _same(a: Reals, b: Reals) -> bool:
    if a.shape[1:] != b.shape[1:]:
        return False
    if a.shape != b.shape:  # of other horizons
        a, b = (np.unique(each.reshape(len(each), -1), axis=0) for each in (a, b))
    return a.shape == b.shape and bool(np.array_equal(a, b, equal_nan=True))


def _words(values: Reals, first: Reals) -> str:
    """Text for the values of a parameter: those of the first knot, and of the last one if they differ.

    Of a long array it is the largest difference from that of the first solution.
    """
    if values[0].size > SHORT and values.shape == first.shape:
        with np.errstate(invalid="ignore"):
            away = np.where(values == first, 0.0, np.abs(values - first))
        return f"{values[0].size} numbers" + (f", up to {away.max():.3g} away" if away.any() else "")
    begin, end = (shown_numbers(np.ravel(values[i])).strip("[]") for i in (0, -1))
    return begin if begin == end else f"{begin} to {end}"


def _column(solution: Solution) -> dict[str, str]:
    """Entries of one solution by name of the row."""
    column = {
        "status": str(solution.status),
        "solver": solution.solver,
        "iterations": str(solution.iterations),
        "time [s]": f"{solution.seconds:.3g}",
        "cost": f"{solution.cost:.6g}",
    }
    if solution.times is not None:
        column["duration [s]"] = f"{solution.times[-1]:.4g}"
    try:
        terms = {name: float(np.nansum(values)) for name, values in solution.cost_terms().items()}
        column |= {f"cost of {name}": f"{value:.4g}" for name, value in terms.items()}
        uses = limit_uses(solution)
        for quantity, share in largest_shares(uses).items():
            column[f"largest {quantity} [% of its limit]"] = f"{100 * share:.0f}"
        for use in nearest([use for use in uses if use.single]):
            away = abs(use.value - use.limit) * (-1.0 if use.knots else 1.0)
            column[f"{use.quantity} nearest to its limit [{use.unit or '-'}]"] = f"{away:.3g}"
        worst = {name: float(np.nanmax(values, initial=0.0)) for name, values in solution.violations().items()}
        between = {each.name: f"{each.size} between knots {each.places}" for each in solution.description.between}
        for name, size in {**worst, **penalised_lengths(solution)}.items():
            column[f"violation of {name}"] = f"{size:.2g}" if size > HELD else between.get(name, "none")
    except TrajoptError:  # a solution from a file of an early version has no problem
        pass
    return column
