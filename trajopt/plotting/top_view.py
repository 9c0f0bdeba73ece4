"""View from above of a motion on feet that does not follow a line: path and heading of the base, footholds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.analysis.legs import LeggedMotion
from trajopt.analysis.moved import displacement
from trajopt.plotting.com import draw_footprints
from trajopt.plotting.style import BLUE, RED, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

    from trajopt.solution import Solution

_TURN = np.radians(5.0)  # smallest turn that is shown from above [rad]
_ARROWS = 6  # number of headings
_LONG = 0.12  # length of their arrows, relative to the size of the view [-]
_MARGIN = 0.1  # around path and footholds, relative to their size [-]


def winds(solution: Solution, motion: LeggedMotion) -> bool:
    """Whether the base turns, or leaves the line between its ends by more than its feet are apart."""
    turn = displacement(solution, motion).turn
    if abs(turn) > _TURN:  # False for a base that tips over
        return True
    path = solution.xs[:, :2] - solution.xs[0, :2]
    length = float(np.linalg.norm(path[-1]))
    apart = float(np.ptp([foot.positions[0, :2] for foot in motion.feet], axis=0).max())
    if length <= apart:
        return False
    aside = (path[:, 0] * path[-1, 1] - path[:, 1] * path[-1, 0]) / length
    return bool(np.ptp(aside) > apart)


def draw_top_view(target: Figure | SubFigure, solution: Solution, motion: LeggedMotion) -> None:
    """Draws path and heading of the base, and where the feet stand.

    Args:
        target: Figure or subfigure to draw into.
        solution: A solution of a robot with a floating base.
        motion: Its motion on feet.
    """
    from matplotlib.lines import Line2D

    axes = target.subplots()
    axes.set(aspect="equal", xlabel="x [m]", ylabel="y [m]")
    path = solution.xs[:, :2]
    for foot in motion.feet:
        draw_footprints(axes, motion, foot)
    axes.plot(*path.T, color=BLUE, linewidth=2.0, label="path of the base", zorder=5)
    prints = [foot.positions[motion.landings(foot), :2] for foot in motion.feet]
    points = np.concatenate([path, *prints])
    low, high = points.min(axis=0), points.max(axis=0)
    size = float((high - low).max())
    knots = np.round(np.linspace(0, len(path) - 1, _ARROWS)).astype(int)
    x, y, z, w = solution.xs[knots, 3:7].T
    ahead = _LONG * size * np.column_stack([w**2 + x**2 - y**2 - z**2, 2.0 * (x * y + w * z)])
    look: dict[str, Any] = {
        "angles": "xy",
        "scale_units": "xy",
        "scale": 1.0,
        "color": RED,
        "width": 0.008,
        "zorder": 6,
    }
    axes.quiver(*path[knots].T, *ahead.T, **look)
    axes.set_xlim(low[0] - _MARGIN * size, high[0] + _MARGIN * size)
    axes.set_ylim(low[1] - 1.5 * _MARGIN * size, high[1] + 1.5 * _MARGIN * size)
    foothold = Line2D([], [], color="#333333", marker="o", markersize=4.5, linestyle="", label="foothold")
    legend_below(target, [*axes.get_lines()[-1:], Line2D([], [], color=RED, label="heading"), foothold])
