"""Plot of states and controls over time, with their limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.analysis.basics import check_solution, time_axis
from trajopt.analysis.constraints import ConstraintRows, constraint_rows
from trajopt.analysis.lines import Line, all_panels, shown_panels
from trajopt.analysis.touching import touching_distance
from trajopt.plotting.bands import band_entries, bands_height, draw_bands
from trajopt.plotting.envelopes import draw_envelope, is_rough, range_entry
from trajopt.plotting.limits import (
    beyond_entry,
    close_bounds,
    draw_excess,
    draw_limit,
    limit_color,
    limit_entry,
    near_limits,
)
from trajopt.plotting.ranges import clear_range, mark_peaks, single_knots
from trajopt.plotting.style import (
    GREY,
    SCREEN,
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


_FEW = 4  # largest number of lines in a panel whose limits are drawn separately [-]
_MOST = 12  # largest number of legend entries [-]
_ROWS, _LOW = 6, 0.8  # largest number of panels in a column [-], and their smallest height [inch]
_ENTRY = 0.19  # height of an entry of a legend beside a panel [inch]


def plot_solution(solution: Solution | Sequence[Solution], *, figure: Figure | SubFigure | None = None) -> Figure:
    """Draws configuration, velocity and control over time, one panel for each quantity and unit.

    If controls are accelerations and contact forces, motor torques are drawn instead. A robot with many joints has a
    column for its base and one for each limb. Joints that are stored as (cos, sin) are drawn as angles. Controls are
    constant over a knot and drawn as steps. A noisy line of many knots is drawn by its mean and range. Without a
    problem or time steps the horizontal axis shows knots.

    A limit or bound is drawn if its line reaches half of it, see `trajopt.plotting.limits.reach_of`: grey if
    several lines of a panel share it, otherwise in the colour of the line. The region beyond a limit of all lines is
    shaded, and the area between a line and its limit where the line is beyond it. A spike that would flatten the other
    values is cut off, and its peak is written at the edge. Bounds of constraints are dashed lines, and a line is thick
    where it is at one. Below the panels each constraint has a band that is dark where it is active.

    Args:
        solution: Solution to draw; several are drawn over each other, as by `trajopt.compare(a, b).plot()`.
        figure: Figure or subfigure to draw into; by default a new one.

    Returns:
        The figure; `figure.savefig("solution.png")` writes it.
    """
    if isinstance(solution, Sequence):
        from trajopt.plotting.comparison import plot_comparison

        return plot_comparison(solution, [chr(ord("a") + i % 26) for i in range(len(solution))], figure=figure)
    panels = shown_panels(check_solution(solution))
    constraints = constraint_rows(solution)
    with drawing(figure, *panels_size(panels, constraints)) as target:
        draw_panels(target, panels, constraints, *time_axis(solution))
        return whole_figure(target)


def panels_size(panels: list[list[Line]], constraints: Sequence[ConstraintRows] = ()) -> tuple[float, float]:
    """Returns width and height [inch] of a figure for panels, with bands of constraints below."""
    columns, by_limb = _columns(panels)
    rows = max((len(column) for column in columns), default=0)
    width = SCREEN[0] if by_limb else 8.0 if len(columns) == 1 else 12.0
    return width, 0.8 + (2.4 if by_limb else 1.9) * rows + bands_height(constraints)


def draw_panels(
    target: Figure | SubFigure,
    panels: list[list[Line]],
    constraints: Sequence[ConstraintRows],
    abscissa: Reals,
    label: str,
    more: Sequence[Any] = (),
) -> list[Axes]:
    """Draws panels as in `plot_solution`, with one legend, and returns their axes.

    Args:
        target: Figure or subfigure to draw into.
        panels: Lines of each panel.
        constraints: Constraints with a band below the panels.
        abscissa: Time of each knot (T + 1,) [s], or its number.
        label: Label of the horizontal axis.
        more: Further legend entries.
    """
    tall = target.bbox.height / whole_figure(target).dpi - 1.0 - bands_height(constraints)  # [inch]
    columns, by_limb = _columns(panels, tall)
    if by_limb and constraints:
        band = bands_height(constraints) + 0.8
        target, below = split(target, 2, 1, height_ratios=[max(tall + 1.0 + band - 0.8 - band, band), band])
        axes = below.subplots()
        draw_bands(axes, constraints, abscissa)
        set_time_axis(axes, abscissa, label)
        if band_entries(constraints):
            below.legend(handles=band_entries(constraints), loc="outside right center", ncols=1)
        constraints = ()
    drawn = _draw_columns(target, columns, constraints, abscissa, label)
    if by_limb:
        _name_limbs(drawn)
    else:
        _draw_legends(target, drawn, len(columns), [*band_entries(constraints), *more])
    return [axes for axes, *_ in drawn]


def _columns(panels: list[list[Line]], tall: float = np.inf) -> tuple[list[list[list[Line]]], bool]:
    """Columns of panels, and whether each column is a limb.

    Without limbs up to six panels form one column if they fit into a height [inch], those of a limb's joints with a
    legend beside them; more form two, with configurations on the left.
    """
    limbs = list(dict.fromkeys(line.limb for panel in panels for line in panel))
    if len(limbs) > 1:
        return [[panel for panel in panels if panel[0].limb == limb] for limb in sorted(limbs, key=bool)], True
    least = sum(max(_LOW, _ENTRY * len(panel) if panel[0].owner else 0.0) for panel in panels)
    if len(panels) <= 2 or (len(panels) <= _ROWS and least <= tall):
        return [panels], False
    split = sum(panel[0].group == "configuration" for panel in panels) or -(-len(panels) // 2)
    return [panels[:split], panels[split:]], False


def has_limbs(solution: Solution) -> bool:
    """Whether the robot of a solution has so many joints that each limb has a column."""
    return _columns(all_panels(check_solution(solution)))[1]


_Drawn = list[tuple["Axes", list[Line], bool]]
"""Axes of each panel, its lines, and whether it shows a limit."""


def _draw_columns(
    target: Figure | SubFigure,
    columns: list[list[list[Line]]],
    constraints: Sequence[ConstraintRows],
    abscissa: Reals,
    label: str,
) -> _Drawn:
    """Draws the panels, of equal height unless there are limbs, and bands of constraints below the last one."""
    tall = target.bbox.height / whole_figure(target).dpi  # [inch]
    band = bands_height(constraints)
    even = not any(panel[0].limb for column in columns for panel in column)
    most = max(len(column) for column in columns)
    grid = target.add_gridspec(1, len(columns))
    drawn: _Drawn = []
    first = None
    for i, column in enumerate(columns):
        rows = most if even else len(column)
        with_band = bool(constraints) and (i == len(columns) - 1 or len(columns) == 1)
        heights = [max(tall - 1.0 - band, 1.0) / rows] * rows
        cells = grid[i].subgridspec(rows + with_band, 1, height_ratios=[*heights, *([band] if with_band else [])])
        for j, panel in enumerate(column):
            axes = target.add_subplot(cells[j], sharex=first)
            first = first or axes
            drawn.append((axes, panel, _draw_panel(axes, panel, abscissa)))
            axes.tick_params(labelbottom=j == len(column) - 1 and not with_band)
        if with_band:
            axes = target.add_subplot(cells[rows], sharex=first)
            draw_bands(axes, constraints, abscissa)
        set_time_axis(axes, abscissa, label)
    return drawn


def _draw_panel(axes: Axes, panel: list[Line], abscissa: Reals) -> bool:
    for i, line in enumerate(panel):
        look = {**line_look(i), "marker": "o" if len(abscissa) == 1 else ""}
        if is_rough(line.values):
            draw_envelope(axes, abscissa, line.values, label=line.name, **look)
        elif len(line.values) == len(abscissa):
            axes.plot(abscissa, line.values, label=line.name, **look)
        else:  # a control is constant until the next knot
            axes.plot(abscissa, _held(line.values), label=line.name, drawstyle="steps-post", **look)
    unit = f" [{panel[0].unit}]" if panel[0].unit else ""
    axes.set_ylabel(panel[0].quantity + unit)
    title = panel[0].owner or (panel[0].name if len(panel) == 1 else "")
    if title:
        axes.set_title(title, fontweight="normal", pad=3)
    return _set_range(axes, panel, abscissa)


def _held(values: Reals) -> Reals:
    return np.append(values, values[-1:])


def _set_range(axes: Axes, panel: list[Line], abscissa: Reals) -> bool:
    """Sets the range of a panel and draws limits close to its lines; returns whether there are any."""
    values = np.concatenate([line.values for line in panel])
    low, high = clear_range(values)
    low, high = _with_bounds(panel, low, high)
    extent = max(high - low, 1e-3 * max(abs(low), abs(high)), 1e-9)
    shared = len({(line.lower, line.upper) for line in panel}) == 1
    near: list[tuple[int, float, float]] = []
    for i, line in enumerate(panel):
        near += [(i, *each) for each in near_limits(line, line.values[np.isfinite(line.values)], extent)]
    drawn = {(limit, side): i for i, limit, side in reversed(near) if shared or len(panel) <= _FEW}
    bottom, top = min([low, *(limit for limit, _ in drawn)]), max([high, *(limit for limit, _ in drawn)])
    margin = 0.07 * max(top - bottom, extent)
    axes.set_ylim(bottom - margin, top + margin)
    for (limit, side), i in drawn.items():  # including those that only a spike exceeds
        color = limit_color(panel, limit, side, line_look(i)["color"])
        edge = bottom - margin if side < 0 else top + margin
        draw_limit(axes, limit, color=color, edge=edge if shared else None)  # others' shades would cover each other
    for i, limit, side in near:
        _fill_excess(axes, panel[i], limit, side, abscissa, line_look(i)["color"])
    held = _draw_bounds(axes, panel, abscissa, extent)
    mark_peaks(axes, panel, abscissa)
    return bool(near) or held


def _with_bounds(panel: list[Line], low: float, high: float) -> tuple[float, float]:
    """Range of a panel, extended by close bounds, and by close equations of constraints."""
    extent = max(high - low, 1e-9)
    ends = [np.zeros(0)]
    for line in panel:
        if line.least is None or line.most is None:
            continue
        below, above = close_bounds([line], extent)
        goals = line.least[(line.least == line.most) & np.isfinite(line.least)]
        ends += [line.least[below], line.most[above], goals[(goals > low - extent) & (goals < high + extent)]]
    return min(low, np.concatenate(ends).min(initial=low)), max(high, np.concatenate(ends).max(initial=high))


def _draw_bounds(axes: Axes, panel: list[Line], abscissa: Reals, extent: float) -> bool:
    """Draws bounds of constraints, and thick lines where lines are at them; returns whether there are any."""
    drawn = False
    for i, line in enumerate(panel):
        if line.least is None or line.most is None:
            continue
        look: dict[str, Any] = {"color": line_look(i)["color"]}
        steps = len(line.values) < len(abscissa)
        if steps:
            look["drawstyle"] = "steps-post"
        for side, bounds in ((-1.0, line.least), (1.0, line.most)):
            finite = np.where(np.isfinite(bounds), bounds, np.nan)
            alike = [k for k, other in enumerate(panel) if _has_bounds(other, bounds, side)]
            if close_bounds([panel[k] for k in alike], extent)[side > 0].any():
                drawn = True
                if i == alike[0]:
                    shown = np.where(line.least == line.most, np.nan, finite)
                    color = limit_color(panel, bounds, side, look["color"])
                    draw_limit(axes, _held(shown) if steps else shown, abscissa, color=color, steps=steps,
                               label="_bound")  # fmt: skip
            touched = np.abs(line.values - finite) <= touching_distance(line.values, bounds, bounds)
            drawn = drawn or bool(touched.any())
            _draw_touched(axes, abscissa, np.where(touched, finite, np.nan), look)
    return drawn


def _has_bounds(line: Line, bounds: Reals, side: float) -> bool:
    """Whether a line has lower (-1) or upper (1) bounds."""
    own = line.least if side < 0 else line.most
    return own is not None and np.array_equal(own, bounds)


def _draw_touched(axes: Axes, abscissa: Reals, values: Reals, look: dict[str, Any]) -> None:
    """Draws a thick line where a line is at a bound, at values (n,), NaN elsewhere; at a single knot a dot."""
    if np.isfinite(values).any():
        values = values if len(values) == len(abscissa) else _held(values)
        single = single_knots(values)
        axes.plot(abscissa, values, linewidth=4.5, alpha=0.35, solid_capstyle="butt", label="_touched",
                  marker="o" if single else "", markevery=single or None, markersize=7, clip_on=False,
                  **look)  # fmt: skip


def _fill_excess(axes: Axes, line: Line, limit: float, side: float, abscissa: Reals, color: Any) -> None:
    """Fills the area between a line and its limit where the line is beyond it."""
    steps = len(line.values) < len(abscissa)
    values = _held(line.values) if steps else line.values
    draw_excess(axes, abscissa, values, limit, side, color=color, steps=steps)


def _name_limbs(drawn: _Drawn) -> None:
    """Writes the limb above each column, and the joint names, without that of the limb, below it."""
    limbs = list(dict.fromkeys(panel[0].limb for _, panel, _ in drawn))
    for limb in limbs:
        mine = [(axes, panel) for axes, panel, _ in drawn if panel[0].limb == limb]
        if not limb:
            for axes, panel in mine:
                axes.set_title("")
                axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.1, ncols=len(panel),
                            columnspacing=0.7, handlelength=0.9, handletextpad=0.3)  # fmt: skip
            mine[0][0].set_title("base")
            continue
        mine[0][0].set_title(limb)
        axes, panel = mine[-1]
        handles = [h for h in axes.get_lines() if not str(h.get_label()).startswith("_")][:_MOST]
        names = [line.name.removeprefix(limb).removesuffix("_joint").strip("_") for line in panel[:_MOST]]
        if len(panel) > _MOST:
            names[-1] += f" and {len(panel) - _MOST} more"
        ncols = 3 if max(map(len, names)) <= 6 else 2 if max(map(len, names)) <= 14 else 1
        axes.legend(handles, names, loc="upper center", bbox_to_anchor=(0.5, -0.32), ncols=ncols, columnspacing=1.0)


def _draw_legends(target: Figure | SubFigure, drawn: _Drawn, columns: int, more: Sequence[Any]) -> None:
    """Draws one legend for all panels with the same line names, and a legend row above each other panel."""
    from matplotlib.lines import Line2D

    names = [tuple(line.name for line in panel) for _, panel, _ in drawn]
    shared = max(names, key=lambda lines: (names.count(lines), len(lines)))
    shared = shared if names.count(shared) > 1 and len(shared) > 1 else ()
    beside = [lines for (_, panel, _), lines in zip(drawn, names) if panel[0].owner and len(lines) > 1]
    shared = () if len(set(beside)) > 1 else shared  # limbs with different joints have their own legends
    handles: list[Any] = []
    if shared:
        axes = drawn[names.index(shared)][0]
        handles = [h for h in axes.get_lines() if not str(h.get_label()).startswith("_")]
    labels = {
        str(artist.get_label()) for axes, *_ in drawn for artist in (*axes.lines, *axes.patches, *axes.collections)
    }
    shades = {"_excess": "beyond a limit", "_beyond": "range outside limits"}
    handles += [beyond_entry(words) for label, words in shades.items() if label in labels]
    dashed = ["limit"] if "_limit" in labels and "_beyond" not in labels else []
    dashed += ["bound of a constraint"] if "_bound" in labels else []
    if dashed:
        handles.append(limit_entry(" or ".join(dashed)))
    if "_touched" in labels:
        handles.append(Line2D([], [], color=GREY, linewidth=4.5, alpha=0.5, label="line at its bound"))
    touched = [line for axes, *_ in drawn for line in axes.lines if line.get_label() == "_touched"]
    if any(line.get_marker() == "o" for line in touched):
        dot: dict[str, Any] = {"linestyle": "", "marker": "o", "markersize": 7, "alpha": 0.5}
        handles.append(Line2D([], [], color=GREY, label="line at its bound at one time", **dot))
    handles += [range_entry()] if "_range" in labels else []
    handles += more
    if handles and columns == 1 and shared:
        target.legend(handles=handles, loc="outside right upper", ncols=1 if len(handles) <= 16 else 2)
    elif handles:
        legend_below(target, handles)
    for (axes, panel, _), own in zip(drawn, names):
        if len(panel) > 1 and own != shared:
            wide = target.bbox.width / whole_figure(target).dpi / columns - 1.2  # [inch]
            above = 0.5 * len(own) + 0.07 * sum(map(len, (panel[0].owner, *own))) < wide
            _legend_above(axes, len(panel)) if above else legend_beside(axes, len(panel))


def _legend_above(axes: Axes, entries: int) -> None:
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.1, ncols=entries, columnspacing=1.0)
