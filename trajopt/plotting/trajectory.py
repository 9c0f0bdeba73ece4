"""States and controls over time, with their limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.plotting.lines import Line, panels_of
from trajopt.plotting.style import (
    GREY,
    Reals,
    canvas,
    house_style,
    legend_beside,
    line_look,
    time_axis,
    whole_figure,
)
from trajopt.solution import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

_UNLIMITED = 1e20  # files write "no limit" as inf or as the largest number
_REACH = 0.5  # a limit is shown if it is this close to the data, in units of the data's range


def plot_solution(solution: Solution, *, figure: Figure | SubFigure | None = None) -> Figure:
    """Draws configuration, velocity and control over time: one panel for each quantity with a unit of its own.

    Limits are dashed; the part of a panel beyond limits that all its lines share is shaded. A limit far from the data
    (more than half its range) stays outside the panel. Continuous joints, stored as (cos, sin), are drawn as angles.
    Controls hold over a knot and are drawn as steps. Without a problem, or if its knots have no time step, the
    horizontal axis counts knots.

    Args:
        solution: What to draw.
        figure: Figure or subfigure to draw into; by default a new one.

    Returns:
        The figure; `figure.savefig("solution.png")` writes it.
    """
    columns = _columns(panels_of(solution))
    with house_style():
        rows = max(len(column) for column in columns)
        target = canvas(figure, 8.0 if len(columns) == 1 else 12.0, 0.8 + 1.9 * rows)
        drawn = _draw_columns(target, columns, *time_axis(solution))
        _draw_legends(target, drawn)
        return whole_figure(target)


def _columns(panels: list[list[Line]]) -> list[list[list[Line]]]:
    """Up to four panels in one column; more in two: configurations left, the rest right."""
    if len(panels) <= 4:
        return [panels]
    split = sum(panel[0].group == "configuration" for panel in panels) or len(panels) // 2
    return [panels[:split], panels[split:]]


def _draw_columns(
    target: Figure | SubFigure, columns: list[list[list[Line]]], abscissa: Reals, label: str
) -> list[tuple[Axes, list[Line], bool]]:
    """The axes, their lines and whether a limit is in sight."""
    grid = target.add_gridspec(1, len(columns))
    drawn: list[tuple[Axes, list[Line], bool]] = []
    first = None
    for i, column in enumerate(columns):
        cells = grid[i].subgridspec(len(column), 1)
        for j, panel in enumerate(column):
            axes = target.add_subplot(cells[j], sharex=first)
            first = first or axes
            drawn.append((axes, panel, _draw_panel(axes, panel, abscissa)))
            axes.tick_params(labelbottom=j == len(column) - 1)
        axes.set_xlabel(label)
    drawn[0][0].set_xlim(abscissa[0], abscissa[-1] if abscissa[-1] > abscissa[0] else abscissa[0] + 1)
    return drawn


def _draw_panel(axes: Axes, panel: list[Line], abscissa: Reals) -> bool:
    for i, line in enumerate(panel):
        values = line.values
        if len(values) == len(abscissa):
            axes.plot(abscissa, values, label=line.name, **line_look(i))
        else:  # a control holds from its knot to the next
            held = np.append(values, values[-1:])
            axes.plot(abscissa, held, label=line.name, drawstyle="steps-post", **line_look(i))
    unit = f" [{panel[0].unit}]" if panel[0].unit else ""
    axes.set_ylabel(panel[0].quantity + unit)
    title = panel[0].owner or (panel[0].name if len(panel) == 1 else "")
    if title:
        axes.set_title(title, fontweight="normal", pad=3)
    return _draw_limits(axes, panel)


def _draw_limits(axes: Axes, panel: list[Line]) -> bool:
    """Draws the limits and sets the range of the panel; returns whether a limit is in sight."""
    finite = np.concatenate([line.values[np.isfinite(line.values)] for line in panel])
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    extent = max(high - low, 1e-3 * max(abs(low), abs(high)), 1e-9)
    limits = [limit for line in panel for limit in (line.lower, line.upper) if abs(limit) < _UNLIMITED]
    near = [limit for limit in limits if low - _REACH * extent <= limit <= high + _REACH * extent]
    low, high = min([low, *near]), max([high, *near])
    margin = 0.07 * max(high - low, extent)
    axes.set_ylim(low - margin, high + margin)

    shared = len({(line.lower, line.upper) for line in panel}) == 1
    for i, line in enumerate(panel[:1] if shared else panel):
        color = GREY if shared and len(panel) > 1 else line_look(i)["color"]
        for limit, far in ((line.lower, -1.0), (line.upper, 1.0)):
            if abs(limit) >= _UNLIMITED:
                continue
            axes.axhline(limit, color=color, linestyle="--", linewidth=1.0, alpha=0.9, label="_limit")
            if shared and limit in near:
                edge = low - margin if far < 0 else high + margin
                axes.axhspan(limit, edge, color=GREY, alpha=0.15, linewidth=0, label="_beyond")
    return bool(near)


def _draw_legends(target: Figure | SubFigure, drawn: list[tuple[Axes, list[Line], bool]]) -> None:
    """One legend for all panels if they name the same lines, otherwise one beside each."""
    from matplotlib.lines import Line2D

    several = [(axes, panel) for axes, panel, _ in drawn if len(panel) > 1]
    dashes = Line2D([], [], color=GREY, linestyle="--", linewidth=1.0, label="limit")
    limits = any(near for *_, near in drawn)
    if several and len({tuple(line.name for line in panel) for _, panel in several}) == 1:
        handles: list[Any] = [h for h in several[0][0].get_lines() if not str(h.get_label()).startswith("_")]
        columns = 1 if len(handles) <= 16 else 2
        target.legend(handles=handles + [dashes] * limits, loc="outside right upper", ncols=columns)
        return
    for axes, panel in several:
        legend_beside(axes, len(panel))
