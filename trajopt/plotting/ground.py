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


def draw_ground(axes: Axes, motion: LeggedMotion, footholds: Reals, width: float) -> None:
    """Draws level ground as a line through the panel, otherwise a short line below each foothold.

    Args:
        axes: Axes to draw into, with limits set.
        motion: The motion.
        footholds: Horizontal and vertical positions of the footholds (n, 2) [m].
        width: Width of the ground below a foothold [m].
    """
    bottom = axes.get_ylim()[0]
    level = ground_level(motion)
    if level is not None:
        axes.axhline(level, color=GROUND, linewidth=1.2, zorder=1, label="_ground")
        axes.axhspan(bottom, level, color=EARTH, linewidth=0, zorder=0, label="_earth")
        return
    for place, height in footholds:
        ends = [place - width / 2, place + width / 2]
        axes.plot(ends, [height, height], color=GROUND, linewidth=1.2, zorder=1, label="_ground")
        axes.fill_between(ends, bottom, height, color=EARTH, linewidth=0, zorder=0, label="_earth")
