"""Motion of the robot as stick figures at some knots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trajopt.analysis.basics import robot_of, time_axis
from trajopt.checks import check_array, check_count, check_texts
from trajopt.errors import unknown_name
from trajopt.plotting.goals import goals_of
from trajopt.plotting.scene import Scene, check_points, draw_color_bar, scene_of
from trajopt.plotting.skeleton import Skeleton, ends_of, skeleton_of
from trajopt.plotting.style import GREY, RED, canvas, house_style, time_ramp, whole_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

    from trajopt.solution import Solution


def plot_motion(
    solution: Solution,
    frames: int = 8,
    *,
    frame: str | Sequence[str] | None = None,
    targets: npt.ArrayLike | None = None,
    view: tuple[float, float] | None = None,
    figure: Figure | SubFigure | None = None,
) -> Figure:
    """Draws stick figures of the robot from the first knot (light) to the last (dark).

    Lines join the origins of parent and child joints. A joint without children is joined to its farthest frame (the
    tool, the foot), or to its centre of mass if all its frames are at the joint. A motion along only two of the world's
    axes is drawn in their plane.

    Args:
        solution: Solution to draw; the state of its problem has a robot.
        frames: Number of stick figures, >= 1 [-].
        frame: Frame, or several, whose path is drawn. By default the frames with a reference in the terminal cost; if
            there are none, the end of a robot with a single end. An empty sequence draws no path.
        targets: Points to mark, shape (3,) or (n, 3), in the world [m]. By default the references of frames in the
            terminal cost; an empty sequence marks none.
        view: Elevation and azimuth of the eye [deg]; by default it looks across the main direction of the motion.
        figure: Figure or subfigure to draw into; by default a new one.

    Returns:
        The figure; `figure.savefig("motion.png")` writes it.

    Raises:
        InvalidArgumentError: The solution has no problem, its state has no robot, or an argument has a wrong value.
        UnknownNameError: The robot has no such frame.
    """
    model = robot_of(solution)
    check_count("frames", frames, least=1, most=1000)
    if view is not None:
        check_array("view", view, (2,), cure="elevation and azimuth [deg]")
    goals = goals_of(solution)
    marks = check_points("targets", [point for _, point in goals] if targets is None else targets)
    if frame is None:
        ends = [name for *_, name in ends_of(model)]
        frame = list(dict.fromkeys(name for name, _ in goals)) or (ends if len(ends) == 1 and ends[0] else [])
    names = [frame] if isinstance(frame, str) else list(check_texts("frame", frame))
    known = [f.name for f in model.frames]
    for name in names:
        if name not in known:
            raise unknown_name("frame", name, known)
    skeleton, paths = skeleton_of(model, solution.xs[:, : model.nq], [known.index(name) for name in names])
    with house_style():
        target = canvas(figure, 7.2, 6.0)
        scene = scene_of(target, skeleton.points, np.concatenate([paths.reshape(-1, 3), marks]), view)
        knots = np.unique(np.round(np.linspace(0, len(solution.xs) - 1, frames)).astype(int))
        _draw_base(scene, skeleton)
        _draw_figures(scene, skeleton, knots, len(solution.xs) - 1)
        for i, path in enumerate(paths):
            label = "_path" if i else f"path of {', '.join(names)}"  # all paths look the same: one entry in the legend
            scene.draw(path, color=RED, linewidth=1.3, label=label, zorder=4)
        if len(marks):
            scene.draw(marks, color=RED, marker="*", linestyle="", markersize=12, markeredgecolor="white",
                       label="target" if len(marks) == 1 else "targets", zorder=6)  # fmt: skip
        if names or len(marks):
            target.legend(loc="outside upper left", ncols=3)
        draw_color_bar(target, scene.axes, *time_axis(solution))
        return whole_figure(target)


def _draw_base(scene: Scene, skeleton: Skeleton) -> None:
    for slider in skeleton.sliders:
        track = skeleton.points[:, slider]
        rail = np.stack([track.min(axis=0), track.max(axis=0)])
        scene.draw(rail, color=GREY, linewidth=1.5, zorder=1, label="_rail")
    for bone in skeleton.fixed:
        base = skeleton.points[0, list(bone)]
        scene.draw(base, color=GREY, linewidth=3.0, marker="s", markersize=5, zorder=1, label="_base")


def _draw_figures(scene: Scene, skeleton: Skeleton, knots: npt.NDArray[np.int_], last: int) -> None:
    ramp = time_ramp()
    for t in knots:
        color, width = ramp(t / last if last else 1.0), 2.6 if t == last else 2.0
        points = skeleton.points[t]
        bones = [point for pair in skeleton.bones for point in (points[pair[0]], points[pair[1]], np.full(3, np.nan))]
        if bones:
            scene.draw(np.array(bones[:-1]), color=color, linewidth=width, marker="o", markersize=1.6 * width,
                       solid_capstyle="round", zorder=2 + t / max(last, 1), label="_figure")  # fmt: skip
        if skeleton.sliders:
            carts = points[skeleton.sliders]
            scene.draw(carts, color=color, marker="s", markersize=9, linestyle="", zorder=2 + t / max(last, 1),
                       label="_slider")  # fmt: skip
