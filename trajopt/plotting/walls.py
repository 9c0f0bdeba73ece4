"""Walls around a motion, such as the sides of a lane or of a box."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.plotting.scene import DARK, Canvas
from trajopt.plotting.style import GREY
from trajopt.types import Reals

_NEAR = 1.0  # distance from the motion up to which a wall is drawn, relative to the motion's size [-]
_THIN = 0.02  # least width of a gap between walls, relative to the motion's size [-]


def near_walls(boxes: Reals, points: Reals) -> Reals:
    """Returns boxes (n, 2, 3) without walls far from the points (m, 3) of a motion, and without those of thin gaps [m].

    Both walls of a gap thinner than a line are the place of the motion, such as a plane within a tolerance.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    size = float((high - low).max())
    near = (boxes > low - _NEAR * size) & (boxes < high + _NEAR * size)
    apart = boxes[:, 1:] - boxes[:, :1] > _THIN * size
    return np.where(near & apart, boxes, [[[-np.inf] * 3, [np.inf] * 3]])


def wall_points(boxes: Reals, points: Reals) -> Reals:
    """Returns a point (n, 3) [m] on each wall, beside the points of a motion."""
    middle = (points.min(axis=0) + points.max(axis=0)) / 2.0
    places = [np.where(np.arange(3) == axis, wall, middle) for axis, wall in _finite(boxes)]
    return np.reshape(places, (-1, 3))


def draw_walls(scene: Canvas, boxes: Reals) -> None:
    """Draws walls as lines with a shade behind them, or in space as faces."""
    if len(scene.shown) == 3:
        _draw_faces(scene, boxes)
        return
    from matplotlib.patches import Rectangle

    far = 1e3 * max(float(np.ptp(limits)) for limits in (scene.axes.get_xlim(), scene.axes.get_ylim()))
    for i, (axis, wall) in enumerate(_finite(boxes)):
        if axis not in scene.shown:
            continue
        across = scene.shown.index(axis) == 0
        side = far if wall in boxes[:, 1, axis] else -far
        transform = scene.axes.get_xaxis_transform() if across else scene.axes.get_yaxis_transform()
        corner, size = ((wall, 0.0), (side, 1.0)) if across else ((0.0, wall), (1.0, side))
        look: dict[str, Any] = {"facecolor": GREY, "alpha": 0.3, "edgecolor": DARK, "linewidth": 1.2, "zorder": 0.5}
        patch = Rectangle(corner, *size, transform=transform, label="walls" if i == 0 else "_wall", **look)
        scene.axes.add_artist(patch)  # which, unlike add_patch, leaves the limits as they are


def _draw_faces(scene: Canvas, boxes: Reals) -> None:
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    limits = np.transpose([scene.axes.get_xlim(), scene.axes.get_ylim(), scene.axes.get_zlim()])
    for box in boxes:
        low, high = np.maximum(box[0], limits[0]), np.minimum(box[1], limits[1])
        for axis, wall in _finite(box[None]):
            a, b = (i for i in range(3) if i != axis)
            corners = np.full((4, 3), wall)
            corners[:, a], corners[:, b] = [low[a], high[a], high[a], low[a]], [low[b], low[b], high[b], high[b]]
            look: dict[str, Any] = {"facecolors": GREY, "edgecolors": DARK, "linewidths": 0.8, "alpha": 0.15}
            scene.axes.add_collection3d(Poly3DCollection([corners], label="_wall", **look), autolim=False)


def _finite(boxes: Reals) -> list[tuple[int, float]]:
    """World axis and coordinate of each wall."""
    return [(axis, float(box[side, axis])) for box in boxes for axis in range(3) for side in range(2)
            if np.isfinite(box[side, axis])]  # fmt: skip
