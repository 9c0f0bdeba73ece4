"""The ground as far as a motion tells it: the places where feet stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.legs import LeggedMotion
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEVEL = 0.03  # feet stand on one level if their heights differ by less than this, in heights of the centre of mass
GROUND, EARTH = "#8A8A8A", "#E9E4DC"


def ground_level(motion: LeggedMotion) -> float | None:
    """Height of the lowest foothold if all feet stand on one level [m]; None if they do not, or none ever stands."""
    heights = np.concatenate([motion.footholds(foot)[:, 2] for foot in motion.feet])
    if not heights.size:
        return None
    reach = float(np.median(motion.com[:, 2])) - float(heights.min())
    return float(heights.min()) if np.ptp(heights) <= _LEVEL * abs(reach) else None


def draw_ground(axes: Axes, motion: LeggedMotion, footholds: Reals, width: float) -> None:
    """Draws the ground below footholds, shape (n, 2): a line through the panel if level, else a tread each.

    Args:
        axes: Where to draw; its limits are set.
        motion: The motion.
        footholds: Horizontal and vertical places [m].
        width: Of a tread [m].
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
