"""Ground below the footholds of a motion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.legs import Foot, LeggedMotion
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
