"""Plots of inverse kinematics along a path: robot, distance, joints and limits over time; an animation."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from trajopt.analysis.skeleton import skeleton_of
from trajopt.plotting.animation import write_film
from trajopt.plotting.film import filmed
from trajopt.plotting.frames import check_film_path
from trajopt.plotting.limits import draw_limit
from trajopt.plotting.motion import draw_base, draw_figures
from trajopt.plotting.obstacles import Surroundings
from trajopt.plotting.scene import draw_color_bar, scene_of
from trajopt.plotting.solids import around_solids
from trajopt.plotting.style import (
    GREY,
    RED,
    check_picture_path,
    drawing,
    legend_below,
    line_look,
    set_time_axis,
    split,
    whole_figure,
)
from trajopt.plotting.window import write
from trajopt.solution.motions import described_motion
from trajopt.solution.solution import Solution
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from trajopt.ik.path import IKPath
    from trajopt.robots.skeleton import Skeleton

_FIGURES = 8  # number of stick figures
_STEP = 0.01  # time step of an animation [s]
_FLOOR = 1e-12  # smallest distance to draw
_NAMED = 6  # largest number of joints at rest that the legend names


def plot_ik_path(
    track: IKPath, path: str | os.PathLike[str] | None = None, *, figure: Figure | SubFigure | None = None
) -> Figure:
    """Draws stick figures with the reference path, and panels over time beside them; see `IKPath.plot`."""
    file = None if path is None else check_picture_path(path)
    with drawing(figure, 13.0, 7.6) as target:
        left, right = split(target, 1, 2, width_ratios=[1.0, 1.25])
        _draw_motion(left, track)
        _draw_panels(right, track)
        whole = whole_figure(target)
        if file is not None:
            write(whole, file)
        return whole


def _draw_motion(target: Any, track: IKPath) -> None:
    skeleton, paths = _skeleton(track, track.qs)
    beside = Surroundings(track.obstacles, skeleton.points.reshape(-1, 3), _FIGURES)
    around = [paths.reshape(-1, 3), track.wanted.reshape(-1, 3), around_solids(skeleton), beside.points]
    scene = scene_of(target, skeleton.points, np.concatenate(around), None)
    beside.draw(scene)
    draw_base(scene, skeleton)
    last = len(track) - 1
    draw_figures(scene, skeleton, np.unique(np.round(np.linspace(0, last, _FIGURES)).astype(int)), last)
    for i, each in enumerate(track.wanted):
        scene.draw(each, color=GREY, linewidth=3.0, label="_" if i else "reference path", zorder=3)
    for i, each in enumerate(paths):
        scene.draw(each, color=RED, linewidth=1.3, zorder=4, label="_" if i else f"path of {', '.join(track.frames)}")
    if len(paths):
        target.legend(loc="outside upper left", ncols=2)
    draw_color_bar(target, scene.axes, track.times, "time [s]")


def _skeleton(track: IKPath, qs: Reals) -> tuple[Skeleton, Reals]:
    """Skeleton at configurations (n, nq), and the paths of the frames (frames, n, 3) [m]."""
    frames = [track.robot.frame_id(name) for name in track.frames]
    return skeleton_of(track.robot.model, qs, frames, track.robot.shapes)


def _draw_panels(target: Any, track: IKPath) -> None:
    """Draws the distance, and positions, velocities and accelerations of moving joints relative to their limits."""
    moving = np.flatnonzero(np.ptp(track.vs, axis=0) > 1e-9)
    labels = [_label(track, int(j)) for j in moving]
    a = np.vstack([track.accelerations, np.full((1, track.vs.shape[1]), np.nan)])
    _, _, slowest, fastest, most = track.limits
    panels: list[tuple[str, Reals, Reals, Reals]] = [
        ("velocity", track.vs, slowest, fastest),
        ("acceleration", a, -most, most),
    ]
    axes = target.subplots(4, sharex=True)
    distance = np.maximum(track.distance, _FLOOR)
    axes[0].plot(track.times, distance, color=RED)
    axes[0].set(yscale="log", ylabel=f"distance\nto path [{_units(track)}]")
    axes[0].set_ylim(min(1e-7, 0.5 * distance.min()), max(1e-2, 2.0 * distance.max()))
    handles = _draw_positions(axes[1], track, moving, labels)
    for panel, (label, values, least, largest) in zip(axes[2:], panels, strict=True):
        _draw_parts(panel, track.times, label, values[:, moving], least[moving], largest[moving])
    for panel in axes:
        for departure in track.departures:
            ends = track.times[[departure.first, departure.last]]
            panel.axvspan(*ends, color=GREY, alpha=0.25, linewidth=0, zorder=0)
    set_time_axis(axes[-1], track.times, "time [s]")
    if len(handles) <= 20:
        legend_below(target, [*handles, *_at_rest(track, moving)])


def _at_rest(track: IKPath, moving: Any) -> list[Any]:
    """Entry of the legend that names the joints which do not move; empty if all move, or if too many do not."""
    from matplotlib.lines import Line2D

    names = [_label(track, int(j)) for j in np.setdiff1d(np.arange(track.vs.shape[1]), moving)]
    return [Line2D([], [], linestyle="", label=f"at rest: {', '.join(names)}")] if 0 < len(names) <= _NAMED else []


def _units(track: IKPath) -> str:
    """Units of the rows in the distance from the path, such as "m, rad"; a cost has no violation."""
    tasks = list(track.residuals.values())
    counted = [task for task in tasks if np.any(task.violation)] or tasks
    return ", ".join(dict.fromkeys(unit for task in counted for unit in task.unit.split(", ")))


def _label(track: IKPath, j: int) -> str:
    model = track.robot.model
    for i in range(1, model.njoints):
        start, count = model.idx_vs[i], model.nvs[i]
        if start <= j < start + count:
            return str(model.names[i]) if count == 1 else f"{model.names[i]} {j - start}"
    return str(j)


def _draw_positions(axes: Axes, track: IKPath, moving: Any, labels: list[str]) -> list[Any]:
    """Draws positions within their range, 0 at the lower limit and 1 at the upper; joints without limits are empty."""
    model = track.robot.model
    neutral = pin.neutral(model)
    moved = np.array([pin.difference(model, neutral, q) for q in track.qs])
    low, high = track.limits[:2]
    handles = []
    bounded = np.isfinite(low) & np.isfinite(high)
    for i, (j, label) in enumerate(zip(moving, labels, strict=True)):
        values = (moved[:, j] - low[j]) / (high[j] - low[j]) if bounded[j] else np.full(len(moved), np.nan)
        handles += axes.plot(track.times, values, label=label, **line_look(i))
    _limit_lines(axes, (0.0, 1.0))
    axes.set_ylabel("position\nin its range [-]")
    return handles


def _draw_parts(axes: Axes, times: Reals, label: str, values: Reals, least: Reals, largest: Reals) -> None:
    """Draws values relative to their limits, or without limits the values themselves."""
    limit = np.where(np.isfinite(largest), largest, np.nan)
    limited = bool(np.isfinite(limit).any())
    parts = values / limit if limited else values
    for i, part in enumerate(parts.T):
        axes.plot(times, part, **line_look(i))
    if limited:
        _limit_lines(axes, (-1.0, 1.0))
        axes.set_ylabel(f"{label}\nby its limit [-]")
        return
    axes.set_ylabel(f"{label}\n[rad/s, m/s]" if label == "velocity" else f"{label}\n[rad/s², m/s²]")


def _limit_lines(axes: Axes, values: tuple[float, float]) -> None:
    for value in values:
        draw_limit(axes, value)
    margin = 0.08 * (values[1] - values[0])
    axes.set_ylim(values[0] - margin, values[1] + margin)


def motion_of_path(track: IKPath) -> Solution:
    """Returns the motion as a Solution, for films and views, with the ends of the reference paths as goals."""
    goals = tuple(zip(track.frames, track.wanted[:, -1]))
    xs = np.hstack([track.qs, track.vs])
    return described_motion(
        xs, solver="ik.track", robot=track.robot, times=track.times, goals=goals, obstacles=track.obstacles
    )


def animate_ik_path(
    track: IKPath, path: str | os.PathLike[str], *, speed: float = 1.0, frames_per_second: float = 25.0
) -> Path:
    """Writes the motion as an animation; see `IKPath.animate`."""
    file = check_film_path(path)
    every = max(1, round(_STEP / (track.times[1] - track.times[0])))
    knots = np.unique(np.r_[np.arange(0, len(track), every), len(track) - 1])
    skeleton, paths = _skeleton(track, track.qs[knots])
    trails = [*paths, *track.wanted[:, knots]]
    film = filmed(skeleton, None, times=track.times[knots], label="time [s]", trails=trails)
    write_film(film, file, speed, frames_per_second)
    return file
