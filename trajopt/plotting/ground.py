"""Ground below the footholds of a motion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.analysis.legs import Foot, LeggedMotion
from trajopt.plotting.scene import Canvas
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEVEL = 0.03  # largest height difference of footholds on level ground, relative to the height of the CoM [-]
GROUND, EARTH = "#8A8A8A", "#E9E4DC"


def ground_level(motion: LeggedMotion) -> float | None:
    """Returns the height of level ground [m]; None if the ground is not level, or without footholds.

    It is that of the motion if set, otherwise that of the lowest foot that stands at the start, so that a foot that
    lands higher later floats. Without a standing foot it is the height of the lowest foothold.
    """
    if motion.ground is not None:
        return motion.ground
    heights = np.concatenate([motion.footholds(foot)[:, 2] for foot in motion.feet])
    if not heights.size:
        return None
    reach = float(np.median(motion.com[:, 2])) - float(heights.min())
    if np.ptp(heights) > _LEVEL * abs(reach):
        return None
    first = [float(foot.positions[0, 2]) for foot in motion.feet if foot.on_floor and foot.stands[:1].any()]
    return min(first) if first else float(heights.min())


def gap_to_ground(motion: LeggedMotion, foot: Foot, knot: int) -> float:
    """Returns the height of a foot above the ground [m]; 0 on uneven ground, which is assumed at the feet."""
    level = ground_level(motion)
    return 0.0 if level is None or not foot.on_floor else float(foot.positions[knot, 2]) - level


def draw_ground(axes: Axes, motion: LeggedMotion, footholds: Reals) -> None:
    """Draws level ground, or steps that are as high as the footholds, with edges halfway between them.

    Args:
        axes: Axes to draw into, with limits set.
        motion: The motion.
        footholds: Horizontal and vertical positions of the footholds (n, 2) [m].
    """
    bottom = axes.get_ylim()[0]
    level = ground_level(motion)
    if level is not None:
        axes.axhline(level, color=GROUND, linewidth=1.2, zorder=1, label="_ground")
        axes.axhspan(bottom, level, color=EARTH, linewidth=0, zorder=0, label="_earth")
        return
    if not len(footholds):
        return
    places, heights = footholds[np.argsort(footholds[:, 0])].T
    edges = np.concatenate([axes.get_xlim()[:1], (places[1:] + places[:-1]) / 2.0, axes.get_xlim()[1:]])
    corners = np.repeat(edges, 2)[1:-1], np.repeat(heights, 2)
    axes.plot(*corners, color=GROUND, linewidth=1.2, zorder=1, label="_ground")
    axes.fill_between(*corners, bottom, color=EARTH, linewidth=0, zorder=0, label="_earth")


def draw_planes(scene: Canvas, planes: Sequence[tuple[float, ...]]) -> None:
    """Draws the planes a x + b y + c z + d = 0, c > 0, that contacts may touch: their sections, or faces in space."""
    for a, b, c, d in (plane for plane in planes if plane[2] > 0):
        if scene.shown == (0, 2) and b == 0:
            low, high = scene.axes.get_xlim()
            ends = np.array([low - (high - low), high + (high - low)])
            level = -(a * ends + d) / c
            _draw_section(scene.axes, ends, level)
        elif len(scene.shown) == 3:
            x, y = (np.array(limits)[order] for limits, order in
                    ((scene.axes.get_xlim(), [0, 1, 1, 0]), (scene.axes.get_ylim(), [0, 0, 1, 1])))  # fmt: skip
            from mpl_toolkits.mplot3d.art3d import Poly3DCollection

            face = [np.column_stack([x, y, -(a * x + b * y + d) / c])]
            look: dict[str, Any] = {"facecolors": GROUND, "alpha": 0.15, "linewidths": 0.0}
            scene.axes.add_collection3d(Poly3DCollection(face, label="_ground", **look), autolim=False)


def _draw_section(axes: Any, ends: Reals, level: Reals) -> None:
    """Draws the ground below a line, without a change of the limits of the axes."""
    from matplotlib.patches import Polygon

    deep = np.ptp(ends) * 10.0
    corners = np.concatenate([np.column_stack([ends, level]), np.column_stack([ends, level - deep])[::-1]])
    axes.add_artist(Polygon(corners, facecolor=EARTH, edgecolor=GROUND, linewidth=1.2, zorder=0.4, label="_ground"))


def draw_balls(scene: Canvas, feet: Sequence[Foot], knots: npt.NDArray[np.int_]) -> None:
    """Draws the outlines of feet that are spheres at some knots, in a plane."""
    if len(scene.shown) == 3:
        return
    from matplotlib.patches import Circle

    for foot in (foot for foot in feet if foot.radius):
        for x, y in foot.centres[knots][:, list(scene.shown)].tolist():
            look: dict[str, Any] = {"facecolor": "none", "edgecolor": "#333333", "linewidth": 1.0, "zorder": 3.5}
            scene.axes.add_patch(Circle((x, y), foot.radius, label="_ball", **look))
