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
_CLOSE = 1.0 / 3.0  # least time between two pictures, relative to the mean one [-]
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


def spread(motion: LeggedMotion, timed: Knots, frames: int) -> tuple[Knots, int | None]:
    """Knots of pictures even in time, moved to events near by; returns the knots and that of the largest force.

    The events are the largest force; apex, lift-off and landing of the first flight; feet in mid-swing near by; and
    the apex of each swing that no picture shows in its upper part, the longest swing first. A picture moves only to
    where it is at least a third of their mean distance from others, for such a swing a sixth.
    """
    knots = np.unique(timed[np.round(np.linspace(0, len(timed) - 1, frames)).astype(int)])
    knots, peak = with_peak(motion, timed, knots)
    fixed = {int(knots[0]), int(knots[-1])} | ({peak} if peak is not None else set())
    for event in _flight(motion, timed):
        moved = _moved(motion, knots, event, fixed)
        fixed |= {event} if event in moved else set()
        knots = moved
    return _in_each_swing(motion, _in_swing(motion, timed, knots, fixed), fixed), peak


def _in_each_swing(motion: LeggedMotion, knots: Knots, fixed: set[int]) -> Knots:
    """Moves pictures, except those at fixed knots and of feet in mid-swing, to the middle of each swing without one."""
    risen = _mid_swings(motion)
    spans = {span for foot in motion.feet for span in motion.intervals(foot, standing=False)}
    for first, last in sorted(spans, key=lambda span: (motion.abscissa[span[0]] - motion.abscissa[span[1]], span)):
        swings = first + np.flatnonzero(risen[first:last])
        if len(swings) and not np.isin(knots, swings).any():
            shown = {int(knot) for knot in knots if risen[knot]}
            knots = _moved(motion, knots, int(swings[len(swings) // 2]), fixed | shown, _CLOSE / 2.0)
    return knots


def _moved(motion: LeggedMotion, knots: Knots, event: int, fixed: set[int], close: float = _CLOSE) -> Knots:
    """Moves the nearest picture that is not at a fixed knot to an event, unless pictures would be too close."""
    free = [i for i, knot in enumerate(knots) if int(knot) not in fixed]
    if event in knots or not free:
        return knots
    others = np.delete(knots, min(free, key=lambda i: abs(int(knots[i]) - event)))
    away = np.abs(motion.abscissa[others] - motion.abscissa[event])
    room = np.min(away, initial=np.inf) >= close * _mean_distance(motion, knots)
    return np.unique(np.append(others, event)) if room else knots


def _mean_distance(motion: LeggedMotion, knots: Knots) -> float:
    """Mean time between two pictures [s]."""
    return float(motion.abscissa[knots[-1]] - motion.abscissa[knots[0]]) / max(len(knots) - 1, 1)


def _in_swing(motion: LeggedMotion, timed: Knots, knots: Knots, fixed: set[int]) -> Knots:
    """Moves pictures that are not at fixed knots to the nearest knot with a foot in mid-swing, if it is close."""
    swings, times, mean = timed[_mid_swings(motion)[timed]], motion.abscissa, _mean_distance(motion, knots)
    for knot in [int(knot) for knot in knots if int(knot) not in fixed] if len(swings) else []:
        nearest = int(swings[np.argmin(np.abs(times[swings] - times[knot]))])
        if abs(times[nearest] - times[knot]) <= _MOVED * mean:
            knots = _moved(motion, knots, nearest, {int(other) for other in knots} - {knot})
    return knots


def with_peak(motion: LeggedMotion, timed: Knots, knots: Knots) -> tuple[Knots, int | None]:
    """Moves a picture to the knot of the largest force; returns the knots and that knot, None without forces.

    It is the nearest one between the first and the last one, unless that would be too close to one of these.
    """
    total = np.sum([np.linalg.norm(np.nan_to_num(foot.forces), axis=1) for foot in motion.feet], axis=0)
    peak = int(timed[np.argmax(total[timed])])
    if not total[peak] > 0:
        return knots, None
    moved, inside = knots.copy(), np.arange(1, len(knots) - 1)
    ends = np.abs(motion.abscissa[knots[[0, -1]]] - motion.abscissa[peak])
    room = len(inside) and ends.min() >= _CLOSE * _mean_distance(motion, knots)
    choice = inside if room else np.arange(len(knots))
    moved[choice[np.argmin(np.abs(knots[choice] - peak))]] = peak
    return np.unique(moved), peak


def airborne(motion: LeggedMotion, timed: Knots) -> Knots:
    """Knots with a duration at which no foot stands."""
    return timed[~np.any([foot.stands for foot in motion.feet], axis=0)[timed]]


def _flight(motion: LeggedMotion, timed: Knots) -> list[int]:
    """Knots of apex, lift-off and landing of the first flight; empty without a flight."""
    air = airborne(motion, timed)
    if not len(air):
        return []
    air = air[: int(np.argmax(np.append(np.diff(air) > 1, True))) + 1]
    apex = int(air[np.argmax(motion.com[air, 2])])
    landing = int(timed[min(int(np.searchsorted(timed, air[-1])) + 1, len(timed) - 1)])
    return [apex, int(air[0]), landing]
