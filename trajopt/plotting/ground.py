"""Ground below the footholds of a motion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.legs import Foot, LeggedMotion
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEVEL = 0.03  # ground is level if footholds differ by less than this fraction of the centre of mass's height [-]
GROUND, EARTH = "#8A8A8A", "#E9E4DC"


def ground_level(motion: LeggedMotion) -> float | None:
    """Height of level ground [m]; None if the ground is not level, or if there are no footholds.

    Where the motion does not know it, it is that of the feet which stand at the start; one that lands higher later
    floats above it. Without such feet it is the height of the lowest foothold.
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
    """Height of a foot above the ground [m]; 0 on uneven ground, which is where the feet stand."""
    level = ground_level(motion)
    return 0.0 if level is None or not foot.on_floor else float(foot.positions[knot, 2]) - level


def draw_ground(axes: Axes, motion: LeggedMotion, footholds: Reals, width: float) -> None:
    """Draws the ground: a line through the whole panel if it is level, else a tread below each foothold.

    Args:
        axes: Axes to draw into; their limits are set already.
        motion: The motion.
        footholds: Horizontal and vertical positions of the footholds (n, 2) [m].
        width: Width of a tread [m].
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
