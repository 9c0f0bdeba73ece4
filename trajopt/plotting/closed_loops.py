"""Plots of closed loops: tracking, controls with limits, computation times, and all on one page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.analysis.constraints import HELD, constraint_rows
from trajopt.analysis.lines import panels_of
from trajopt.analysis.obstacles import as_obstacles
from trajopt.analysis.quantities import STATE_QUANTITIES
from trajopt.analysis.vehicles import in_vertical_plane
from trajopt.checks import check_text
from trajopt.errors import InvalidArgumentError
from trajopt.mpc.report import PERCENTILE, unreached
from trajopt.plotting.animation import write_film
from trajopt.plotting.closed_loop_panels import busy_panels, complete, distance_panels, estimate_panels
from trajopt.plotting.film import film_of
from trajopt.plotting.inline_film import inline_film
from trajopt.plotting.limits import close_bounds, draw_limit, limit_entry
from trajopt.plotting.motion import has_motion, plot_motion
from trajopt.plotting.path import has_path, plot_path
from trajopt.plotting.scene import SceneLines
from trajopt.plotting.sensed import Sensed
from trajopt.plotting.style import (
    BLUE,
    GREEN,
    GREY,
    PALETTE,
    RED,
    SCREEN,
    canvas,
    check_picture_path,
    drawing,
    house_style,
    legend_below,
    line_look,
    set_time_axis,
    split,
    whole_figure,
)
from trajopt.plotting.trajectory import draw_panels, panels_size
from trajopt.plotting.window import write
from trajopt.robots.scene import ObstaclesLike
from trajopt.solution import Solution
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from trajopt.mpc.log import ClosedLoop
    from trajopt.mpc.tracking import Tracked
    from trajopt.planar import OccupancyGrid, Scan

_PUSH = PALETTE[4]
_PANEL = 7  # largest number of lines of a tracked quantity in a panel [-]
_MOST, _ON_PAGE = 10, 4  # largest number of panels of tracked quantities, alone and on a page [-]
_LOW = 1.2  # height of a panel below which its label has two lines [inch]
_FLOOR = 1e-10  # smallest violation to draw [unit of the row]
_BINS = 60
_TIME = "time [s]"
_REFERENCE: dict[str, Any] = {"linestyle": ":", "linewidth": 1.4}  # bounds are dashed


def plot_tracking(log: ClosedLoop, *, figure: Figure | SubFigure | None = None, most: int = _MOST) -> Figure:
    """Draws the tracked quantities, with their references dashed; without references it draws the states.

    Args:
        log: The closed loop.
        figure: Figure or subfigure to draw into; by default a new one.
        most: Largest number of panels.
    """
    motion, times = motion_of(log), log.sample_times
    tracked = log.tracked
    with house_style():
        if not tracked:
            panels = [panel for panel in panels_of(motion) if panel[0].group in ("configuration", "velocity", "state")]
            target = canvas(figure, *panels_size(panels))
            _mark_pushes(log, draw_panels(target, panels, (), times, _TIME, _push_entries(log)))
            return whole_figure(target)
        parts = [part for each in tracked for part in _parts(each)][:most]
        target = canvas(figure, 8.0, 0.9 + 1.9 * len(parts))
        drawn = target.subplots(len(parts), sharex=True, squeeze=False)[:, 0]
        for axes, (each, columns) in zip(drawn, parts):
            _draw_tracked(axes, each, columns, times[:-1])
            _draw_tracked_bounds(axes, each, columns, motion, times)
        set_time_axis(drawn[-1], times, _TIME)
        _mark_pushes(log, list(drawn))
        bounded = any(line.get_label() == "_bound" for axes in drawn for line in axes.lines)
        entries = [limit_entry("bound of a constraint")] if bounded else []
        legend_below(target, [_reference_entry(), *entries, *_push_entries(log)])
        return whole_figure(target)


def _parts(tracked: Tracked) -> list[tuple[Tracked, slice]]:
    n = len(tracked.labels)
    return [(tracked, slice(i, i + _PANEL)) for i in range(0, n, _PANEL)]


def _draw_tracked(axes: Axes, tracked: Tracked, columns: slice, times: Reals) -> None:
    names = tracked.labels[columns]
    for i, name in enumerate(names):
        look = line_look(i)
        axes.plot(times, tracked.reference[:, columns][:, i], color=look["color"], **_REFERENCE)
        axes.plot(times, tracked.actual[:, columns][:, i], label=name or tracked.name, **look)
    if columns.start == 0:
        _head(axes, tracked)
    quantity = STATE_QUANTITIES.get(tracked.unit, "")
    if tracked.unit:
        low = axes.bbox.height / whole_figure(axes.figure).dpi < _LOW
        axes.set_ylabel(f"{quantity}{chr(10) if low else ' '}[{tracked.unit}]".strip())
    else:
        axes.set_ylabel("")
    if len(names) > 1:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.03), borderaxespad=0.3)


def _draw_tracked_bounds(axes: Axes, tracked: Tracked, columns: slice, motion: Solution, times: Reals) -> None:
    """Draws bounds of constraints on coordinates of the state that are tracked, where these come close to them."""
    low, high = axes.get_ylim()
    for i, actual in enumerate(tracked.actual[:, columns].T):
        for line in motion.description.lines:
            if line.least is None or line.most is None or not np.array_equal(line.values[: len(actual)], actual):
                continue
            for bounds, close in zip((line.least, line.most), close_bounds([line], high - low)):
                if close.any():
                    there = np.isfinite(bounds) & (line.least != line.most)
                    look = {"color": line_look(i)["color"], "label": "_bound"}
                    draw_limit(axes, np.where(there, bounds, np.nan), times, **look)


def _head(axes: Axes, tracked: Tracked) -> None:
    """Writes name and errors of a tracked quantity above its first panel."""
    errors = tracked.errors
    unit = f" {tracked.unit}" if tracked.unit else ""
    note = f"{tracked.measure} {_rms(errors):.3g}{unit} rms, {np.nanmax(errors, initial=0.0):.3g}{unit} at most"
    single = tracked.labels[0] if len(tracked.labels) == 1 and not tracked.name.endswith(tracked.labels) else ""
    title = axes.set_title(f"{tracked.name} {single}".rstrip())
    axes.annotate(note, (1.0, 0.0), (8, 0), xycoords=title, textcoords="offset points", fontsize=8, va="bottom")


def _rms(values: Reals) -> float:
    finite = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(finite**2))) if finite.size else 0.0


def plot_closed_loop_controls(log: ClosedLoop, *, figure: Figure | SubFigure | None = None) -> Figure:
    """Draws distances, estimates, controls, and a band per constraint: dark where active, red where violated.

    Controls that stay below 1 % of their limits are named beside the others only.

    Args:
        log: The closed loop.
        figure: Figure or subfigure to draw into; by default a new one.
    """
    motion = motion_of(log)
    apart, (panels, notes) = [*distance_panels(motion), *estimate_panels(log)], busy_panels(motion)
    panels, constraints = [*apart, *panels], constraint_rows(motion)
    with drawing(figure, *panels_size(panels, constraints)) as target:
        axes = draw_panels(target, panels, constraints, log.sample_times, _TIME, _push_entries(log))
        complete(axes, apart, notes, log)
        _mark_pushes(log, axes)
        return whole_figure(target)


def plot_timing(log: ClosedLoop, *, figure: Figure | SubFigure | None = None) -> Figure:
    """Draws histograms of step times and feedback times, with 99th percentiles and the control period.

    Args:
        log: The closed loop.
        figure: Figure or subfigure to draw into; by default a new one.
    """
    with drawing(figure, 8.0, 3.6) as target:
        _draw_timing(target.subplots(), log)
        return whole_figure(target)


def _draw_timing(axes: Axes, log: ClosedLoop) -> None:
    kinds = {"whole steps": (1e3 * log.step_times, BLUE), "feedback phases": (1e3 * log.feedback_times, GREEN)}
    values = np.concatenate([times for times, _ in kinds.values()])
    values = values[values > 0.0]
    low, high = (float(values.min()), float(values.max())) if values.size else (0.1, 1.0)
    low, high = min(low, 1e3 * log.dt) / 1.15, max(high, 1e3 * log.dt) * 1.15
    bins = np.geomspace(low, high, _BINS + 1)
    for name, (times, color) in kinds.items():
        top = float(np.percentile(times, PERCENTILE)) if times.size else 0.0
        axes.hist(times, bins=bins.tolist(), color=color, alpha=0.45, label=name)
        label = f"{PERCENTILE:.0f} % of {name} below {top:.3g} ms"
        axes.axvline(top, color=color, linewidth=1.4, label=label)
    axes.axvline(1e3 * log.dt, color=GREY, linewidth=1.2, linestyle="--", label=f"control period {1e3 * log.dt:g} ms")
    misses = int(np.count_nonzero(log.deadline_misses))
    axes.set_title(f"{misses} of {len(log)} steps took longer than the control period", fontweight="normal")
    axes.set(xscale="log", xlim=(low, high), xlabel="time [ms]", ylabel="steps")
    _plain_ticks(axes, low, high)
    handles, labels = axes.get_legend_handles_labels()
    order = [labels.index(label) for label in labels if label in kinds] + [
        i for i, label in enumerate(labels) if label not in kinds
    ]
    axes.legend([handles[i] for i in order], [labels[i] for i in order], loc="upper left", bbox_to_anchor=(1.0, 1.03))


def _plain_ticks(axes: Axes, low: float, high: float) -> None:
    """Labels a logarithmic axis with numbers such as 0.2 and 5."""
    from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

    steps = (1, 2, 5) if high / low < 1e3 else (1,)
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    ticks = [tick for power in powers for step in steps if low <= (tick := step * 10.0**power) <= high]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.set_xticks(ticks, labels=[f"{tick:g}" for tick in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())


def _draw_violations(axes: Axes, log: ClosedLoop) -> None:
    """Draws the largest violation of each violated constraint and of the plans, and marks failed steps."""
    times = log.times[:-1]
    shown = list(log.violated)[: len(PALETTE) - 1]
    points: dict[str, Any] = {"linestyle": "", "marker": ".", "markeredgewidth": 0.0}
    planned = float(log.plan_violations.max(initial=0.0))
    if shown or planned > HELD:
        axes.set_yscale("log")
        axes.set_ylim(HELD / 10, 3.0 * max(planned, HELD, *log.violated.values()))
        draw_limit(axes, HELD)
    if planned > HELD:
        axes.plot(times, _above_floor(log.plan_violations), color=GREY, label="planned, worst knot", markersize=3.5,
                  **points)  # fmt: skip
        if not shown:
            axes.set_title("all constraints hold in closed loop; plans violate some ahead", fontweight="normal")
    for i, name in enumerate(shown):
        axes.plot(times, _above_floor(log.violations[name]), label=name, color=PALETTE[i], markersize=6, **points)
    failed = times[log.statuses == "failed"]
    if failed.size:
        axes.plot(failed, np.full(failed.shape, 0.02), "|", color=RED, markersize=9, label="failed step",
                  transform=axes.get_xaxis_transform(), clip_on=False)  # fmt: skip
    axes.set_ylabel("violation")
    if shown or planned > HELD:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.03), borderaxespad=0.3, markerscale=2.0)
    else:
        axes.set_yticks([])
        words = "all constraints hold to 1e-6" if log.violations else "the problem has no constraints"
        axes.text(0.5, 0.5, words, transform=axes.transAxes, ha="center", va="center", color="#555555")
    set_time_axis(axes, log.times, _TIME)


def _above_floor(values: Reals) -> Reals:
    return np.where(values > _FLOOR, values, np.nan)


def plot_closed_loop(
    log: ClosedLoop,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
    obstacles: ObstaclesLike = (),
    lines: Sequence[npt.ArrayLike] = (),
    grid: OccupancyGrid | None = None,
    scans: Scan | Sequence[Scan] = (),
) -> Figure:
    """Draws motion, tracking, controls, violations and computation times in one figure of screen size.

    Args:
        log: The closed loop.
        path: File to write (.png, .pdf or .svg).
        title: Text before the outcome in the heading.
        obstacles: Obstacles to draw with the motion, as in `trajopt.plotting.plot_path`.
        lines: Polylines to draw with the motion, such as gates and rails, as in `trajopt.plotting.plot_path`.
        grid: Map to draw with the motion.
        scans: LIDAR scan, or one for each control period.

    Raises:
        InvalidArgumentError: `path` cannot be written, or the log has no steps.
    """
    path = None if path is None else check_picture_path(path)
    title = "" if title is None else f"{check_text('title', title)}, "
    as_obstacles(obstacles)  # here too, as some motions are drawn without a scene
    motion = motion_of(log)
    lines = SceneLines(lines, (), in_vertical_plane(motion)).lines
    with house_style():
        figure = whole_figure(canvas(None, *SCREEN, apart=path is not None))
        heading = f"{title}{log.times[-1]:g} s of closed loop in {len(log)} steps of {1e3 * log.dt:g} ms: {log.outcome}"
        heading += f"\n{words}" if (words := unreached(log)) else ""
        figure.suptitle(heading, fontsize=10.5, fontweight="bold", x=0.01, ha="left")
        left, right = split(figure, 1, 2, wspace=0.02)
        upper, lower = split(right, 2, 1, height_ratios=[1.9, 1.0])
        if has_motion(motion) or has_path(motion):
            above, left = split(left, 2, 1, height_ratios=[1.0, 1.2])
            around: dict[str, Any] = {"obstacles": obstacles, "lines": lines, "grid": grid}
            _draw_motion(log, above, scans=samples_of(log, scans), **around)
        plot_tracking(log, figure=left, most=_ON_PAGE)
        plot_closed_loop_controls(log, figure=upper)
        first, second = split(lower, 2, 1)
        _draw_violations(first.subplots(), log)
        _draw_timing(second.subplots(), log)
        if path is not None:
            write(figure, path)
    return figure


def _draw_motion(log: ClosedLoop, figure: SubFigure, **around: Any) -> None:
    motion, (reference, frame) = motion_of(log), _asked_path(log)
    if len(reference) and not np.ptp(reference, axis=0).any():  # a place, which a line would not show
        around, reference = {**around, "targets": reference[0]}, reference[:0]
    if has_motion(motion):
        plot_motion(motion, 8, frame=frame or None, reference=reference, figure=figure, **around)
    else:
        plot_path(motion, 12, reference=reference, estimates=_estimated_places(log), figure=figure, **around)


def _estimated_places(log: ClosedLoop) -> Reals:
    """Points (n, 3) of the states that the controller received, of coordinates x, y and z; empty if all were true."""
    names, true = log.coordinate_names, log.xs[:-1]
    axes = [(i, names.index(name)) for i, name in enumerate("xyz") if name in names]
    if np.array_equal(log.estimates, true) or not axes:
        return np.zeros((0, 3))
    points = np.zeros((len(true), 3))
    for i, column in axes:
        points[:, i] = log.estimates[:, column]
    return points[np.isfinite(points).all(axis=1)]


def _asked_path(log: ClosedLoop) -> tuple[Reals, str]:
    """Points (n, 3) [m] of the first reference that is a path of positions, and its frame; empty if there is none."""
    for each in log.tracked:
        if each.unit == "m" and each.labels in (("x", "y"), ("x", "z"), ("x", "y", "z")):
            points = np.zeros((len(each.reference), 3))
            points[:, ["xyz".index(axis) for axis in each.labels]] = each.reference
            points[np.isnan(each.reference).any(axis=1)] = np.nan
            return points, each.frame
    return np.zeros((0, 3)), ""


def _mark_pushes(log: ClosedLoop, drawn: list[Axes]) -> None:
    """Marks the pushes of a closed loop in panels over time."""
    for axes in drawn:
        for push in _finite_pushes(log):
            if push.duration:
                axes.axvspan(push.time, min(push.end, log.times[-1]), color=_PUSH, alpha=0.18, linewidth=0, zorder=0)
            axes.axvline(push.time, color=_PUSH, linewidth=1.0, zorder=0)


def _finite_pushes(log: ClosedLoop) -> list[Any]:
    """Pushes with an end, without functions that act at all times."""
    return [push for push in log.pushes if push.time <= log.times[-1] and push.duration < 1e8]


def _push_entries(log: ClosedLoop) -> list[Any]:
    from matplotlib.lines import Line2D

    return [Line2D([], [], color=_PUSH, linewidth=1.2, label="push")] if _finite_pushes(log) else []


def _reference_entry() -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=GREY, label="reference", **_REFERENCE)


def animate_closed_loop(
    log: ClosedLoop,
    path: str | Path | None = None,
    *,
    speed: float = 1.0,
    obstacles: ObstaclesLike = (),
    lines: Sequence[npt.ArrayLike] = (),
    grid: OccupancyGrid | None = None,
    scans: Scan | Sequence[Scan] = (),
) -> Path:
    """Writes the motion as an animation; see `ClosedLoop.animate`."""
    checked = inline_film(path)
    film = film_of(motion_of(log), obstacles, lines, grid=grid, scans=samples_of(log, scans))
    write_film(film, checked, speed, 25.0)
    return checked


def samples_of(log: ClosedLoop, scans: Any) -> tuple[Scan, ...]:
    """Returns the scans at the samples of a closed loop's motion.

    Args:
        log: The closed loop.
        scans: One scan, or one for each control period, and one more for the end.
    """
    several = Sensed(None, scans).several
    return several[:: log.every] if len(several) in (len(log), len(log) + 1) else several


def motion_of(log: ClosedLoop) -> Solution:
    """Returns the motion of a closed loop; raises InvalidArgumentError if it ended in its first period."""
    if log.motion is None:
        raise InvalidArgumentError(
            "log: expected a closed loop with at least one step, got one that ended in its first period"
        )
    return log.motion
