"""Comparison of solutions of alike problems: costs by term, use of limits, violations, times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.basics import check_solution
from trajopt.analysis.constraints import HELD
from trajopt.analysis.limits import limit_uses
from trajopt.checks import check_texts
from trajopt.errors import InvalidArgumentError, TrajoptError
from trajopt.objects.lazy import above

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trajopt.solution import Solution


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

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draws the solutions over each other, and writes a picture (.png, .pdf or .svg) if there is a path."""
        figure: Figure = above("plotting.comparison.plot_comparison")(self.solutions, self.labels)
        if path is not None:
            above("plotting.window.write")(figure, Path(path))
        return figure


def compare(*solutions: Solution, labels: Sequence[str] | None = None) -> Comparison:
    """Compares two solutions or more: status, iterations, times, cost by term, limits, violations.

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
    columns = [_column(solution) for solution in several]
    keys = list(dict.fromkeys(key for column in columns for key in column))
    rows = {key: tuple(column.get(key, "") for column in columns) for key in keys}
    return Comparison(tuple(several), tuple(names), rows)


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
        for use in limit_uses(solution):
            column.setdefault(f"largest {use.quantity} [% of its limit]", f"{100 * use.use:.0f}")
        for name, values in solution.violations().items():
            worst = float(np.nanmax(values, initial=0.0))
            column[f"violation of {name}"] = f"{worst:.2g}" if worst > HELD else "none"
    except TrajoptError:  # a solution from a file of an early version has no problem
        pass
    return column
