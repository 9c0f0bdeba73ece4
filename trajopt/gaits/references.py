"""A schedule knot by knot: who stands, who touches down, and what feet and centre of mass follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.gaits.foothold import Foothold
from trajopt.gaits.phase import Phase, Swing
from trajopt.gaits.profiles import PROFILES
from trajopt.gaits.stance import Stance
from trajopt.types import Reals

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class KnotReferences:
    """Arrays of a schedule with n = T + 1 knots, the last of which is the end of the horizon; read-only.

    Attributes:
        phase: Number of the phase of each knot (n,).
        touchdown: Whether a knot is the impulse of a touch-down (n,); such a knot takes no time.
        active: Whether each foot carries force (n, feet): it stands, or at a touch-down it is hit by the ground.
        landing: Whether a foot comes down at a knot (n, feet): at its touch-down, or without one at the first knot at
            which it stands.
        feet: Rotation and position that each foot follows (n, feet, 3, 4) [-, m]; NaN where it follows none.
        com: Reference of the centre of mass (n, 3) [m]; NaN where it has none.
        times: Time of each knot from 0 (n,) [s].
    """

    phase: npt.NDArray[np.int64]
    touchdown: Flags
    active: Flags
    landing: Flags
    feet: Reals
    com: Reals
    times: Reals


def stances_of(start: Stance, phases: Sequence[Phase]) -> Iterator[Stance]:
    """The stance before each phase, and after the last; feet in the air count where they left the ground."""
    stance = start
    yield stance
    for phase in phases:
        stance = stance.stepped(phase.footholds(), phase.com or stance.com)
        yield stance


def knot_references(start: Stance, phases: Sequence[Phase], dt: float) -> KnotReferences:
    """All arrays of a schedule."""
    column = {name: i for i, name in enumerate(start.feet)}
    n = sum(phase.nodes for phase in phases)
    number, touchdown = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    active, landing = (np.zeros((n, len(column)), dtype=np.bool_) for _ in range(2))
    feet, com = np.full((n, len(column), 3, 4), np.nan), np.full((n, 3), np.nan)
    first, stances = 0, list(stances_of(start, phases))
    for i, (phase, stance) in enumerate(zip(phases, stances)):
        flying, after = slice(first, first + phase.knots), first + phase.knots
        number[first : first + phase.nodes] = i
        active[flying, [column[foot] for foot in phase.stance]] = True
        for swing in phase.swings:
            feet[first : first + phase.nodes, column[swing.foot]] = _path(stance.feet[swing.foot], swing, phase)
        com[flying] = _com(phase, stance)
        swinging = [column[foot] for foot in phase.swinging]
        landing[first:after, swinging] = False  # at once in the air again
        if phase.touches_down:
            touchdown[after] = True
            active[after, swinging] = True
        if after < n:
            landing[after, swinging] = True
        for foot in phase.swinging if after < n and not phase.impulse else ():
            feet[after, column[foot]] = stances[i + 1].feet[foot].placement
        first += phase.nodes
    steps = np.where(touchdown, 0.0, dt)
    times = np.concatenate([[0.0], np.cumsum(steps[:-1])])
    references = KnotReferences(number, touchdown, active, landing, feet, com, times)
    for array in vars(references).values():
        array.setflags(write=False)
    return references


def _path(start: Foothold, swing: Swing, phase: Phase) -> Reals:
    """Placements of a swinging foot at the phase's knots (nodes, 3, 4); NaN where nothing guides it."""
    if swing.height is None:
        path = np.full((phase.nodes, 3, 4), np.nan)
        path[-1] = Foothold(swing.to.position, swing.to.quaternion or start.quaternion).placement
        return path
    progress, height = PROFILES[swing.profile](phase.knots)
    path = np.empty((phase.knots + 1, 3, 4))
    first, last = np.array(start.position), np.array(swing.to.position)
    path[:, :, 3] = first + progress[:, None] * (last - first)
    path[:, 2, 3] += swing.height * height
    path[:, :, :3] = start.rotation
    if swing.to.sole:
        turn = pin.log3(start.rotation.T @ swing.to.rotation)
        path[:, :, :3] = [start.rotation @ pin.exp3(s * turn) for s in progress]
    return path[: phase.nodes]


def _com(phase: Phase, stance: Stance) -> Reals:
    """References of the centre of mass at the phase's knots (knots, 3), NaN if there are none."""
    if phase.com is None:
        return np.full((phase.knots, 3), np.nan)
    start, end = np.array(phase.com_start or stance.com), np.array(phase.com)
    progress = np.arange(1, phase.knots + 1) / phase.knots
    return start + progress[:, None] * (end - start)
