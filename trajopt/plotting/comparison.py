"""Plot of several solutions over each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.analysis.basics import check_solution, time_axis
from trajopt.analysis.lines import Line, shown_panels
from trajopt.errors import InvalidArgumentError
from trajopt.plotting.limits import beyond_entry, draw_limit, limit_entry, near_limits, reach_of
from trajopt.plotting.style import (
    GREY,
    drawing,
    legend_below,
    legend_beside,
    line_look,
    set_time_axis,
    whole_figure,
)
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from trajopt.solution import Solution

STYLES = ("-", "--", "-.", (0, (4.0, 1.0, 1.0, 1.0, 1.0, 1.0)))
"""Line styles of the solutions, in turn; a colour is a coordinate, and dotted lines are limits."""
_DOTTED: dict[str, Any] = {"linestyle": ":", "linewidth": 1.4}
_REACH = 0.3  # distance up to which a limit is drawn, relative to the range of the lines [-]
_PANEL, _WIDTH = 1.9, 5.5  # height and width of a panel [inch]


def plot_comparison(
    solutions: Sequence[Solution], labels: Sequence[str], *, figure: Figure | SubFigure | None = None
) -> Figure:
    """Draws states and controls of solutions over each other: a colour is a coordinate, a line style a solution.

    Dotted lines are limits and bounds of constraints; the region beyond limits is shaded, that beyond bounds is not.

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
    columns = 1 if len(keys) <= 4 else 2
    rows, told, entries = -(-len(keys) // columns), set[tuple[str, ...]](), dict[str, Any]()
    times = [time_axis(each)[0] for each in solutions]
    with drawing(figure, columns * _WIDTH, rows * _PANEL + 0.8) as target:
        axes = target.subplots(rows, columns, squeeze=False, sharex=True)
        for i, key in enumerate(keys):
            own = axes.T.ravel()[i]
            for solution, panels, style in zip(solutions, several, _styles(len(several))):
                _draw(own, panels[key], time_axis(solution)[0], style)
            line = several[0][key][0]
            own.set_ylabel(f"{line.quantity} [{line.unit}]" if line.unit else line.quantity)
            title = line.owner or (line.name if len(several[0][key]) == 1 else "")
            if title:
                own.set_title(title, fontweight="normal", pad=3)
            entries |= _draw_limits(own, [panels[key] for panels in several], times)
            names = tuple(each.name for each in several[0][key])
            if len(names) > 1 and names not in told:  # velocities have the names of angles
                told.add(names)
                for handle, name in zip(own.lines, names):
                    handle.set_label(name)
                legend_beside(own, len(names))
        if entries:
            legend_below(target, [entries[name] for name in sorted(entries)])
        for empty in axes.T.ravel()[len(keys) :]:
            empty.set_axis_off()
        longest = max((time_axis(solution) for solution in solutions), key=lambda pair: float(pair[0][-1]))
        for last in axes[-1]:
            set_time_axis(last, *longest)
        target.suptitle("     ".join(f"{style} {label}" for style, label in zip(_WORDS, labels)))
        return whole_figure(target)


_WORDS = ("──", "- -", "-·-", "-··-")


def _styles(count: int) -> list[Any]:
    return [STYLES[i % len(STYLES)] for i in range(count)]


def _key(panel: list[Line]) -> tuple[str, ...]:
    first = panel[0]
    return (first.group, first.limb, first.owner, first.quantity, first.unit, *(line.name for line in panel))


def _draw_limits(axes: Axes, panels: Sequence[list[Line]], times: Sequence[Reals]) -> dict[str, Any]:
    """Draws limits and bounds that lines of a panel come close to; returns their legend entries by name."""
    low, high = axes.get_ylim()
    reach, entries, drawn = _REACH * (high - low), dict[str, Any](), set[tuple[object, ...]]()
    several = len({(line.lower, line.upper) for line in panels[0]}) > 1 or len(panels[0]) == 1
    near: dict[tuple[int, float, float], Any] = {}
    for panel, abscissa in zip(panels, times):
        for i, line in enumerate(panel):
            color, number = (line_look(i)["color"], i) if several else (GREY, 0)
            values = line.values[np.isfinite(line.values)]
            own = reach_of(reach, line.lower, line.upper) if several else reach
            near |= {(number, limit, side): color for limit, side in near_limits(line, values, own)}
            for bounds in () if line.least is None or line.most is None else (line.least, line.most):
                there = np.isfinite(bounds) & (line.least != line.most)  # equations are goals
                within = reach_of(reach, line.least, line.most) if several else np.full(len(bounds), reach)
                close = bool(np.any((np.abs(bounds - line.values) <= within)[there]))
                key = (number, len(abscissa), bounds.tobytes())
                if close and key not in drawn:
                    shown, steps = np.where(there, bounds, np.nan), len(bounds) < len(abscissa)
                    shown = np.append(shown, shown[-1:]) if steps else shown
                    draw_limit(axes, shown, abscissa, color=color, steps=steps, label="_bound", **_DOTTED)
                    drawn.add(key)
    if drawn:
        entries["bound of a constraint"] = limit_entry("bound of a constraint", **_DOTTED)
    bottom, top = axes.get_ylim()
    margin = 0.07 * (top - bottom)
    for _, limit, _ in near:
        bottom, top = min(bottom, limit - margin), max(top, limit + margin)
    for (_, limit, side), color in near.items():
        draw_limit(axes, limit, color=color, edge=bottom if side < 0 else top, **_DOTTED)
        entries["beyond a limit"] = beyond_entry("beyond a limit")
    axes.set_ylim(bottom, top)
    return entries


def _draw(axes: Axes, panel: list[Line], abscissa: np.ndarray, style: Any) -> None:
    """Draws the lines of one solution."""
    for i, line in enumerate(panel):
        look = {**line_look(i), "linestyle": style}
        if len(line.values) == len(abscissa):
            axes.plot(abscissa, line.values, **look)
        else:
            axes.plot(abscissa, np.append(line.values, line.values[-1:]), drawstyle="steps-post", **look)
