"""Plot of a robot's motion as stick figures at some knots."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trajopt.analysis.basics import check_solution, robot_of, time_axis
from trajopt.analysis.goals import shown_goals
from trajopt.analysis.legs import legged_motion
from trajopt.analysis.skeleton import Skeleton, skeleton_of
from trajopt.analysis.thick_links import thick_links
from trajopt.analysis.vehicles import in_vertical_plane
from trajopt.analysis.walls import walls_of
from trajopt.checks import check_array, check_count, check_texts
from trajopt.errors import InvalidArgumentError, shown, unknown_name
from trajopt.plotting.ground import draw_balls, draw_planes, draw_relief
from trajopt.plotting.obstacles import Surroundings, obstacles_to_draw
from trajopt.plotting.scene import Canvas, SceneLines, check_points, draw_color_bar, scene_of
from trajopt.plotting.sensed import Sensed
from trajopt.plotting.solids import around_solids, draw_solids, held_paths, without_released
from trajopt.plotting.style import GREY, RED, drawing, time_ramp, whole_figure
from trajopt.plotting.walls import draw_walls, near_walls, wall_points
from trajopt.robots.frame_index import frame_index
from trajopt.robots.scene import ObstaclesLike
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

    from trajopt.planar import OccupancyGrid, Scan
    from trajopt.solution import Solution


_RAIL = 0.1  # length of a rail beyond the way of its slider, relative to the way [-]


def plot_motion(
    solution: Solution,
    frames: int = 8,
    *,
    frame: str | Sequence[str] | None = None,
    targets: npt.ArrayLike | None = None,
    obstacles: ObstaclesLike = (),
    lines: Sequence[npt.ArrayLike] = (),
    reference: npt.ArrayLike = (),
    grid: OccupancyGrid | None = None,
    scans: Scan | Sequence[Scan] = (),
    view: tuple[float, float] | None = None,
    figure: Figure | SubFigure | None = None,
) -> Figure:
    """Draws stick figures of the robot from the first knot (light) to the last (dark).

    Lines join the origins of parent and child joints. A joint without children is joined to its farthest frame, such
    as tool or foot, or to its centre of mass if all its frames are at the joint. A motion along only two of the
    world's axes is drawn in their plane.

    Args:
        solution: Solution to draw; the state of its problem has a robot, or its model has a method `skeleton`, see
            `trajopt.robots.Skeleton`.
        frames: Number of stick figures, >= 1 [-].
        frame: Frame, or several, whose path is drawn. By default all feet, and frames with a goal in terminal costs or
            constraints; without any the end of a robot with a single end. An empty sequence draws no path. A model's
            skeleton has its own list of paths.
        targets: Points to mark, shape (3,) or (n, 3), in the world [m]. By default goals of frames other than feet, in
            terminal costs and constraints; an empty sequence marks none.
        obstacles: A Scene, bodies such as Box, or rows: upright cylinders (x, y, radius), shape (n, 3), or balls
            (x, y, z, radius), shape (n, 4) [m]. By default those of distance costs and constraints; those
            that move have the colours of the times.
        lines: Polylines to draw, such as gates, each with points (n, 2) or (n, 3) [m].
        reference: Points (n, 2) or (n, 3) of the reference path, drawn dashed, with gaps at NaN [m].
        grid: Map of the plane to draw, its occupied cells in grey.
        scans: LIDAR scan, or one for each knot, whose readings are drawn as points.
        view: Elevation and azimuth of the camera [deg]; by default it looks across the main direction of the motion.
        figure: Figure or subfigure to draw into; by default a new one.

    Returns:
        The figure; `figure.savefig("motion.png")` writes it.

    Raises:
        InvalidArgumentError: The solution has no problem, its state has no robot, or an argument has a wrong value.
        UnknownNameError: The robot has no frame of this name.
    """
    check_count("frames", frames, least=1, most=1000)
    if view is not None:
        check_array("view", view, (2,), cure="elevation and azimuth [deg]")
    skeleton, paths, names, marks = _parts(solution, frame, targets)
    points = skeleton.points.reshape(-1, 3)
    beside = Surroundings(obstacles_to_draw(solution, obstacles), points, frames)
    thick = dataclasses.replace(skeleton, solids=thick_links(solution))
    around, sensed = (
        SceneLines(lines, reference, in_vertical_plane(solution)),
        Sensed(grid, scans, len(solution.xs) - 1),
    )
    walls = near_walls(walls_of(solution), np.concatenate([points, marks]))
    with drawing(figure, 7.2, 6.0) as target:
        solids = [around_solids(each) for each in (skeleton, thick)]
        legs = _legs(solution, skeleton)
        feet = legs[np.isfinite(legs).all(axis=3)]
        more = [feet, paths[np.isfinite(paths).all(axis=2)], marks, beside.points, *solids, around.points]
        more += [wall_points(walls, points), sensed.points(points)]
        scene = scene_of(target, skeleton.points, np.concatenate(more), view)
        knots = np.unique(np.round(np.linspace(0, len(solution.xs) - 1, frames)).astype(int))
        beside.draw(scene)
        draw_walls(scene, walls)
        sensed.draw(scene)
        draw_base(scene, skeleton, rails=not len(around.lines))
        around.draw(scene)
        draw_planes(scene, solution.description.planes)
        relief = legged_motion(solution).relief if solution.description.touches else None
        if relief is not None:
            draw_planes(scene, [tuple(row) for row in relief.planes.tolist()])
            draw_relief(scene, relief)
        draw_figures(scene, skeleton, knots, len(solution.xs) - 1)
        for t in knots:
            shade = time_ramp()(t / max(len(solution.xs) - 1, 1))
            for leg in legs[:, t]:
                scene.draw(leg, color=shade, linewidth=1.0, marker="o", markersize=3.0, zorder=1.9, label="_leg")
        for t in (0, len(solution.xs) - 1):  # more would hide each other
            draw_solids(scene, thick, t, time_ramp()(float(t > 0)), 1.8)
        draw_balls(scene, legged_motion(solution).feet if solution.description.spheres else (), knots)
        for i, path in enumerate(paths):
            label = "_path" if i else _paths_label(solution, names)  # one entry for all paths
            scene.draw(path, color=RED, linewidth=1.3, label=label, zorder=4)
        if len(marks):
            scene.draw(marks, color=RED, marker="*", linestyle="", markersize=12, markeredgecolor="white",
                       label="target" if len(marks) == 1 else "targets", zorder=6)  # fmt: skip
        if len(paths) or len(marks) or np.size(around.reference) or sensed.several or beside.moving:
            target.legend(loc="outside upper left", ncols=3)
        draw_color_bar(target, scene.axes, *time_axis(solution))
        return whole_figure(target)


def _legs(solution: Solution, skeleton: Skeleton) -> Reals:
    """Lines from the centre of mass to the feet that stand (feet, T + 1, 2, 3), for plans without legs; NaN in the air.

    It is empty for robots with legs, and without contacts.
    """
    nothing = np.zeros((0, len(skeleton.points), 2, 3))
    if not solution.description.touches:
        return nothing
    motion = legged_motion(solution)
    if solution.robot is not None and any(foot.frame in solution.robot.frame_names for foot in motion.feet):
        return nothing
    legs = np.array([np.stack([motion.com, foot.positions], axis=1) for foot in motion.feet])
    for leg, foot in zip(legs, motion.feet):
        leg[~np.append(foot.stands, foot.stands[-1:])] = np.nan
    return legs


def _paths_label(solution: Solution, names: list[str]) -> str:
    """Legend text for the paths."""
    if len(names) > 1 and set(names) == set(solution.description.feet):
        return "paths of the feet"
    return f"path{'s' * (len(names) > 1)} of {', '.join(names)}" if names else "path"


def has_motion(solution: Solution) -> bool:
    """Whether a solution has a robot, or a model with a method `skeleton`, whose motion can be drawn."""
    return solution.robot is not None or solution.description.skeleton is not None


def _parts(
    solution: Solution, frame: str | Sequence[str] | None, targets: npt.ArrayLike | None
) -> tuple[Skeleton, Reals, list[str], Reals]:
    """Skeleton, paths (n, T + 1, 3), names of the frames of these paths, and targets (m, 3)."""
    own = None if check_solution(solution).robot is not None else solution.description.skeleton
    if own is not None:
        if frame is not None:
            raise InvalidArgumentError(
                f"frame: expected None for a solution without a robot, got {shown(frame)}; its model's method "
                "`skeleton` selects the paths: set `tracks` of the Skeleton to indices of its points"
            )
        marks = check_points("targets", () if targets is None else targets)
        return own, np.reshape([own.points[:, i] for i in own.tracks], (-1, len(own.points), 3)), [], marks
    model, shapes = robot_of(solution), () if solution.robot is None else solution.robot.shapes
    frames, goals = shown_goals(solution)
    marks = check_points("targets", [point for _, point in goals] if targets is None else targets)
    frame = frames if frame is None else frame
    names = [frame] if isinstance(frame, str) else list(check_texts("frame", frame))
    frame_names = [f.name for f in model.frames]
    for name in names:
        if name not in frame_names:
            raise unknown_name("frame", name, frame_names)
    tracked = [frame_index(model, name) for name in names]
    skeleton, paths = skeleton_of(model, solution.xs[:, : model.nq], tracked, shapes)
    if solution.robot is not None:
        skeleton, paths = without_released(skeleton, solution), held_paths(solution, names, paths)
    return skeleton, paths, names, marks


def draw_base(scene: Canvas, skeleton: Skeleton, *, rails: bool = True) -> None:
    """Draws the fixed base, and with `rails` a rail below each slider, a little longer than its way."""
    for slider in skeleton.sliders if rails else ():
        track = skeleton.points[:, slider]
        low, high = track.min(axis=0), track.max(axis=0)
        margin = _RAIL * (high - low)
        scene.draw(np.stack([low - margin, high + margin]), color=GREY, linewidth=2.5, zorder=1, label="_rail")
    for bone in skeleton.fixed:
        base = skeleton.points[0, list(bone)]
        scene.draw(base, color=GREY, linewidth=3.0, marker="s", markersize=5, zorder=1, label="_base")


def draw_figures(scene: Canvas, skeleton: Skeleton, knots: npt.NDArray[np.int_], last: int) -> None:
    """Draws stick figures at some knots; those before knot `last` are lighter."""
    ramp = time_ramp()
    for t in knots:
        color, width = ramp(t / last if last else 1.0), 2.6 if t == last else 2.0
        points = skeleton.points[t]
        bones = [point for pair in skeleton.bones for point in (points[pair[0]], points[pair[1]], np.full(3, np.nan))]
        if bones:
            scene.draw(np.array(bones[:-1]), color=color, linewidth=width, marker="o", markersize=1.6 * width,
                       solid_capstyle="round", zorder=2 + t / max(last, 1), label="_figure")  # fmt: skip
        draw_solids(scene, skeleton, t, color, 1.5 + 0.4 * t / max(last, 1))
        if skeleton.sliders:
            carts = points[list(skeleton.sliders)]
            scene.draw(carts, color=color, marker="s", markersize=9, linestyle="", zorder=2 + t / max(last, 1),
                       label="_slider")  # fmt: skip
