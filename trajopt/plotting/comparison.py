"""Plot of several solutions over each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.analysis.basics import check_solution, time_axis
from trajopt.analysis.comparison import differences
from trajopt.analysis.lines import Line, shown_panels
from trajopt.errors import InvalidArgumentError
from trajopt.plotting.limits import close_bounds, draw_limit, limit_color, limit_entry, near_limits
from trajopt.plotting.ranges import clear_range, mark_peaks
from trajopt.plotting.style import (
    BLUE,
    drawing,
    legend_below,
    legend_beside,
    line_look,
    set_time_axis,
    split,
    whole_figure,
)
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from trajopt.solution import Solution

STYLES = ("-", "--", "-.", (0, (4.0, 1.0, 1.0, 1.0, 1.0, 1.0)))
"""Line styles of the solutions, in turn; a colour is a coordinate, and dotted lines are limits."""
_DOTTED: dict[str, Any] = {"linestyle": ":", "linewidth": 0.9}
_PANEL, _WIDTH = 1.9, 5.5  # height and width of a panel [inch]
_BAR = 0.17  # height of a bar [inch]
_TERMS = 10  # largest number of cost terms [-]
_WIDE = 30.0  # ratio of the largest and the smallest cost from which their axis is logarithmic [-]
_TOLD = 3  # largest number of differences in the heading [-]


def plot_comparison(
    solutions: Sequence[Solution], labels: Sequence[str], *, figure: Figure | SubFigure | None = None
) -> Figure:
    """Draws states and controls of solutions over each other, and their cost terms side by side.

    A colour is a coordinate, and a line style a solution. Dotted lines are limits and bounds of constraints, drawn
    where a line comes close to them, see `trajopt.plotting.limits.reach_of`. A spike that would flatten the other
    values is cut off, and its peak is written at the edge. The heading lists what differs in the problems. A term whose
    weight differs is drawn as its cost at weight 1.

    Args:
        solutions: Solutions of robots or systems with the same coordinates.
        labels: Name of each.
        figure: Figure or subfigure to draw into; by default a new one.

    Raises:
        InvalidArgumentError: There is no solution, or the solutions have no coordinate in common.
    """
    if not len(solutions):
        raise InvalidArgumentError("solutions: expected at least one Solution, got none")
    several = [{_key(panel): panel for panel in shown_panels(check_solution(each))} for each in solutions]
    keys = [key for key in several[0] if all(key in panels for panels in several)]
    if not keys:
        raise InvalidArgumentError("solutions: expected some of the same system, got none with the same coordinates")
    columns, terms = 1 if len(keys) <= 4 else 2, _terms(solutions)
    rows = -(-len(keys) // columns)
    tall, low = rows * _PANEL + 0.8, (_BAR * len(solutions) + 0.08) * len(terms) + 0.8 * bool(terms)
    with drawing(figure, columns * _WIDTH, tall + low) as target:
        words = ["     ".join(f"{style} {label}" for style, label in zip(_WORDS, labels)), *_differences(solutions)]
        target.suptitle("\n".join(words), fontsize=9.5)
        upper, lower = split(target, 2, 1, height_ratios=[tall, low]) if terms else (target, target)
        _draw_panels(upper, solutions, [[panels[key] for panels in several] for key in keys], (rows, columns))
        if terms:
            _draw_terms(lower.subplots(), terms, labels)
        return whole_figure(target)


def _draw_panels(
    target: Figure | SubFigure,
    solutions: Sequence[Solution],
    together: Sequence[list[list[Line]]],
    size: tuple[int, int],
) -> None:
    """Draws each panel with the lines of all solutions."""
    times = [time_axis(each)[0] for each in solutions]
    axes, named, drawn = target.subplots(*size, squeeze=False, sharex=True), set[tuple[str, ...]](), set[str]()
    for own, panels in zip(axes.T.ravel(), together):
        for panel, abscissa, style in zip(panels, times, _styles(len(panels))):
            _draw(own, panel, abscissa, style)
        line = panels[0][0]
        own.set_ylabel(f"{line.quantity} [{line.unit}]" if line.unit else line.quantity)
        title = line.owner or (line.name if len(panels[0]) == 1 else "")
        if title:
            own.set_title(title, fontweight="normal", pad=3)
        drawn |= _set_range(own, panels, times)
        names = tuple(each.name for each in panels[0])
        if len(names) > 1 and names not in named:  # velocities have the names of angles
            named.add(names)
            for handle, name in zip(own.lines, names):
                handle.set_label(name)
            legend_beside(own, len(names))
    if drawn:
        legend_below(target, [limit_entry(" or ".join(sorted(drawn, reverse=True)), **_DOTTED)])
    for empty in axes.T.ravel()[len(together) :]:
        empty.set_axis_off()
    longest = max((time_axis(solution) for solution in solutions), key=lambda pair: float(pair[0][-1]))
    for last in axes[-1]:
        set_time_axis(last, *longest)


_WORDS = ("──", "- -", "-·-", "-··-")


def _styles(count: int) -> list[Any]:
    return [STYLES[i % len(STYLES)] for i in range(count)]


def _key(panel: list[Line]) -> tuple[str, ...]:
    first = panel[0]
    return (first.group, first.limb, first.owner, first.quantity, first.unit, *(line.name for line in panel))


def _differences(solutions: Sequence[Solution]) -> list[str]:
    """Text for what differs in the problems; an entry of each solution."""
    columns = differences(solutions)
    names = list(dict.fromkeys(name for column in columns for name in column))
    words = [f"{name}: {' | '.join(column.get(name, '') for column in columns)}" for name in names]
    return words if len(words) <= _TOLD else [*words[: _TOLD - 1], f"and {len(words) - _TOLD + 1} more differences"]


def _terms(solutions: Sequence[Solution]) -> dict[str, list[float]]:
    """Sum of each cost term of each solution, the largest first; of those whose weight differs at weight 1."""
    if any(each.description.cost_terms is None for each in solutions):
        return {}
    rows = [each.cost_terms() for each in solutions]
    sums: dict[str, list[float]] = {}
    for name in dict.fromkeys(name for terms in rows for name in terms):
        weights = [_weight(each, name, terms.get(name)) for each, terms in zip(solutions, rows)]
        first = weights[0]
        same = first is None or all(each is None or np.array_equal(each, first, equal_nan=True) for each in weights)
        costs = [np.asarray(terms.get(name, np.nan)) / (1.0 if same else w) for terms, w in zip(rows, weights)]
        key = name if same else f"{name} / weight"
        sums[key] = [float(np.nansum(each)) if np.isfinite(each).any() else np.nan for each in costs]
    ordered = sorted(sums, key=lambda name: -np.nanmax(np.abs(sums[name]), initial=0.0))
    return {name: sums[name] for name in ordered[:_TERMS]}


def _weight(solution: Solution, name: str, costs: Reals | None) -> Reals | None:
    """Weight of a cost term at the knots of its costs, NaN where it is not positive; None without one."""
    weight = np.asarray(solution.parameters.get(f"{name}.weight", ()), dtype=np.float64)
    if costs is None or weight.shape != np.shape(costs):
        return None
    return np.where(weight > 0, weight, np.nan)


def _draw_terms(axes: Axes, terms: Mapping[str, list[float]], labels: Sequence[str]) -> None:
    """Draws a bar with its value for each cost term of each solution, with the solution's line style as its edge."""
    values = np.array(list(terms.values())).T  # (solutions, terms)
    positive = values[values > 0]
    logarithmic = not np.any(values < 0) and positive.size and positive.max() > _WIDE * positive.min()
    shade = 0.8 / len(values)
    for i, (sums, style, label) in enumerate(zip(values, _styles(len(values)), labels)):
        places = np.arange(len(sums)) + (i - (len(values) - 1) / 2) * shade
        face = (*(int(BLUE[k : k + 2], 16) / 255 for k in (1, 3, 5)), 0.5 / (1 + i))
        look: dict[str, Any] = {"facecolor": face, "edgecolor": BLUE, "linestyle": style, "label": label}
        bars = axes.barh(places, np.nan_to_num(sums), 0.85 * shade, **look)
        texts = [f"{each:.3g}" if np.isfinite(each) else "" for each in sums]
        axes.bar_label(bars, texts, padding=3, fontsize=7.5)
    if logarithmic:
        axes.set_xscale("log")
        axes.set_xlim(positive.min() / 3.0, positive.max() * 3.0)
    else:
        axes.margins(x=0.1)
    axes.set_yticks(range(len(terms)), labels=list(terms))
    axes.set_ylim(len(terms) - 0.5, -0.5)
    axes.grid(False, axis="y")
    axes.set_xlabel("cost, sum over the knots")


def _set_range(axes: Axes, panels: Sequence[list[Line]], times: Sequence[Reals]) -> set[str]:
    """Sets the range of a panel and draws what its lines come close to: "limit", "bound of a constraint"."""
    low, high = clear_range(np.concatenate([line.values for panel in panels for line in panel]))
    extent = max(high - low, 1e-3 * max(abs(low), abs(high)), 1e-9)
    limits, bounds = dict[tuple[float, float], Any](), dict[tuple[bytes, float], tuple[Any, ...]]()
    for panel, abscissa in zip(panels, times):
        for i, line in enumerate(panel):
            color = line_look(i)["color"]
            for limit, side in near_limits(line, line.values[np.isfinite(line.values)], extent):
                limits[limit, side] = limit_color(panel, limit, side, color)
            for ends, side, close in zip((line.least, line.most), (-1.0, 1.0), close_bounds([line], extent)):
                if ends is not None and close.any():
                    shown = np.where((line.least != line.most) & np.isfinite(ends), ends, np.nan)
                    low, high = min(low, ends[close].min()), max(high, ends[close].max())
                    bounds[ends.tobytes(), side] = shown, abscissa, limit_color(panel, ends, side, color)
    for (limit, _), color in limits.items():
        low, high = min(low, limit), max(high, limit)
        draw_limit(axes, limit, color=color, **_DOTTED)
    for shown, abscissa, color in bounds.values():
        steps = len(shown) < len(abscissa)
        shown = np.append(shown, shown[-1:]) if steps else shown
        draw_limit(axes, shown, abscissa, color=color, steps=steps, label="_bound", **_DOTTED)
    axes.set_ylim(low - 0.07 * (high - low) - 1e-9, high + 0.07 * (high - low) + 1e-9)
    for panel, abscissa in zip(panels, times):
        mark_peaks(axes, panel, abscissa)
    return {name for name, some in (("limit", limits), ("bound of a constraint", bounds)) if some}


def _draw(axes: Axes, panel: list[Line], abscissa: np.ndarray, style: Any) -> None:
    """Draws the lines of one solution."""
    for i, line in enumerate(panel):
        look = {**line_look(i), "linestyle": style}
        if len(line.values) == len(abscissa):
            axes.plot(abscissa, line.values, **look)
        else:
            axes.plot(abscissa, np.append(line.values, line.values[-1:]), drawstyle="steps-post", **look)
