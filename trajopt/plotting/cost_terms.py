"""Plot of the contribution of each cost term over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.basics import check_described, check_solution, time_axis
from trajopt.plotting.ranges import single_knots
from trajopt.plotting.style import drawing, legend_beside, line_look, set_time_axis, whole_figure
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

    from trajopt.solution import Solution


_MOST = 12  # largest number of curves and legend entries [-]
_DECADES = 1e-12  # smaller contributions, relative to the largest, are rounding errors below the panel


def plot_cost_terms(solution: Solution, *, figure: Figure | SubFigure | None = None) -> Figure:
    """Draws the contribution of each cost term by knot; a diamond at the end is the terminal contribution.

    The legend lists the terms with their sums, the largest first. If there are more than twelve, or more than fit, the
    smallest are summed up. The axis is logarithmic unless a contribution is negative; zeros are then not drawn.

    Args:
        solution: Solution to draw, with its problem.
        figure: Figure or subfigure to draw into; by default a new one.

    Returns:
        The figure; `figure.savefig("costs.png")` writes it.

    Raises:
        InvalidArgumentError: The solution has neither its problem nor the description of a file.
    """
    check_described(check_solution(solution))
    with drawing(figure, 8.0, 3.6) as target:
        tall = target.bbox.height / whole_figure(target).dpi  # [inch]
        terms = _few(solution.cost_terms(), int(np.clip((tall - 0.35) / 0.157, 4, _MOST)))
        ordered = list(terms)
        axes = target.subplots()
        abscissa, label = time_axis(solution)
        every = np.concatenate([values[np.isfinite(values)] for values in terms.values()] or [np.zeros(0)])
        logarithmic = bool(np.any(every > 0)) and not np.any(every < 0)
        if logarithmic:
            axes.set_yscale("log")
        floor = _DECADES * float(every.max()) if logarithmic else -np.inf
        for i, name in enumerate(ordered):
            values = np.where(terms[name] > 0, terms[name], np.nan) if logarithmic else terms[name]
            if values[-1] < floor:
                values[-1] = np.nan  # its diamond is not clipped, and would be drawn below the panel
            look, text = line_look(i), f"{name}  {np.nansum(terms[name]):.3g}"
            running = bool(np.isfinite(values[:-1]).any())
            if running:
                alone = single_knots(values[:-1])
                axes.plot(abscissa[:-1], values[:-1], label=text, marker="." if alone else "", markevery=alone, **look)
            if np.isfinite(values[-1]):
                terminal = "_terminal" if running else text
                axes.plot(
                    abscissa[-1:],
                    values[-1:],
                    "D",
                    color=look["color"],
                    markersize=6,
                    linestyle="",
                    label=terminal,
                    clip_on=False,
                    zorder=3,
                )
            if not running and not np.isfinite(values[-1]):
                axes.plot([], [], label=text, **look)
        if logarithmic:
            axes.set_ylim(bottom=max(axes.get_ylim()[0], floor))
        set_time_axis(axes, abscissa, label)
        axes.set_ylabel("cost of a knot")
        axes.set_title("cost terms and their sums (◆ terminal)")
        if ordered:
            legend_beside(axes, len(ordered))
        return whole_figure(target)


def _few(values: Mapping[str, Reals], most: int) -> dict[str, Reals]:
    """Terms by the size of their sums, the largest first; those beyond `most` are summed up."""
    terms = {name: np.asarray(rows, dtype=np.float64) for name, rows in values.items()}
    ordered = sorted(terms, key=lambda name: -abs(float(np.nansum(terms[name]))))
    few = {name: terms[name] for name in ordered}
    if len(ordered) > most:
        least = np.array([few.pop(name) for name in ordered[most - 1 :]])
        present = np.isfinite(least).any(axis=0)
        few[f"{len(least)} others"] = np.where(present, np.nansum(least, axis=0), np.nan)
    return few
