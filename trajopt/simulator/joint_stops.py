"""Joint stops in the simulator: an impulse keeps a coordinate within its limits at the end of a step.

A stop at distance φ has an impulse p >= 0 such that φ + dt φ̇ >= 0 after the step. The joint reaches its limit, does
not pass it, and rests there; p φ̇ is never positive. Like the impulses of contacts, p minimises the kinetic energy
with a barrier of weight μ, p (φ/dt + φ̇) = μ. Steps are therefore smooth, and no limit is ever passed. If the initial
state is beyond a limit, φ counts as 0: the joint may return, but is not thrown back.

A stop is off and takes no time if no speed up to `REACH` reaches the limit within a step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.checks import check_bounds, check_known, check_texts
from trajopt.errors import InvalidArgumentError, shown
from trajopt.simulator.laws import Follower, LawAbstract, Weights, reciprocal
from trajopt.states.joint_spaces import joint_spaces
from trajopt.states.spaces import VectorSpace
from trajopt.states.state_multibody import StateMultibody

REACH = 200.0
"""A stop is off if a joint at this speed does not reach it within a step, and fully on within half of that distance
[rad/s, m/s]."""
STRENGTH = 1e6
"""Largest impulse of a stop divided by the robot's weight [m]; in practice it is never reached."""

_TINY = 1e-300
Bounds = tuple[tuple[str, float, float], ...]


class StopLaw(LawAbstract):
    """Law of joint stops, C = k (± σ): one ray for each limit, and k φ/dt added to Cᵀ u; w > 0 keeps σ φ̇ + φ/dt > 0.

    Its values are k σ of each limit, then k φ/dt. σ falls from 1 to 0 where the stop is switched off.

    Args:
        signs: Direction of each limit's impulse, 1 for a lower and -1 for an upper limit.
    """

    size = rank = 1
    one_sided = True

    def __init__(self, signs: tuple[float, ...]) -> None:
        self.rays, self.constants = len(signs), 2 * len(signs)
        self._signs = SX(ca.DM(list(signs)))

    def columns(self, law: SX) -> SX:
        return SX((self._signs * law[: self.rays]).T)

    def gap(self, law: SX) -> SX:
        return SX(law[self.rays :])

    def scaled(self, law: SX, scale: SX, unit: SX | float = 1.0) -> SX:
        return SX(ca.vertcat(law[: self.rays] * scale, law[self.rays :] * (scale / unit)))

    def follow(self, law: SX, weights: Weights) -> Follower:
        """Factors F and L, from the variance of the rays about their mean."""
        C = self.columns(law).T
        mean = weights.mean(C)
        away, common = C - mean, weights.share * mean
        F = ca.sqrt(ca.dot(weights.inverse, away**2) + weights.total * weights.share * mean**2 + _TINY)
        left = weights.inverse * (away + common) * reciprocal(F)
        return Follower(SX(F), SX(left.T))

    def start(self, law: SX, velocity: SX, inertia: SX) -> tuple[SX, SX]:
        """Initial (w, s) from 1/w = a + R w for each limit alone. For a distant stop this is already the solution."""
        C = self.columns(law)
        a = C.T @ velocity + self.gap(law) + 1
        R = C.T**2 * inertia
        root = ca.sqrt(a**2 + 4 * R)
        alone = ca.if_else(a >= 0, 2 / (a + root), (root - a) / (2 * R + _TINY))
        w = ca.fmin(alone, 1 / (self.rays + 1))
        return SX(w), SX(1 - ca.sum1(w))


@dataclass(frozen=True)
class JointStop:
    """Joint stop: the limits of one coordinate.

    Attributes:
        name: Name of the joint.
        place: Index of the coordinate in q [-].
        row: Index of the velocity in v [-].
        lower: Smallest value; -inf for none [rad, m].
        upper: Largest value; inf for none [rad, m].
        law: Law of the stop's impulse.
    """

    name: str
    place: int
    row: int
    lower: float
    upper: float
    law: StopLaw

    def values(self, q: SX, dt: SX, strength: float) -> SX:
        """Returns the values of `law`, see `StopLaw`: k σ of each limit, then k φ/dt, with k = `strength`."""
        distances = [q[self.place] - self.lower] if np.isfinite(self.lower) else []
        distances += [self.upper - q[self.place]] if np.isfinite(self.upper) else []
        on = [strength * self._switch(d, dt) for d in distances]
        return SX(ca.vertcat(*on, *[strength * ca.fmax(d, 0) / dt for d in distances]))

    def nearness(self, q: SX, dt: SX) -> SX:
        """Sum of the stop's activities at both limits [-]; 0 if both are switched off."""
        return SX(ca.sum1(self.values(q, dt, 1.0)[: self.law.rays]))

    def _switch(self, distance: SX, dt: SX) -> SX:
        """Switch function: 1 up to half of the reach of a step, 0 beyond the reach, C² in between."""
        t = ca.fmax(0, ca.fmin(1, 2 - 2 * distance / (REACH * dt)))
        return SX(t**3 * (10 - 15 * t + 6 * t**2))


def stops_of(state: StateMultibody, bounds: Bounds) -> tuple[JointStop, ...]:
    """Builds the joint stops from names and bounds of coordinates."""
    coordinates, stops = _coordinates(state), []
    for name, lower, upper in bounds:
        signs = tuple(sign for sign, bound in ((1.0, lower), (-1.0, upper)) if np.isfinite(bound))
        stops.append(JointStop(name, *coordinates[name], lower, upper, StopLaw(signs)))
    return tuple(stops)


def check_joint_stops(joint_stops: Any, state: StateMultibody) -> Bounds:
    """Names and bounds of the coordinates with stops.

    Args:
        joint_stops: True for all joints with limits, False or None for none, names of joints, or (lower, upper) by
            name.
        state: State of the robot, with its limits.

    Raises:
        InvalidArgumentError: `joint_stops` has another type, a joint has no limits, or its limits are equal or crossed.
        UnknownNameError: The robot has no joint of this name.
    """
    limits = {
        name: (float(state.lower[row]), float(state.upper[row])) for name, (_, row) in _coordinates(state).items()
    }
    if joint_stops is None or joint_stops is False:
        return ()
    if joint_stops is True:
        return tuple((name, *pair) for name, pair in limits.items() if _has_room(*pair))
    if isinstance(joint_stops, Mapping):
        return tuple(_custom(name, pair, limits) for name, pair in joint_stops.items())
    if not isinstance(joint_stops, Iterable) or isinstance(joint_stops, (str, bytes)):
        raise InvalidArgumentError(
            f"joint_stops: expected True, False, names of joints or {{name: (lower, upper)}}, got {shown(joint_stops)}"
        )
    names = check_texts("joint_stops", joint_stops)
    if len(set(names)) < len(names):
        raise InvalidArgumentError(
            f"joint_stops: expected each joint once, got {list(names)}; remove the repeated names"
        )
    return tuple(_own(name, limits) for name in names)


def _coordinates(state: StateMultibody) -> dict[str, tuple[int, int]]:
    """Indices in q and in v of the coordinates that are numbers with a rate, by the names of their joints."""
    places = {}
    for joint in joint_spaces(state.model):
        if isinstance(joint.space, VectorSpace):
            for i, part in enumerate(joint.space.coordinates):
                places[f"{joint.label}.{part}" if part else joint.label] = (joint.q.start + i, joint.v.start + i)
    return places


def _has_room(lower: float, upper: float) -> bool:
    """Whether there is a limit and lower < upper; two zeros in a robot's file mean no limits."""
    return lower < upper and bool(np.isfinite(lower) or np.isfinite(upper))


def _own(name: str, limits: Mapping[str, tuple[float, float]]) -> tuple[str, float, float]:
    check_known("joint_stops: joint", name, limits)
    lower, upper = limits[name]
    if not _has_room(lower, upper):
        raise InvalidArgumentError(
            f"joint_stops: expected joints with limits, got {name!r} with ({lower:g}, {upper:g}); pass limits: "
            f"joint_stops={{{name!r}: (lower, upper)}}"
        )
    return (name, lower, upper)


def _custom(name: Any, pair: Any, limits: Mapping[str, tuple[float, float]]) -> tuple[str, float, float]:
    check_known("joint_stops: joint", name, limits)
    lower, upper = (float(bound) for bound in check_bounds(f"joint_stops[{name!r}]", pair, 2))
    if not _has_room(lower, upper):
        raise InvalidArgumentError(
            f"joint_stops[{name!r}]: expected lower < upper, at least one finite, got {lower:g} and {upper:g}"
        )
    return (name, lower, upper)
