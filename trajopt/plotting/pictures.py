"""Knots of the pictures of a legged motion: the largest force, feet in mid-swing, and the flight of a jump."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trajopt.analysis.legs import LeggedMotion
from trajopt.types import Reals

Knots = npt.NDArray[np.int64]

FLOATS = 1e-3
"""Distance from the ground above which a foot in contact is marked [m]."""

_FEWEST = 3  # number of pictures above the same ground that may be closer [-]
_RISEN = 0.8  # height from which on a foot is in mid-swing, relative to the highest one of its motion [-]
_MOVED = 0.35  # longest time by which a picture moves to a mid-swing, relative to that between two pictures [-]


def apart(way: Reals, timed: Knots, frames: int, least: float) -> Knots:
    """Knots at even distances along a way (T + 1, 2), at most `frames`; more than three are `least` [m] apart."""
    steps = np.linalg.norm(np.diff(way[timed], axis=0), axis=1)
    gone = np.concatenate([[0.0], np.cumsum(steps)])
    count = min(frames, max(_FEWEST, 1 + int(gone[-1] / least)))
    return np.unique([timed[np.argmin(np.abs(gone - place))] for place in np.linspace(0.0, gone[-1], count)])


def _mid_swings(motion: LeggedMotion) -> npt.NDArray[np.bool_]:
    """Whether a foot is near the highest point of a swing, at each knot with a duration or not (T,)."""
    risen = np.zeros(len(motion.takes_time), dtype=np.bool_)
    for foot in motion.feet:
        heights = foot.positions[:-1, 2] - foot.positions[:, 2].min()
        risen |= ~foot.stands & (heights > max(_RISEN * heights.max(), FLOATS))
    return risen


def in_swing(motion: LeggedMotion, timed: Knots, knots: Knots) -> Knots:
    """Moves pictures, but the first and the last one, to the nearest knot with a foot in mid-swing, if it is close."""
    swings, moved, times = timed[_mid_swings(motion)[timed]], knots.copy(), motion.abscissa
    if not len(swings) or len(knots) < _FEWEST:
        return knots
    least = float(times[knots[-1]] - times[knots[0]]) / (len(knots) - 1)
    for i, knot in enumerate(knots[1:-1], start=1):
        nearest = swings[np.argmin(np.abs(times[swings] - times[knot]))]
        if abs(times[nearest] - times[knot]) <= _MOVED * least:
            moved[i] = nearest
    return np.unique(moved)


def with_peak(motion: LeggedMotion, timed: Knots, knots: Knots) -> tuple[Knots, int | None]:
    """Moves a picture to the knot of the largest force; returns the knots and that knot.

    It is the nearest one, if possible between the first and the last one and without a foot in mid-swing.
    """
    total = np.sum([np.linalg.norm(np.nan_to_num(foot.forces), axis=1) for foot in motion.feet], axis=0)
    peak = int(timed[np.argmax(total[timed])])
    if not total[peak] > 0:
        return knots, None
    moved, swings = knots.copy(), _mid_swings(motion)
    inside = np.arange(1, len(knots) - 1)
    standing = inside[~swings[knots[inside]]]
    choice = next(places for places in (standing, inside, np.arange(len(knots))) if len(places))
    moved[choice[np.argmin(np.abs(knots[choice] - peak))]] = peak
    return np.unique(moved), peak


def airborne(motion: LeggedMotion, timed: Knots) -> Knots:
    """Knots with a duration at which no foot stands."""
    return timed[~np.any([foot.stands for foot in motion.feet], axis=0)[timed]]


def with_flight(motion: LeggedMotion, timed: Knots, knots: Knots, peak: int | None) -> Knots:
    """Moves the nearest pictures to the apex, the lift-off and the landing of the first flight, if there is one."""
    air = airborne(motion, timed)
    if not len(air):
        return knots
    air = air[: int(np.argmax(np.append(np.diff(air) > 1, True))) + 1]
    apex = int(air[np.argmax(motion.com[air, 2])])
    landing = int(timed[min(int(np.searchsorted(timed, air[-1])) + 1, len(timed) - 1)])
    wanted = [apex, int(air[0]), landing]
    moved, free = knots.copy(), [i for i in range(1, len(knots) - 1) if knots[i] not in (peak, *wanted)]
    for knot in [knot for knot in wanted if knot not in knots][: len(free)]:
        nearest = min(free, key=lambda i: abs(int(knots[i]) - knot))
        moved[nearest] = knot
        free.remove(nearest)
    return np.unique(moved)
