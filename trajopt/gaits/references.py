"""A schedule as arrays over its knots: contacts, touch-downs, and references of feet and centre of mass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.gaits.foothold import Foothold
from trajopt.gaits.phase import Phase, Swing
from trajopt.gaits.profiles import PROFILES, swing_path
from trajopt.gaits.stance import Stance
from trajopt.types import Reals

Flags = npt.NDArray[np.bool_]

_STILL = 1e-6  # largest way of a centre of mass that a phase holds [m]


@dataclass(frozen=True)
class KnotReferences:
    """Read-only arrays of a schedule over its n = T + 1 knots; the last knot is the end of the horizon.

    Attributes:
        phase: Index of each knot's phase (n,).
        touchdown: Whether a knot is the impulse of a touch-down (n,); such a knot has no duration.
        active: Whether the contact of each foot, or its impulse at a touch-down, is active (n, feet).
        landing: Whether a foot lands at a knot (n, feet): at its touch-down or, without an impulse, at the first knot
            of its contact.
        feet: Reference rotation and position of each foot (n, feet, 3, 4) [-, m]; NaN for no reference.
        com: Reference of the centre of mass (n, 3) [m]; NaN for no reference.
        times: Time of each knot, starting at 0 (n,) [s].
    """

    phase: npt.NDArray[np.int64]
    touchdown: Flags
    active: Flags
    landing: Flags
    feet: Reals
    com: Reals
    times: Reals


def stances_of(start: Stance, phases: Sequence[Phase]) -> Iterator[Stance]:
    """Stances before each phase and after the last one; a foot in the air has the foothold that it left."""
    stance = start
    yield stance
    for phase in phases:
        stance = stance.stepped(phase.footholds(), phase.com or stance.com)
        yield stance


def knot_references(start: Stance, phases: Sequence[Phase], dt: float) -> KnotReferences:
    """Arrays of a schedule over its knots."""
    column = {name: i for i, name in enumerate(start.feet)}
    n = sum(phase.total_knots for phase in phases)
    number, touchdown = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    active, landing = (np.zeros((n, len(column)), dtype=np.bool_) for _ in range(2))
    feet, com = np.full((n, len(column), 3, 4), np.nan), np.full((n, 3), np.nan)
    first, stances, begins = 0, list(stances_of(start, phases)), list[int]()
    for i, (phase, stance) in enumerate(zip(phases, stances)):
        flying, after = slice(first, first + phase.knots), first + phase.knots
        number[first : first + phase.total_knots] = i
        active[flying, [column[foot] for foot in phase.stance]] = True
        begins.append(first)
        touchdown[after : first + phase.total_knots] = True
        for swing in phase.swings:
            knots = slice(begins[i - swing.earlier], first + phase.total_knots)
            feet[knots, column[swing.foot]] = _path(stance.feet[swing.foot], swing, ~touchdown[knots])
        com[flying] = _com(phase, stance, dt, (_rests(phases, stances, i, i - 1), _rests(phases, stances, i, i + 1)))
        swinging = [column[foot] for foot in phase.swinging]
        landing[first:after, swinging] = False  # a foot that lands and immediately swings again
        if phase.touches_down:
            active[after, swinging] = True
        if after < n:
            landing[after, swinging] = True
        for foot in phase.swinging if after < n and not phase.impulse else ():
            feet[after, column[foot]] = stances[i + 1].feet[foot].placement
        first += phase.total_knots
    steps = np.where(touchdown, 0.0, dt)
    times = np.concatenate([[0.0], np.cumsum(steps[:-1])])
    references = KnotReferences(number, touchdown, active, landing, feet, com, times)
    for array in vars(references).values():
        array.setflags(write=False)
    return references


def _path(start: Foothold, swing: Swing, timed: Flags) -> Reals:
    """Reference placements of a swinging foot (n, 3, 4) at knots with a duration or without (n,); NaN for none."""
    count = int(timed.sum())
    moments: npt.NDArray[np.int64] = np.cumsum(timed) - timed.astype(np.int64)
    if swing.height is None:
        path = np.full((len(timed), 3, 4), np.nan)
        path[-1] = Foothold(swing.to.position, swing.to.quaternion or start.quaternion).placement
        return path
    path = np.empty((count + 1, 3, 4))
    ends = np.array([start.position, swing.to.position])
    path[:, :, 3] = swing_path(swing.profile, count, ends, swing.height)
    path[:, :, :3] = start.rotation
    if swing.to.sole:
        turn = pin.log3(start.rotation.T @ swing.to.rotation)
        progress = PROFILES[swing.profile](count)[0].reshape(count + 1, -1)[:, 0]
        path[:, :, :3] = [start.rotation @ pin.exp3(s * turn) for s in progress]
    return path[moments]


def _com(phase: Phase, stance: Stance, dt: float, rests: tuple[bool, bool]) -> Reals:
    """References of the centre of mass at the phase's knots (knots, 3) [m]; NaN for no reference.

    Without velocities they move at a constant speed along a line, or begin or end at rest there, without acceleration.
    """
    if phase.com is None:
        return np.full((phase.knots, 3), np.nan)
    start, end = np.array(phase.com_start or stance.com), np.array(phase.com)
    if phase.com_velocities is not None:
        first, last = np.array(phase.com_velocities) * (phase.knots * dt)
        s = (np.arange(phase.knots) / phase.knots)[:, None]
        bent = s * (1 - s) * ((1 - s) * (first - end + start) - s * (last - end + start))
        return start + s * (end - start) + bent  # Hermite's cubic
    s = np.arange(1, phase.knots + 1) / phase.knots
    first, last = s * (1 - s) ** 3 * (1 + 3 * s), s**3 * (1 - s) * (4 - 3 * s)  # of Hermite's polynomial of order 5
    progress = s - rests[0] * first + rests[1] * last
    return start + progress[:, None] * (end - start)


def _rests(phases: Sequence[Phase], stances: Sequence[Stance], i: int, beside: int) -> bool:
    """Whether the centre of mass is at rest where phase i meets the one beside it, or an end of the schedule.

    The phase beside it holds the centre of mass; at an end, all feet stand.
    """
    if not 0 <= beside < len(phases):
        return not phases[i].swings and not phases[i].free
    phase = phases[beside]
    first, last = phase.com_start or stances[beside].com, phase.com
    if first is None or last is None or phase.com_velocities is not None:
        return False
    return bool(np.allclose(first, last, rtol=0.0, atol=_STILL))
