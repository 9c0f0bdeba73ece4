"""Plot of the path of a single body, for models without a robot such as a unicycle or a quadrotor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.analysis.basics import check_solution, time_axis
from trajopt.analysis.vehicles import in_vertical_plane, outlines_of, seen_along, vehicle_of
from trajopt.analysis.walls import walls_of
from trajopt.checks import check_array, check_count
from trajopt.errors import InvalidArgumentError
from trajopt.plotting.obstacles import Surroundings, obstacles_to_draw
from trajopt.plotting.scene import Canvas, SceneLines, check_points, draw_color_bar, scene_of
from trajopt.plotting.sensed import Sensed
from trajopt.plotting.style import GREY, PALETTE, RAMP, RED, drawing, time_ramp, whole_figure
from trajopt.plotting.walls import draw_walls, near_walls, wall_points
from trajopt.robots.scene import ObstaclesLike
from trajopt.states.place_names import NAMES_OF_PLACES
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

    from trajopt.planar import OccupancyGrid, Scan
    from trajopt.solution import Solution


AXIS = 0.09  # length of the body's axes, relative to the size of the plot [-]
ESTIMATES: dict[str, Any] = {"color": PALETTE[3], "marker": ".", "linestyle": "", "markersize": 2.5, "zorder": 3.2}
BODY_AXES = ((RED, "x"), (PALETTE[2], "y"), (PALETTE[0], "z"))


def has_path(solution: Solution) -> bool:
    """Whether the states of a solution are poses of a body, whose path can be drawn."""
    return solution.description.poses is not None


def plot_path(
    solution: Solution,
    frames: int = 12,
    *,
    targets: npt.ArrayLike | None = None,
    obstacles: ObstaclesLike = (),
    lines: Sequence[npt.ArrayLike] = (),
    reference: npt.ArrayLike = (),
    grid: OccupancyGrid | None = None,
    scans: Scan | Sequence[Scan] = (),
    estimates: npt.ArrayLike = (),
    view: tuple[float, float] | None = None,
    figure: Figure | SubFigure | None = None,
) -> Figure:
    """Draws the path of a body from the first knot (light) to the last (dark), with the body's axes at some knots.

    A path along only two of the world's axes is drawn in their plane.

    Args:
        solution: Solution to draw; the states of its problem are poses, see `StateAbstract.body_poses`.
        frames: Number of knots with axes, >= 1 [-].
        targets: Points to mark, shape (3,) or (n, 3), in the world [m]. By default the goals of terminal costs and
            constraints, and waypoints, which are goals at a few knots; an empty sequence marks none.
        obstacles: A Scene, bodies such as Box, or rows: upright cylinders (x, y, radius), shape (n, 3), or balls
            (x, y, z, radius), shape (n, 4) [m]. By default those of distance costs and constraints; those
            that move have the colours of the times.
        lines: Polylines to draw, such as gates, each with points (n, 2) or (n, 3) [m]; (n, 2) are x and z for a body
            whose state has x and z alone.
        reference: Points (n, 2) or (n, 3) of the reference path, drawn dashed, with gaps at NaN [m].
        grid: Map of the plane to draw, its occupied cells in grey.
        scans: LIDAR scan, or one for each knot, whose readings are drawn as points.
        estimates: Points (n, 3) at which an estimator believed the body to be, drawn as dots [m].
        view: Elevation and azimuth of the camera [deg]; by default it looks across the main direction of the path.
        figure: Figure or subfigure to draw into; by default a new one.

    Returns:
        The figure; `figure.savefig("path.png")` writes it.

    Raises:
        InvalidArgumentError: The solution has no problem, its states are not poses, or an argument has a wrong value.
    """
    poses = check_solution(solution).description.poses
    if poses is None:
        raise InvalidArgumentError(
            f"solution: expected a problem whose states are poses, got another; name the coordinates of a StateVector "
            f"{NAMES_OF_PLACES}, or use plot_solution, which draws any state"
        )
    check_count("frames", frames, least=1)
    if view is not None:
        check_array("view", view, (2,), cure="elevation and azimuth [deg]")
    believed = check_points("estimates", estimates)
    marks = check_points("targets", solution.description.pose_goals if targets is None else targets)
    beside = Surroundings(obstacles_to_draw(solution, obstacles), poses[:, :3, 3], frames)
    around = SceneLines(lines, reference, in_vertical_plane(solution))
    points, sensed = poses[:, :3, 3], Sensed(grid, scans, len(poses) - 1)
    with drawing(figure, 7.2, 6.0) as target:
        walls = near_walls(walls_of(solution), np.concatenate([points, marks]))
        more = [beside.points, around.points, wall_points(walls, points), sensed.points(points), believed]
        everything, outlines = np.concatenate([points, marks, *more]), _outlines(solution, points, frames)
        axes = axes_at(poses[spread(points, frames)], axis_length(everything, outlines))
        body = [axes.reshape(-1, 3), outlines[np.isfinite(outlines).all(axis=2)]]
        scene = scene_of(target, points[:, None], np.concatenate([everything, *body]), view, seen_along(solution))
        beside.draw(scene)
        draw_walls(scene, walls)
        sensed.draw(scene)
        around.draw(scene)
        scene.draw(points, color=GREY, linewidth=1.2, zorder=2, label="path")
        if len(believed):
            scene.draw(believed, label="estimates", **ESTIMATES)
        shade = time_ramp()(np.linspace(0.0, 1.0, len(points)) if len(points) > 1 else np.ones(1))
        for t, point in enumerate(points):
            scene.draw(point[None], color=shade[t], marker="o", markersize=4, linestyle="", zorder=3, label="_knot")
        if outlines.size:
            scene.draw(_apart(outlines), color=RAMP[1], linewidth=1.0, zorder=2.5, label=vehicle_of(solution).label)
        _draw_axes(scene, axes)
        if len(marks):
            scene.draw(marks, color=RED, marker="*", linestyle="", markersize=12, markeredgecolor="white",
                       label="target" if len(marks) == 1 else "targets", zorder=6)  # fmt: skip
        target.legend(loc="outside upper left", ncols=6)
        draw_color_bar(target, scene.axes, *time_axis(solution))
        return whole_figure(target)


def spread(points: Reals, frames: int) -> npt.NDArray[np.int_]:
    """Knots at even distances along the path, including the first and the last."""
    way = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    return np.unique([int(np.argmin(np.abs(way - place))) for place in np.linspace(0.0, way[-1], frames)])


def _outlines(solution: Solution, points: Reals, frames: int) -> Reals:
    """Outlines of a vehicle at some knots (k, n, 3), so few that they overlap by half at most; empty for others."""
    outlines = outlines_of(solution)
    if outlines.size:
        size = float(np.nanmax(np.ptp(outlines[0][~np.isnan(outlines[0, :, 0])], axis=0)))
        way = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
        frames = int(np.clip(round(2.0 * way / size) + 1, min(2, frames), frames))
    return outlines[spread(points, frames)]


def axis_length(points: Reals, outlines: Reals, times: float = 1.0) -> float:
    """Length of the body's axes in a picture with points (n, 3); with a vehicle, at most that of its outlines [m].

    Args:
        points: All points of the picture [m].
        outlines: Outlines of the vehicle (k, n, 3), with gaps at NaN [m]; empty for other bodies.
        times: Length of the axes of other bodies, relative to that in a still picture [-].
    """
    length = times * AXIS * float(np.ptp(points, axis=0).max())
    if not outlines.size:
        return length
    return min(length, float(np.nanmax(np.ptp(outlines[:, ~np.isnan(outlines[0, :, 0])], axis=1))))


def axes_at(poses: Reals, length: float) -> Reals:
    """Returns origin and end of each axis of the body, shape (n, 3, 2, 3) [m]; empty for a point without rotation."""
    turns = poses[:, :3, :3]
    if np.all(turns == np.eye(3)):
        return np.zeros((0, 3, 2, 3))
    origins = np.repeat(poses[:, None, :3, 3], 3, axis=1)
    return np.stack([origins, origins + length * np.swapaxes(turns, 1, 2)], axis=2)


def _apart(lines: Reals) -> Reals:
    """Joins lines (n, m, 3) with gaps between them."""
    gaps = np.full((len(lines), 1, 3), np.nan)
    return np.concatenate([lines, gaps], axis=1).reshape(-1, 3)


def _draw_axes(scene: Canvas, axes: Reals) -> None:
    """Draws the axes of the body (n, 3, 2, 3) that are visible in the view."""
    for i, (color, name) in enumerate(BODY_AXES):
        across = np.ptp(axes[:, i], axis=1)
        if np.any(across[:, list(scene.shown)] > 1e-2 * np.max(across, initial=0.0)):
            scene.draw(_apart(axes[:, i]), color=color, linewidth=1.8, zorder=4, label=f"body {name}")
