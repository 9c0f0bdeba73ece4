"""Path of the centre of mass in a jump, which a body on legs can follow: crouch, push, parabola, brake, rise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from trajopt.gaits.foothold import as_point
from trajopt.gaits.phase import Phase, Swing
from trajopt.gaits.references import stances_of
from trajopt.gaits.stance import Stance
from trajopt.types import Reals

BEFORE, AFTER = ("stand", "crouch", "push"), ("brake", "rise", "landed")
"""Names of the phases on the ground before and after the flight of a jump."""

_FALL, _PUSH, _MOST = 0.7, 2.0, 4.0
"""Accelerations: down in a crouch, up in a push, and up in a push that has little time, relative to gravity [-]."""
_LEVEL = 1e-3  # largest difference in height of level ground [m]
_UP, _DOWN, _DEPTH = np.array([(0.0, 0.3), (0.35, 0.6)]), np.array([(0.2, 0.1), (0.6, 0.5)]), (0.25, 0.4)
"""How far below its usual height the centre of mass lifts off and lands in a jump up and in one down, relative to the
difference in height; and how deep it crouches, relative to its height [-]. The first values are for legs that stand
bent, the second ones for straight legs, whose joints would have to turn too fast for the speed of a push. Legs that are
still folded when they land on a platform need less speed."""
_DEEPEST = 0.5  # largest depth of a crouch between places of equal height, relative to the height [-]
_BENT, _STRAIGHT = 0.65, 0.75
"""Height of the centre of mass relative to the length of the stance, for legs that count as bent and straight [-]. B1,
A1, ANYmal and Solo12 stand at 0.49 to 0.65, Go2 at 0.76."""


@dataclass(frozen=True, kw_only=True)
class Leap:
    """Path of the centre of mass in a jump.

    It crouches, is pushed up, flies on a parabola, is braked and rises. Between places of equal height it gains its
    horizontal velocity evenly on the ground; if there is time, it crouches to rest. At a step it crouches straight
    down, away from the edge, only the push drives it ahead, and constant accelerations are such that feet need not
    pull.

    Attributes:
        com: Centre of mass at the start (3,) [m].
        by: Displacement of the jump (3,) [m].
        stance: Stance at the start.
        height: Height of the apex above the line from lift-off to landing [m].
        dt: Time step [s].
        knots: Number of knots of the flight [-].
    """

    com: Reals
    by: Reals
    stance: Stance
    height: float
    dt: float
    knots: int

    def phases(self, names: tuple[str, ...], swings: tuple[Swing, ...], ground: int, landed: int) -> list[Phase]:
        """Phases of the jump, with `ground` knots before and `landed` knots after the flight."""
        time, g = self.knots * self.dt, self.stance.gravity
        offset = self.height - g * time**2 / 8
        straight, standing = self._straight(), self.com[2] - self.stance.height
        low, deep = (1 - straight, straight) @ (_UP if self.by[2] > 0 else _DOWN)
        low, deep = offset - low * abs(self.by[2]), offset - deep * abs(self.by[2])  # the offset rounds the time
        up = (self.by[2] + deep - low) / time + g * time / 2
        down = up - g * time
        level, after = abs(self.by[2]) < _LEVEL, AFTER[::-1]
        depth = standing * (_DEEPEST if level else float(np.dot((1 - straight, straight), _DEPTH)))
        if level and self.height / 2 <= depth and 3 * self.knots / 4 <= min(ground, landed):
            push, brake = (_Push.slow(up, self.knots, knots, self.dt) for knots in (ground, landed))
            after = ("rise", "landed", "brake")
        else:
            push, brake = _Push.to(up, low, depth, ground, self.dt, g), _Push.to(-down, deep, depth, landed, self.dt, g)
        gains = [ground * self.dt, landed * self.dt] if level else [push.time, brake.time]
        ahead = self.by[:2] / (time + sum(gains) / 2)
        first, last = np.array([*ahead, up]), np.array([*ahead, down])
        end, stays = self.com + self.by, {"stance": names}
        lifting = self.com + np.array([*(ahead * gains[0] / 2), low])
        landing = end + np.array([*(-ahead * gains[1] / 2), deep])
        backwards = brake.rows(after, end, landing, -last, gains[1], self.dt)
        rows = [
            *push.rows(BEFORE, self.com, lifting, first, gains[0], self.dt),
            ("flight", self.knots, lifting, landing, first, last),
            *((name, n, b, a, -w, -v) for name, n, a, b, v, w in backwards[::-1]),
        ]
        return [
            Phase(name=name, knots=knots, com_start=as_point("com", a), com=as_point("com", b),
                  com_velocities=(as_point("v", v), as_point("v", w)),
                  **({"swings": swings, "rise": self.height} if name == "flight" else stays))
            for name, knots, a, b, v, w in rows if knots
        ]  # fmt: skip

    def _straight(self) -> float:
        """Straightness of the standing legs, 0 to 1 [-], judged by the height of the robot on its stance."""
        points = np.array([foot.position[:2] for foot in self.stance.feet.values()])
        spread = float(np.linalg.svd(points - points.mean(axis=0), compute_uv=False)[0])
        length = 2 * spread / np.sqrt(len(points))
        ratio = (self.com[2] - self.stance.height) / max(length, 1e-9)
        return float(np.clip((ratio - _BENT) / (_STRAIGHT - _BENT), 0.0, 1.0))


def leaping(start: Stance, phases: Sequence[Phase], dt: float) -> tuple[Phase, ...]:
    """Phases in which the paths of jumps are planned anew, between the standing postures before and after them.

    A jump is a flight with a rise between phases that have the names of those of a `Leap`.
    """
    planned, taken, stances = list[Phase](), 0, [*stances_of(start, phases)]
    for i, flight in enumerate(phases):
        before = _count(phases[:i][::-1], BEFORE)
        after = _count(phases[i + 1 :], AFTER)
        if flight.stance or flight.rise is None or not (before and after):
            continue
        first, last = i - before, i + after + 1
        com, end = stances[first].com, phases[last - 1].com
        assert com is not None
        assert end is not None
        leap = Leap(com=np.array(com), by=np.subtract(end, com), stance=stances[first],
                    height=flight.rise, dt=dt, knots=flight.knots)  # fmt: skip
        ground, landed = (sum(phase.knots for phase in part) for part in (phases[first:i], phases[i + 1 : last]))
        planned += [*phases[taken:first], *leap.phases(stances[i].names, flight.swings, ground, landed)]
        taken = last
    return (*planned, *phases[taken:])


def _count(phases: Sequence[Phase], names: tuple[str, ...]) -> int:
    """Number of phases at the beginning that have these names, and a path of the centre of mass."""
    return next((i for i, p in enumerate(phases) if p.name not in names or not p.com_velocities), len(phases))


@dataclass(frozen=True, kw_only=True)
class _Push:
    """Vertical motion from rest to the velocity of a lift-off, or backwards from that of a landing.

    Attributes:
        waits: Number of knots at rest [-].
        crouches: Number of knots of the crouch [-].
        pushes: Number of knots of the push [-].
        turn: Downward speed at the end of the crouch [m/s].
        speed: Upward speed at the end of the push [m/s].
        time: Duration of the push [s].
    """

    waits: int
    crouches: int
    pushes: int
    turn: float
    speed: float
    time: float

    @classmethod
    def slow(cls, speed: float, flight: int, knots: int, dt: float) -> Self:
        """Plans a crouch to rest, and a push with 2 g for a quarter of a flight of `flight` knots.

        Between places of equal height it is as deep as half the jump is high, and the crouch should take twice the time
        of the push, so that feet need not pull.
        """
        pushes = min(max(1, round(flight / 4)), knots)
        return cls(waits=0, crouches=knots - pushes, pushes=pushes, turn=0.0, speed=speed, time=pushes * dt)

    @classmethod
    def to(cls, speed: float, rise: float, depth: float, knots: int, dt: float, gravity: float) -> Self:
        """Plans the motion within a number of knots.

        With accelerations -A for the time s and B for the time t, the velocity is v = B t - A s at the end, and the
        height is (v t - A s (s + t)) / 2. The deepest point is v² / (2 B) minus that height below the start. With too
        few knots the crouch is shorter and the push stronger, up to 4 g; with fewer still, the path is that of the time
        it needs, and faster.

        Args:
            speed: Upward velocity at the end [m/s].
            rise: Height of the end above the start [m].
            depth: Depth of the crouch below the start, which a stronger push keeps to [m].
            knots: Number of knots [-].
            dt: Time step [s].
            gravity: Strength of gravity g [m/s²].
        """
        if speed <= 0 or knots < 2:
            return cls.slow(speed, 0, knots, dt)
        down, most = _FALL * gravity, _MOST * gravity
        push = max(_PUSH * gravity, speed**2 / (2 * max(depth + rise, 0.1 * depth)))
        fall = np.sqrt(max(speed**2 / push - 2 * rise, 0.0) / (1 / down + 1 / push)) / down
        least = fall + (down * fall + speed) / push
        time = min(least, knots * dt)
        shorter = (speed * time - 2 * rise) / (speed + down * time)
        if time < least and (speed + down * shorter) <= most * (time - shorter):
            fall, least = shorter, time
        faster = least / time
        total = min(max(round(time / dt), 2), knots)
        crouches = min(max(round(fall / faster / dt), 1), total - 1)
        pushes = total - crouches
        turn = (faster * speed * pushes - 2 * rise / dt) / total
        return cls(
            waits=knots - total, crouches=crouches, pushes=pushes, turn=turn, speed=faster * speed, time=pushes * dt
        )

    def rows(
        self, names: tuple[str, ...], start: Reals, end: Reals, velocity: Reals, gains: float, dt: float
    ) -> list[tuple[Any, ...]]:
        """Name, knots, first and last point and velocities of each phase of a path from rest at `start`.

        The horizontal velocity grows evenly during the last `gains` [s].
        """
        left = dt * np.cumsum([self.pushes, self.crouches, self.waits])[::-1]
        share = np.clip(1 - np.append(left, 0.0) / max(gains, dt), 0.0, 1.0)[:, None]
        deep = end[2] - (self.speed - self.turn) * self.time / 2
        speeds, points = share * velocity, start + share**2 * velocity * gains / 2
        speeds[:, 2], points[:, 2] = [0.0, 0.0, -self.turn, self.speed], [start[2], start[2], deep, end[2]]
        knots = (self.waits, self.crouches, self.pushes)
        return list(zip(names, knots, points, points[1:], speeds, speeds[1:]))
