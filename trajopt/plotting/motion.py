"""Motion of the robot as stick figures at some knots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.analysis.basics import robot_of, time_axis
from trajopt.checks import check_count
from trajopt.errors import InvalidArgumentError, unknown_name
from trajopt.plotting.goals import goals_of
from trajopt.plotting.skeleton import Skeleton, ends_of, skeleton_of
from trajopt.plotting.style import GREY, RAMP, RED, canvas, house_style, whole_figure
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

    from trajopt.solution import Solution


_STILL, _FLAT = 1e-4, 0.5
"""Limits for drawing in a plane: largest motion across it, and largest depth, as fractions of the robot's size."""

_AXES = "xyz"


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
    check_count("frames", frames, least=1)
    goals = goals_of(solution)
    marks = _targets([point for _, point in goals] if targets is None else targets)
    if frame is None:
        ends = [name for *_, name in ends_of(model)]
        frame = list(dict.fromkeys(name for name, _ in goals)) or (ends if len(ends) == 1 and ends[0] else [])
    names = [frame] if isinstance(frame, str) else list(frame)
    known = [f.name for f in model.frames]
    for name in names:
        if name not in known:
            raise unknown_name("frame", name, known)
    skeleton, paths = skeleton_of(model, solution.xs[:, : model.nq], [known.index(name) for name in names])
    with house_style():
        target = canvas(figure, 7.5, 5.5)
        scene = _scene(target, skeleton.points, np.concatenate([paths.reshape(-1, 3), marks]), view)
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
        _draw_color_bar(target, scene.axes, *time_axis(solution))
        return whole_figure(target)


@dataclass(frozen=True)
class _Scene:
    """Axes in three dimensions, or in a plane of two of the world's axes."""

    axes: Any
    shown: tuple[int, ...]

    def draw(self, points: Reals, **look: Any) -> None:
        """Draws a curve through points, shape (n, 3), with gaps at NaN."""
        self.axes.plot(*(points[:, i] for i in self.shown), **look)


def _targets(targets: npt.ArrayLike) -> Reals:
    marks = np.array(targets, dtype=np.float64)
    if marks.size == 0:
        return np.zeros((0, 3))
    if marks.shape[-1:] != (3,) or marks.ndim > 2:
        raise InvalidArgumentError(f"targets: expected shape (3,) or (n, 3), got {marks.shape}; points in the world")
    return marks.reshape(-1, 3)


def _scene(target: Figure | SubFigure, points: Reals, more: Reals, view: tuple[float, float] | None) -> _Scene:
    """Axes with equal scales whose limits contain the robot's points (T + 1, n, 3) and others (m, 3)."""
    everything = np.concatenate([points.reshape(-1, 3), more])
    low, high = everything.min(axis=0), everything.max(axis=0)
    size = max(float((high - low).max()), 1e-3)
    still = np.ptp(points, axis=0).max(axis=0) < _STILL * size
    flat = [i for i in (1, 0, 2) if still[i] and high[i] - low[i] < _FLAT * size]  # from the side, if there is a choice
    hidden = flat[0] if flat and view is None else None
    margin = 0.06 * size
    if hidden is not None:
        shown = tuple(i for i in range(3) if i != hidden)
        axes: Any = target.add_subplot(aspect="equal")
        axes.set(xlabel=f"{_AXES[shown[0]]} [m]", ylabel=f"{_AXES[shown[1]]} [m]")
        axes.set_xlim(low[shown[0]] - margin, high[shown[0]] + margin)
        axes.set_ylim(low[shown[1]] - margin, high[shown[1]] + margin)
        return _Scene(axes, shown)
    axes = target.add_subplot(projection="3d")
    center, half = (low + high) / 2, np.maximum((high - low) / 2 + margin, 0.15 * size)
    axes.set(xlim=(center[0] - half[0], center[0] + half[0]), ylim=(center[1] - half[1], center[1] + half[1]))
    axes.set(zlim=(center[2] - half[2], center[2] + half[2]), xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
    axes.set_box_aspect(half, zoom=0.84)
    axes.view_init(*(view or (18.0, _azimuth(everything))))
    axes.zaxis.set_rotate_label(False)
    axes.zaxis.label.set_rotation(90)
    for axis, extent in zip((axes.xaxis, axes.yaxis, axes.zaxis), half / half.max()):
        axis.set_pane_color((0.97, 0.97, 0.97, 1.0))
        axis.set_major_locator(_ticks(extent))
        axis.labelpad = 8 if axis is axes.zaxis else 5
    return _Scene(axes, (0, 1, 2))


def _ticks(extent: float) -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=max(2, round(5 * extent)))


def _azimuth(points: Reals) -> float:
    """Azimuth of an eye that looks across the main horizontal direction of the motion, slightly turned [deg]."""
    horizontal = points[:, :2] - points[:, :2].mean(axis=0)
    _, _, directions = np.linalg.svd(horizontal, full_matrices=False)
    along = float(np.degrees(np.arctan2(directions[0, 1], directions[0, 0])))
    azimuth = (along + 90.0) % 180.0 - 180.0  # of the two sides the one in front: y < 0
    return azimuth + 25.0


def _draw_base(scene: _Scene, skeleton: Skeleton) -> None:
    for slider in skeleton.sliders:
        track = skeleton.points[:, slider]
        rail = np.stack([track.min(axis=0), track.max(axis=0)])
        scene.draw(rail, color=GREY, linewidth=1.5, zorder=1, label="_rail")
    for bone in skeleton.fixed:
        base = skeleton.points[0, list(bone)]
        scene.draw(base, color=GREY, linewidth=3.0, marker="s", markersize=5, zorder=1, label="_base")


def _draw_figures(scene: _Scene, skeleton: Skeleton, knots: npt.NDArray[np.int_], last: int) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    ramp = LinearSegmentedColormap.from_list("motion", RAMP)
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


def _draw_color_bar(target: Figure | SubFigure, axes: Any, abscissa: Reals, label: str) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    ramp = LinearSegmentedColormap.from_list("motion", RAMP)
    scale = ScalarMappable(Normalize(abscissa[0], max(abscissa[-1], abscissa[0] + 1e-9)), ramp)
    bar = target.colorbar(scale, ax=axes, shrink=0.6, aspect=25, pad=0.02, panchor=(0.5, 0.5), label=label)
    bar.outline.set_visible(False)  # type: ignore[operator]
