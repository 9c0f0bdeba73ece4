"""States and controls over time, with their limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.analysis.basics import time_axis
from trajopt.analysis.lines import Line, panels_of
from trajopt.plotting.style import GREY, canvas, house_style, legend_beside, line_look, set_time_axis, whole_figure
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from trajopt.solution import Solution


_UNLIMITED = 1e20  # files write "no limit" as inf or as a very large number
_LETTERS = 100  # number of letters that fit below the panels; the sample of a line counts as 5 [-]
_REACH = 0.3  # a limit is drawn if its line comes this close, relative to the range of the data and of the limits [-]


def plot_solution(solution: Solution, *, figure: Figure | SubFigure | None = None) -> Figure:
    """Draws configuration, velocity and control over time, one panel for each quantity and unit.

    Limits are dashed, in the colour of their line. Limits that all lines of a panel share are grey, and the region
    beyond them is shaded. A limit is left out if its line stays far from it. Continuous joints, stored as (cos, sin),
    are drawn as angles. Controls are constant over a knot and drawn as steps. The horizontal axis counts knots if there
    is no problem or no time step.

    Args:
        solution: Solution to draw.
        figure: Figure or subfigure to draw into; by default a new one.

    Returns:
        The figure; `figure.savefig("solution.png")` writes it.
    """
    columns = _columns(panels_of(solution))
    with house_style():
        rows = max(len(column) for column in columns)
        target = canvas(figure, 8.0 if len(columns) == 1 else 12.0, 0.8 + 1.9 * rows)
        drawn = _draw_columns(target, columns, *time_axis(solution))
        _draw_legends(target, drawn, len(columns))
        return whole_figure(target)


def _columns(panels: list[list[Line]]) -> list[list[list[Line]]]:
    """Arranges up to four panels in one column, more in two: configurations left, the others right."""
    if len(panels) <= 4:
        return [panels]
    split = sum(panel[0].group == "configuration" for panel in panels) or len(panels) // 2
    return [panels[:split], panels[split:]]


def _draw_columns(
    target: Figure | SubFigure, columns: list[list[list[Line]]], abscissa: Reals, label: str
) -> list[tuple[Axes, list[Line], bool]]:
    """Draws the panels; returns for each its axes, its lines, and whether it shows a limit."""
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
        set_time_axis(axes, abscissa, label)
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
    """Draws the limits close to the lines and sets the range of the panel; returns whether there are any."""
    finite = np.concatenate([line.values[np.isfinite(line.values)] for line in panel])
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    extent = max(high - low, 1e-3 * max(abs(low), abs(high)), 1e-9)
    shared = len({(line.lower, line.upper) for line in panel}) == 1
    near: list[tuple[int, float, float]] = []
    for i, line in enumerate(panel[:1] if shared else panel):
        values = finite if shared else line.values[np.isfinite(line.values)]
        reach = _REACH * extent if shared else min(_REACH * extent, _REACH * (line.upper - line.lower) / 2)
        near += [(i, limit, side) for limit, side in _near_limits(line, values, reach)]
    low, high = min([low, *(limit for _, limit, _ in near)]), max([high, *(limit for _, limit, _ in near)])
    margin = 0.07 * max(high - low, extent)
    axes.set_ylim(low - margin, high + margin)
    for i, limit, side in near:
        color = GREY if shared and len(panel) > 1 else line_look(i)["color"]
        axes.axhline(limit, color=color, linestyle="--", linewidth=1.0, alpha=0.9, label="_limit")
        if shared:
            edge = low - margin if side < 0 else high + margin
            axes.axhspan(limit, edge, color=GREY, alpha=0.15, linewidth=0, label="_beyond")
    return bool(near)


def _near_limits(line: Line, values: Reals, reach: float) -> list[tuple[float, float]]:
    """Limits that the values of a line come near or exceed, each with its side: -1 lower, 1 upper."""
    if not values.size or line.lower == line.upper:  # files write 0 and 0 where they mean none
        return []
    found = []
    for limit, side in ((line.lower, -1.0), (line.upper, 1.0)):
        closest = float(np.max(side * values))
        if abs(limit) < _UNLIMITED and side * limit - closest <= reach:
            found.append((limit, side))
    return found


def _draw_legends(target: Figure | SubFigure, drawn: list[tuple[Axes, list[Line], bool]], columns: int) -> None:
    """Draws one legend for all panels with the same line names, and a row above each other panel."""
    from matplotlib.lines import Line2D

    names = [tuple(line.name for line in panel) for _, panel, _ in drawn]
    shared = max(names, key=lambda lines: (names.count(lines), len(lines)))
    handles: list[Any] = []
    if len(shared) > 1:
        axes = drawn[names.index(shared)][0]
        handles = [h for h in axes.get_lines() if not str(h.get_label()).startswith("_")]
    if any(near for *_, near in drawn):
        handles.append(Line2D([], [], color=GREY, linestyle="--", linewidth=1.0, label="limit"))
    if handles and columns == 1:
        target.legend(handles=handles, loc="outside right upper", ncols=1 if len(handles) <= 16 else 2)
    elif handles:
        longest = max(len(str(handle.get_label())) for handle in handles)
        ncols = min(7, len(handles), max(1, _LETTERS // (longest + 5)))
        target.legend(handles=handles, loc="outside lower center", ncols=ncols)
    for (axes, panel, _), own in zip(drawn, names):
        if len(panel) > 1 and own != shared:
            _legend_above(axes, len(panel)) if sum(map(len, own)) < 60 else legend_beside(axes, len(panel))


def _legend_above(axes: Axes, entries: int) -> None:
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.1, ncols=entries, columnspacing=1.0)
