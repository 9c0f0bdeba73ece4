"""Plot of constraints over time: rows with their bounds, active knots, and multipliers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.analysis.basics import check_described, check_solution, time_axis
from trajopt.analysis.constraints import ConstraintRows, named_rows
from trajopt.errors import InvalidArgumentError
from trajopt.plotting.bands import band_entries, bands_height, draw_bands
from trajopt.plotting.limits import beyond_entry, draw_limit, held, limit_entry
from trajopt.plotting.ranges import clear_range, single_knots
from trajopt.plotting.style import GREY, drawing, legend_below, line_look, set_time_axis, whole_figure
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from trajopt.solution import Solution

_MOST = 5  # largest number of constraints with panels [-]
_FEW = 4  # largest number of rows with their own bounds; more rows are drawn as distances from the bounds [-]
_LINES = 12  # largest number of lines in a panel, those nearest to a bound [-]
_ROWS = 6  # largest number of legend entries [-]


def plot_constraints(solution: Solution, *, figure: Figure | SubFigure | None = None) -> Figure:
    """Draws the rows of each constraint with their bounds on the left, and their multipliers on the right.

    Below the panels each constraint has a band: blue where a row is at a bound, red where one is violated; a diamond
    marks the end of the horizon. The region beyond a bound is shaded, and a row is thick where it is at a bound. For a
    constraint with more than four rows and different bounds, the distances from the nearest bound are drawn.
    Constraints of a single knot, such as the terminal one, have bands only. At most five constraints have panels,
    those with the most active knots. If constraints are violated, multipliers are left out, as they are not prices
    then.

    Args:
        solution: Solution to draw, of a problem with constraints.
        figure: Figure or subfigure to draw into; by default a new one.

    Returns:
        The figure; `figure.savefig("constraints.png")` writes it.

    Raises:
        InvalidArgumentError: The problem has no constraints, or the solution has neither a problem nor a description.
    """
    check_described(check_solution(solution))
    constraints = named_rows(solution)
    if not constraints:
        raise InvalidArgumentError(
            "solution: expected one of a problem with constraints, got none; add some with a ConstraintStack"
        )
    chosen = _chosen(constraints)
    abscissa, label = time_axis(solution)
    band, n = bands_height(constraints), len(chosen)
    with drawing(figure, 12.0, 1.2 + 1.7 * n + band) as target:
        tall = max(target.bbox.height / whole_figure(target).dpi - 1.0 - band, 1.0)
        size = _size(constraints) if chosen else 0.0
        grid = target.add_gridspec(n + 1, 1 + bool(size), height_ratios=[*[tall / max(n, 1)] * n, band])
        first: Axes | None = None
        for i, rows in enumerate(chosen):
            axes = target.add_subplot(grid[i, 0], sharex=first)
            first = first or axes
            _draw_rows(axes, rows, abscissa)
            axes.tick_params(labelbottom=False)
            if not size:
                _legend_beside(axes, rows)
            else:
                last = i == n - 1
                beside = target.add_subplot(grid[i:, 1] if last else grid[i, 1], sharex=first)
                _draw_multipliers(beside, rows, abscissa, size)
                _legend_beside(beside, rows)
                beside.tick_params(labelbottom=last)
                beside.set_xlabel(label if last else "")
        axes = target.add_subplot(grid[n, 0], sharex=first)
        draw_bands(axes, constraints, abscissa)
        set_time_axis(axes, abscissa, label)
        legend_below(target, [*_entries(target), *band_entries(constraints)])
        return whole_figure(target)


def _size(constraints: Sequence[ConstraintRows]) -> float:
    """Absolute value of the largest multiplier; 0 without multipliers, or if constraints are violated."""
    if any((rows.violated & rows.enforced).any() for rows in constraints):
        return 0.0
    multipliers = [np.nan_to_num(np.abs(rows.multipliers)) for rows in constraints if rows.multipliers is not None]
    return max((float(y.max(initial=0.0)) for y in multipliers), default=0.0)


def _chosen(constraints: Sequence[ConstraintRows]) -> list[ConstraintRows]:
    """Selects the constraints with panels, in their order."""
    several = [i for i, rows in enumerate(constraints) if len(rows.knots) > 1]
    count = {i: int(constraints[i].active.any(axis=1).sum()) for i in several}
    worst = {i: float(constraints[i].violations.max(initial=0.0)) for i in several}
    first = sorted(several, key=lambda i: (worst[i] > 1e-6, count[i]), reverse=True)[:_MOST]
    return [constraints[i] for i in sorted(first)]


def _bounded(rows: ConstraintRows) -> list[int]:
    """Indices of the rows with a bound at some knot; of many rows those that come nearest to a bound."""
    which = np.flatnonzero((np.isfinite(rows.lower) | np.isfinite(rows.upper)).any(axis=0))
    if len(which) > _LINES:  # lines beyond these would hide each other
        distances = np.minimum(rows.values - rows.lower, rows.upper - rows.values)[:, which]
        which = which[np.argsort(np.nanmin(distances, axis=0), kind="stable")[:_LINES]]
    return which.tolist()


def _shared(rows: ConstraintRows, which: Sequence[int]) -> bool:
    """Whether the bounds of all rows are equal."""
    return all(np.array_equal(bound[:, i], bound[:, which[0]]) for bound in (rows.lower, rows.upper) for i in which)


def _draw_rows(axes: Axes, rows: ConstraintRows, abscissa: Reals) -> None:
    """Draws values and bounds of the rows with bounds, or their distances from the bounds."""
    which = _bounded(rows)
    shared = _shared(rows, which)
    units = {rows.units[i] for i in which}
    mixed = " [unit of the row]" if len(units) > 1 else ""
    unit = f" [{units.pop()}]" if len(units) == 1 and units != {""} else ""
    distances = len(which) > _FEW and not shared
    values, lower, upper = rows.values, rows.lower, rows.upper
    if distances:
        values = np.minimum(values - lower, upper - values)
        lower, upper = np.where(np.isfinite(values), 0.0, -np.inf), np.full(values.shape, np.inf)
        shared = True
    steps = [rows.controls[i] >= 0 for i in which]
    for k, i in enumerate(which):
        _draw_curve(axes, abscissa, values[:, i], rows.rows[i], line_look(k), steps[k])
    low, high = _range(values[:, which], lower[:, which], upper[:, which])
    axes.set_ylim(low, high)
    for k, i in enumerate(which[:1] if shared else which):
        color = GREY if shared and len(which) > 1 else line_look(k)["color"]
        for bounds, edge in ((lower[:, i], low), (upper[:, i], high)):
            shown = np.where(np.isfinite(bounds) & np.isfinite(rows.values[:, i]), bounds, np.nan)
            beyond = edge if shared else None  # with different bounds, beyond one bound may be within another
            draw_limit(axes, shown, abscissa, color=color, edge=beyond, steps=steps[k], label="_bound")
    for k, i in enumerate(which):
        look = {"color": line_look(k)["color"], "alpha": 0.35, "linewidth": 4.5, "solid_capstyle": "butt"}
        touched = rows.active[:, i] & ~rows.equations[:, i]
        above = rows.upper[:, i] - rows.values[:, i] < rows.values[:, i] - rows.lower[:, i]
        for side in (touched & above, touched & ~above):
            _draw_curve(axes, abscissa, np.where(side, values[:, i], np.nan), "_touched", look, steps[k])
    axes.set_ylabel(("distance" if distances else "value") + (unit or mixed))
    title = _bounds_words(rows, which[0], unit) if shared else ""
    axes.set_title(rows.name + (": distance from the nearest bound" if distances else title))


def _bounds_words(rows: ConstraintRows, row: int, unit: str) -> str:
    """Text for the bounds of a row, which may lie outside the panel; empty if they change over time."""
    words = []
    if rows.equations[rows.knots, row].all() and np.ptp(rows.lower[rows.knots, row]) == 0.0:
        return f" = {rows.lower[rows.knots[0], row]:.4g}{unit.replace('[', '').replace(']', '')}"
    for name, bounds in (("at least", rows.lower), ("at most", rows.upper)):
        values = np.unique(bounds[rows.knots, row])
        if len(values) > 1:
            return ""
        if np.isfinite(values[0]):
            words.append(f"{name} {values[0]:.4g}")
    return f": {', '.join(words)}{unit.replace('[', '').replace(']', '')}" if words else ""


def _draw_curve(
    axes: Axes, abscissa: Reals, values: Reals, label: str, look: dict[str, Any], steps: bool = False
) -> None:
    """Draws a curve, with dots at isolated knots; with `steps` values are constant between knots."""
    if np.isfinite(values).any():
        values = held(values) if steps else values
        alone = single_knots(values)
        axes.plot(abscissa, values, label=label, marker="." if alone else "", markevery=alone or None,
                  drawstyle="steps-post" if steps else "default", **look)  # fmt: skip


def _range(values: Reals, lower: Reals, upper: Reals) -> tuple[float, float]:
    """Range of a panel: the values, and bounds close to them."""
    low, high = clear_range(values)
    extent = max(high - low, 1e-3 * max(abs(low), abs(high)), 1e-9)
    near = np.concatenate([lower.ravel(), upper.ravel()])
    beyond = np.nanmin(values, initial=np.inf) < lower, np.nanmax(values, initial=-np.inf) > upper
    near = near[np.isfinite(near) & ((near > low - extent) & (near < high + extent) | np.stack(beyond).ravel())]
    low, high = min([low, *near.tolist()]), max([high, *near.tolist()])
    margin = 0.1 * max(high - low, extent)
    return low - margin, high + margin


def _draw_multipliers(axes: Axes, rows: ConstraintRows, abscissa: Reals, size: float) -> None:
    """Draws the multipliers of the rows with bounds; `size` is the largest multiplier of all constraints."""
    which = _bounded(rows)
    axes.axhline(0.0, color="#555555", linewidth=0.6, zorder=1)
    y = np.zeros(rows.values.shape) if rows.multipliers is None else rows.multipliers
    for k, i in enumerate(which):
        _draw_curve(axes, abscissa, y[:, i], rows.rows[i], line_look(k), rows.controls[i] >= 0)
    low, high = float(np.nanmin(y[:, which], initial=0.0)), float(np.nanmax(y[:, which], initial=0.0))
    margin = max(0.1 * (high - low), 1e-3 * size)  # show zeros as a line, not as noise of 1e-13
    axes.set_ylim(low - margin, high + margin)
    units = {rows.units[i] for i in which}
    unit = units.pop() if len(units) == 1 and units != {""} else "unit of the row"
    axes.set_ylabel(f"multiplier\n[cost / {f'({unit})' if ' ' in unit or '/' in unit else unit}]")
    axes.set_title(f"{rows.name}: > 0 at an upper bound", fontweight="normal")


def _legend_beside(axes: Axes, rows: ConstraintRows) -> None:
    """Draws a legend of the first rows with bounds to the right of the panel."""
    names = [rows.rows[i] for i in _bounded(rows)]
    if len(names) < 2:
        return
    handles = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")][:_ROWS]
    labels = names[:_ROWS]
    if len(names) > _ROWS:
        labels[-1] += f" and {len(names) - _ROWS} more"
    axes.legend(handles, labels, loc="upper left", bbox_to_anchor=(1.0, 1.05), fontsize=7, labelspacing=0.2,
                handlelength=1.0, handletextpad=0.4, borderaxespad=0.3)  # fmt: skip


def _entries(target: Figure | SubFigure) -> list[Any]:
    """Legend entries for what the panels show."""
    from matplotlib.lines import Line2D

    drawn = {str(artist.get_label()) for axes in target.axes for artist in (*axes.lines, *axes.collections)}
    entries = {
        "_bound": limit_entry("bound"),
        "_beyond": beyond_entry("range outside bounds"),
        "_touched": Line2D([], [], color=GREY, linewidth=4.5, alpha=0.5, label="line at its bound"),
    }
    return [entry for label, entry in entries.items() if label in drawn]
