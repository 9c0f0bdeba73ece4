"""Comparison of what plans and models promise with the states that came: goals never reached, constant disturbances."""

from __future__ import annotations

import numpy as np

from trajopt.states import StateAbstract
from trajopt.types import Reals

OF_WAY = 0.5  # part of a plan's way by which its end is missed, that counts [-]
OF_SPREAD = 1.5  # standard deviations of the motion, likewise: healthy loops have at most 1.04, a hanging pole 2.5 [-]
OF_ENDS = 0.25  # part of a miss by which the ends of plans may differ [-]
LATEST = 10  # part of the plans, 1 / LATEST, that are the last ones [-]
STEADY = 5.0  # median deviations from its median that a difference exceeds, if it is constant [-]
OF_CHANGE = 0.1  # part of the median change of a coordinate, likewise [-]
OF_EFFECT = 0.1  # part of the differences that a disturbance of the controls may leave, if it makes them [-]
SLOW = 1e-2  # differences below this are not told [rad/s, m/s², ...]
SLIGHT = 1e-2  # misses below this are not told [rad, m, ...]


def missed_goals(state: StateAbstract, xs: Reals, ends: Reals, periods: int, late: int = 0) -> str:
    """Coordinates whose planned ends do not come, as text; empty if plans come true, or none has ended.

    Of each plan in the last half, its end is compared with the state at that time. The median of the misses counts if
    it is more than half the way that plans go from start to end, more than the motion itself spreads, and more than
    four times what the ends differ from one another. Ends that move on with the plant are no goal: the horizon ends
    short of it, or there is none. Where the plant has come to the ends of its last plans, it misses nothing: plans from
    before it knew its model well may have ended anywhere.

    Args:
        state: The state.
        xs: States at the periods (n + 1, nx).
        ends: Last state of each plan (n, nx).
        periods: Duration of a plan, in control periods [-].
        late: Time from a measurement to the begin of its plan, in control periods: that of a compensated delay [-].
    """
    periods += late
    count = len(ends) - periods
    first = count // 2
    if count < 2:
        return ""
    pairs = [(xs[k], ends[k], xs[k + periods]) for k in range(first, count)]
    ways = np.median([np.abs(state.difference(start, end)) for start, end, _ in pairs], axis=0)
    misses = np.median([np.abs(state.difference(end, came)) for _, end, came in pairs], axis=0)
    spread = np.std([state.difference(xs[first], x) for x in xs[first:]], axis=0)
    apart = np.array([state.difference(ends[first], end) for end in ends[first:]])
    moved = np.median(np.abs(apart - np.median(apart, axis=0)), axis=0)
    places = state.ndx // 2 if state.has_velocities else state.ndx  # goals are places: at rest velocities say nothing
    latest = range(len(ends) - max(1, len(ends) // LATEST), len(ends))
    left = np.median([np.abs(state.difference(xs[k], ends[k])) for k in latest], axis=0)
    missed = (misses > OF_WAY * ways) & (misses > OF_SPREAD * spread) & (misses > SLIGHT) & (OF_ENDS * misses > moved)
    missed &= left > OF_WAY * misses
    bad = np.flatnonzero(missed[:places])
    worst = sorted(bad, key=lambda i: -misses[i])[:3]
    return ", ".join(f"{state.tangent_names[i]} by {misses[i]:.3g} {state.tangent_units[i]}" for i in worst)


def steady_differences(state: StateAbstract, xs: Reals, expected: Reals, came: Reals, dt: float) -> Reals:
    """Differences of the plant from a model that are the same after each period (ndx,) [1/s]; 0 for others.

    The differences of a model with other masses change their signs with the motion; those of a constant force do not.
    Their median counts if it is more than five times their median deviation from it.

    Args:
        state: The state.
        xs: States at some periods (n, nx).
        expected: States of the model after one period (n, nx).
        came: States after one period (n, nx).
        dt: Control period [s].
    """
    errors = np.array([state.difference(x, y) for x, y in zip(expected, came)]) / dt
    changes = np.array([state.difference(x, y) for x, y in zip(xs, came)]) / dt
    middle = np.median(errors, axis=0)
    spread, change = np.median(np.abs(errors - middle), axis=0), np.median(np.abs(changes), axis=0)
    steady = (np.abs(middle) > STEADY * spread) & (np.abs(middle) > OF_CHANGE * change) & (np.abs(middle) > SLOW)
    return np.where(steady & (np.arange(state.ndx) >= first_rate(state)), middle, 0.0)


def biased(state: StateAbstract, differences: Reals) -> str:
    """The largest of the steady differences (ndx,) as text, such as "v by 0.7 m/s"; empty if all are 0."""
    worst = [int(i) for i in np.argsort(-np.abs(differences)) if differences[i]][:3]
    units = ["" if unit == "-" else f" {unit}" for unit in state.tangent_units]
    return ", ".join(f"{state.tangent_names[i]} by {differences[i]:.3g}{units[i]}" for i in worst)


def of_controls(effects: Reals, differences: Reals) -> bool:
    """Whether a constant change of the controls makes steady differences (n,), by its effects (n, nu) [1/s]."""
    if not np.isfinite(effects).all():
        return False
    change = np.linalg.lstsq(effects, differences)[0]
    return bool(np.linalg.norm(effects @ change - differences) < OF_EFFECT * np.linalg.norm(differences))


def first_rate(state: StateAbstract) -> int:
    """Number of the first coordinate that forces change: that of velocities, if there are any [-]."""
    return state.ndx // 2 if state.has_velocities else 0
