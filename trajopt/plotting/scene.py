"""Axes for a motion: in a plane of the world, or in space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.checks import as_numbers, check_items
from trajopt.errors import InvalidArgumentError
from trajopt.plotting.style import GREY, PALETTE, time_ramp
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure


_STILL, _FLAT = 1e-4, 0.5
"""Limits for drawing in a plane: largest motion across it, and largest depth, relative to the robot's size."""

DARK = PALETTE[6]
_AXES = "xyz"
_LONG = 4.0  # length of a road relative to its width, up to which y is stretched if that is much more [-]
_BARELY = 2.0  # smallest stretch [-]
_ENOUGH = 1.0  # room, in labels, below which an axis that is seen end-on has neither ticks nor a label [-]
_SHRINKS = 0.75  # part of its size that a plot keeps when legends and colour bars are added [-]
_STEEP = 1.4  # room for labels seen from any direction, such as from above, relative to that of the usual one [-]
_AROUND = 68.0  # room for labels around a box in space, at 100 pixels per inch [pixel]


@dataclass(frozen=True)
class Canvas:
    """Axes in three dimensions, or in a plane of two world axes.

    Attributes:
        axes: The axes of matplotlib.
        shown: Indices of the visible world axes.
    """

    axes: Any
    shown: tuple[int, ...]

    def draw(self, points: Reals, **look: Any) -> None:
        """Draws a curve through points, shape (n, 3), with gaps at NaN."""
        self.axes.plot(*(points[:, i] for i in self.shown), **look)


def check_points(argument: str, points: npt.ArrayLike) -> Reals:
    """Checks points and returns them as an array (n, 3) [m].

    Raises:
        InvalidArgumentError: The shape is neither (3,) nor (n, 3).
    """
    marks = as_numbers(argument, points, "points (n, 3) in the world [m]")
    if marks.size == 0:
        return np.zeros((0, 3))
    if marks.shape[-1:] != (3,) or marks.ndim > 2:
        raise InvalidArgumentError(f"{argument}: expected shape (3,) or (n, 3), got {marks.shape}; points in the world")
    if not np.all(np.isfinite(marks)):
        raise InvalidArgumentError(f"{argument}: expected finite numbers [m], got {marks.tolist()}")
    return marks.reshape(-1, 3)


def check_line(argument: str, points: npt.ArrayLike, *, vertical: bool = False) -> Reals:
    """Checks the points of a line and returns them as an array (n, 3) [m]; NaN is a gap.

    Points (n, 2) are x and y, with z = 0; in the vertical plane they are x and z, with y = 0.

    Raises:
        InvalidArgumentError: The shape is neither (n, 2) nor (n, 3), or a number is infinite.
    """
    rows = as_numbers(argument, points, "points (n, 2) or (n, 3) [m]")
    if rows.size == 0:
        return np.zeros((0, 3))
    if rows.ndim != 2 or rows.shape[1] not in (2, 3) or np.any(np.isinf(rows)):
        raise InvalidArgumentError(f"{argument}: expected points (n, 2) or (n, 3) [m], got shape {rows.shape}")
    return rows if rows.shape[1] == 3 else np.insert(rows, 1 if vertical else 2, 0.0 * rows[:, 0], axis=1)


@dataclass(frozen=True)
class SceneLines:
    """Polylines beside a motion, and its reference path.

    Args:
        lines: Polylines, each with points (n, 2) or (n, 3) [m].
        reference: Points of the path (n, 2) or (n, 3) [m].
        vertical: Whether points (n, 2) are x and z, as for a body in a vertical plane, and not x and y.
    """

    lines: Sequence[npt.ArrayLike]
    reference: npt.ArrayLike
    vertical: bool = False

    def __post_init__(self) -> None:
        items = check_items("lines", self.lines, "lines (n, 3)")
        lines = [check_line(f"lines[{i}]", line, vertical=self.vertical) for i, line in enumerate(items)]
        object.__setattr__(self, "lines", lines)
        object.__setattr__(self, "reference", check_line("reference", self.reference, vertical=self.vertical))

    @property
    def points(self) -> Reals:
        """All points, without gaps (n, 3) [m]."""
        every = np.concatenate([*self.lines, self.reference, np.zeros((0, 3))])
        return np.asarray(every[np.isfinite(every).all(axis=1)])

    def draw(self, scene: Canvas) -> None:
        """Draws the lines, and the reference dashed."""
        for line in self.lines:
            scene.draw(np.asarray(line), color=DARK, linewidth=1.4, zorder=1.5, label="_line")
        if np.size(self.reference):
            look = {"color": GREY, "linewidth": 1.0, "linestyle": "--", "zorder": 1.8}
            scene.draw(np.asarray(self.reference), label="reference", **look)


def hidden_axis(points: Reals, more: Reals, along: int = 1) -> int | None:
    """Returns the index of the world axis along which a plane motion is seen; None for a motion in space.

    Args:
        points: Points of the body (T + 1, n, 3) [m].
        more: Other points (m, 3) [m].
        along: Index of the axis that is chosen where several are possible; by default y, the side view.
    """
    extent = np.ptp(np.concatenate([points.reshape(-1, 3), more]), axis=0)
    size = max(float(extent.max()), 1e-3)
    still = np.ptp(points, axis=0).max(axis=0) < _STILL * size
    flat = [i for i in (along, 1, 0, 2) if still[i] and extent[i] < _FLAT * size]
    return flat[0] if flat else None


def scene_of(
    target: Figure | SubFigure, points: Reals, more: Reals, view: tuple[float, float] | None, along: int = 1
) -> Canvas:
    """Returns axes that contain the robot's points (T + 1, n, 3) and other points (m, 3) [m]; `along` as above.

    Scales are equal, except in a view from above of a motion that is much longer along x than along y: its label says
    how many times y is stretched.
    """
    everything = np.concatenate([points.reshape(-1, 3), more])
    low, high = everything.min(axis=0), everything.max(axis=0)
    size = max(float((high - low).max()), 1e-3)
    hidden = hidden_axis(points, more, along) if view is None else None
    margin = 0.06 * size
    if hidden is not None:
        shown = tuple(i for i in range(3) if i != hidden)
        axes: Any = target.add_subplot()
        stretch = _stretch(high - low) if hidden == 2 else 1.0
        axes.set_aspect(stretch, adjustable="datalim")  # fills the area
        note = "" if stretch == 1.0 else f", stretched {stretch:g} times"
        axes.set(xlabel=f"{_AXES[shown[0]]} [m]", ylabel=f"{_AXES[shown[1]]} [m]{note}")
        axes.margins(0.0)
        axes.update_datalim(np.stack([low - margin, high + margin])[:, shown])
        return Canvas(axes, shown)
    from matplotlib.ticker import NullLocator

    from trajopt.plotting.space_axes import SpaceAxes
    from trajopt.plotting.ticks import SpacedTicks, room_along

    axes = target.add_subplot(axes_class=SpaceAxes, proj_type="ortho")
    center, half = (low + high) / 2, np.maximum((high - low) / 2 + margin, 0.15 * size)
    axes.set(xlim=(center[0] - half[0], center[0] + half[0]), ylim=(center[1] - half[1], center[1] + half[1]))
    axes.set(zlim=(center[2] - half[2], center[2] + half[2]), xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
    axes.view_init(*((18.0, _azimuth(everything)) if view is None else view))
    scale = axes.figure.get_figure(root=True).dpi / 100.0
    axes.fit(half, scale * (_AROUND if view is None else _STEEP * _AROUND))
    for i, axis in enumerate((axes.xaxis, axes.yaxis, axes.zaxis)):
        axis.set_rotate_label(False)
        axis.label.set_rotation(90 if axis is axes.zaxis else 0)
        axis.set_pane_color((0.97, 0.97, 0.97, 1.0))
        end_on = _SHRINKS * room_along(axes, i) < _ENOUGH
        axis.set_major_locator(NullLocator() if end_on else SpacedTicks(i))
        axis.labelpad = 9 if axis is axes.zaxis else 10
        axis.label.set_visible(not end_on)
    return Canvas(axes, (0, 1, 2))


def _stretch(extent: Reals) -> float:
    """Scale of y relative to x in a view from above, for roads that would be a thin line at equal scales [-]."""
    wanted = float(extent[0]) / (_LONG * max(float(extent[1]), 1e-9))
    return 1.0 if wanted < _BARELY else max(each for each in (1.0, 2.0, 5.0, 10.0, 20.0) if each <= wanted)


def _azimuth(points: Reals) -> float:
    """Azimuth of a camera that looks across the main horizontal direction of the motion, slightly turned [deg]."""
    horizontal = points[:, :2] - points[:, :2].mean(axis=0)
    _, _, directions = np.linalg.svd(horizontal, full_matrices=False)
    along = float(np.degrees(np.arctan2(directions[0, 1], directions[0, 0])))
    azimuth = (along + 90.0) % 180.0 - 180.0  # choose the front side, y < 0
    return azimuth + 25.0


def draw_color_bar(target: Figure | SubFigure, axes: Any, abscissa: Reals, label: str) -> None:
    """Draws a colour bar for the times of the colours."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    scale = ScalarMappable(Normalize(abscissa[0], max(abscissa[-1], abscissa[0] + 1e-9)), time_ramp())
    tall = target.bbox.height > target.bbox.width
    look: dict[str, Any] = {"location": "bottom", "pad": 0.02} if tall else {"pad": 0.04, "panchor": (0.5, 0.5)}
    bar = target.colorbar(scale, ax=axes, shrink=0.5, aspect=25, label=label, **look)
    bar.outline.set_visible(False)  # type: ignore[operator]
