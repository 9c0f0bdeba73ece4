"""Balance of a legged motion: distances of its centres of mass and of pressure from the border of the support."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.basics import time_words
from trajopt.analysis.hull import convex_hull, depth_in_hull
from trajopt.analysis.legs import LeggedMotion, is_free_body
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution

_EVEN = 0.02  # largest difference between heights of feet that stand on one plane [m]


def support_margins(motion: LeggedMotion) -> tuple[Reals, Reals]:
    """Signed distances from the border of the support polygon, > 0 inside, seen from above, (T,) each [m].

    The polygon is the convex hull of all standing feet. The first distance is that of the centre of mass; between two
    point feet the polygon is a line, beside which the distance is negative. It is NaN in a flight, at an impulse, and
    if a foot stands on a wall. The second one is that of the centre of pressure, which is the zero moment point on
    level ground; it is NaN as well if the standing feet are not on one level, or the polygon is a line or a point.

    Args:
        motion: The motion, from `legged_motion`.
    """
    T, pressures = len(motion.takes_time), motion.pressures
    of_com, of_pressure = np.full(T, np.nan), np.full(T, np.nan)
    for t in np.flatnonzero(motion.takes_time).tolist():
        feet = [foot for foot in motion.feet if foot.stands[t]]
        if not feet or not all(foot.on_floor for foot in feet):
            continue
        corners = np.concatenate([foot.positions[t] + foot.outline[t] for foot in feet])
        hull = convex_hull(corners[:, :2])
        of_com[t] = depth_in_hull(hull, motion.com[t, :2])
        if len(hull) > 2 and np.ptp(corners[:, 2]) < _EVEN and np.isfinite(pressures[t, 0]):
            of_pressure[t] = depth_in_hull(hull, pressures[t, :2])
    return of_com, of_pressure


def balance_words(solution: Solution, motion: LeggedMotion) -> dict[str, str]:
    """Reports the least distances of `support_margins` in text, under the key "balance"; empty for a free body.

    Args:
        solution: The solution.
        motion: Its motion, from `legged_motion`.
    """
    words = []
    for what, margins in zip(("centre of mass", "zero moment point"), support_margins(motion)):
        if np.isfinite(margins).any() and not is_free_body(solution):
            knot = int(np.nanargmin(margins))
            least, where = 1e3 * margins[knot], f"knot {knot}{time_words(solution, knot, ', {:.3g} {}')}"
            side = "at least {:.0f} mm inside" if least > -0.5 else "up to {:.0f} mm outside of"
            words.append(f"{what} {side.format(abs(least))} the support polygon ({where})")
    return {"balance": "; ".join(words)} if words else {}
