"""Stops of joints in the simulator: an impulse that keeps a coordinate within its limits at the end of a step.

A stop at the distance φ pushes with p >= 0 so that φ + dt φ̇ >= 0 after the step: the joint comes to its limit and no
farther, and rests there; p φ̇ is never positive. As impulses of contacts do, p minimises the kinetic energy with a
barrier of weight μ, p (φ/dt + φ̇) = μ, so that steps are smooth and no limit is ever passed. Beyond a limit, where
only a start can be, φ counts as 0: the joint may come back, and is not thrown.

Far from its limits, where no speed up to `REACH` leads to it within a step, a stop is off and costs nothing.
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
"""Speed of a joint whose way in one step is the distance at which its stops are off; within half of it they are fully
on [rad/s, m/s]."""
STRENGTH = 1e6
"""Most that a stop gives, over the robot's weight [m]; it is never needed."""

_TINY = 1e-300
Bounds = tuple[tuple[str, float, float], ...]


class StopLaw(LawAbstract):
    """C = k (± σ), a ray for each limit of a coordinate, with k φ/dt added to Cᵀ u: w > 0 keeps σ φ̇ + φ/dt > 0.

    Its values are k σ of each limit, then k φ/dt. σ goes from 1 to 0 where the stop is switched off.

    Args:
        signs: Direction in which each limit pushes, 1 for a lower and -1 for an upper one.
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
        """By the variance of the rays about their mean, and its share."""
        C = self.columns(law).T
        mean = weights.mean(C)
        away, common = C - mean, weights.share * mean
        F = ca.sqrt(ca.dot(weights.inverse, away**2) + weights.total * weights.share * mean**2 + _TINY)
        left = weights.inverse * (away + common) * reciprocal(F)
        return Follower(SX(F), SX(left.T))

    def start(self, law: SX, velocity: SX, inertia: SX) -> tuple[SX, SX]:
        """The solution of each limit alone, 1 / w = a + R w: where a stop is far, that is the end already."""
        C = self.columns(law)
        a = C.T @ velocity + self.gap(law) + 1
        R = C.T**2 * inertia
        root = ca.sqrt(a**2 + 4 * R)
        alone = ca.if_else(a >= 0, 2 / (a + root), (root - a) / (2 * R + _TINY))
        w = ca.fmin(alone, 1 / (self.rays + 1))
        return SX(w), SX(1 - ca.sum1(w))


@dataclass(frozen=True)
class JointStop:
    """The limits of one coordinate.

    Attributes:
        name: Name of the joint.
        place: Index of its coordinate in q [-].
        row: Index of its velocity in v [-].
        lower: Least value; -inf for none [rad, m].
        upper: Largest value; inf for none [rad, m].
        law: What its impulse follows.
    """

    name: str
    place: int
    row: int
    lower: float
    upper: float
    law: StopLaw

    def values(self, q: SX, dt: SX, strength: float) -> SX:
        """Values of the law at a configuration."""
        distances = [q[self.place] - self.lower] if np.isfinite(self.lower) else []
        distances += [self.upper - q[self.place]] if np.isfinite(self.upper) else []
        on = [strength * self._switch(d, dt) for d in distances]
        return SX(ca.vertcat(*on, *[strength * ca.fmax(d, 0) / dt for d in distances]))

    def nearness(self, q: SX, dt: SX) -> SX:
        """0 where the stop is off at both ends."""
        return SX(ca.sum1(self.values(q, dt, 1.0)[: self.law.rays]))

    def _switch(self, distance: SX, dt: SX) -> SX:
        """1 up to half of the reach of a step, 0 from there on, C² in between."""
        t = ca.fmax(0, ca.fmin(1, 2 - 2 * distance / (REACH * dt)))
        return SX(t**3 * (10 - 15 * t + 6 * t**2))


def stops_of(state: StateMultibody, bounds: Bounds) -> tuple[JointStop, ...]:
    """Stops of coordinates with these bounds."""
    coordinates, found = _coordinates(state), []
    for name, lower, upper in bounds:
        signs = tuple(sign for sign, bound in ((1.0, lower), (-1.0, upper)) if np.isfinite(bound))
        found.append(JointStop(name, *coordinates[name], lower, upper, StopLaw(signs)))
    return tuple(found)


def check_joint_stops(given: Any, state: StateMultibody) -> Bounds:
    """Names and bounds of the coordinates that have stops.

    Args:
        given: True for all joints with limits, False or None for none, names of joints, or (lower, upper) by name.
        state: The state of the robot, which has its limits.

    Raises:
        InvalidArgumentError: It is none of these, a joint has no limits, or there is no room between them.
        UnknownNameError: There is no such joint.
    """
    limits = {
        name: (float(state.lower[row]), float(state.upper[row])) for name, (_, row) in _coordinates(state).items()
    }
    if given is None or given is False:
        return ()
    if given is True:
        return tuple((name, *pair) for name, pair in limits.items() if _has_room(*pair))
    if isinstance(given, Mapping):
        return tuple(_given(name, pair, limits) for name, pair in given.items())
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes)):
        raise InvalidArgumentError(
            f"joint_stops: expected True, False, names of joints or {{name: (lower, upper)}}, got {shown(given)}"
        )
    names = check_texts("joint_stops", list(given))
    if len(set(names)) < len(names):
        raise InvalidArgumentError(f"joint_stops: expected each joint once, got {list(names)}")
    return tuple(_own(name, limits) for name in names)


def _coordinates(state: StateMultibody) -> dict[str, tuple[int, int]]:
    """Places in q and in v of the coordinates that are numbers with a rate, by the names of their joints."""
    found = {}
    for joint in joint_spaces(state.model):
        if isinstance(joint.space, VectorSpace):
            for i, part in enumerate(joint.space.coordinates):
                found[f"{joint.label}.{part}" if part else joint.label] = (joint.q.start + i, joint.v.start + i)
    return found


def _has_room(lower: float, upper: float) -> bool:
    """Whether there is a limit, and room between both: a file's zeros are none."""
    return lower < upper and bool(np.isfinite(lower) or np.isfinite(upper))


def _own(name: str, limits: Mapping[str, tuple[float, float]]) -> tuple[str, float, float]:
    check_known("joint_stops: joint", name, limits)
    lower, upper = limits[name]
    if not _has_room(lower, upper):
        raise InvalidArgumentError(
            f"joint_stops: expected joints with limits, got {name!r} with ({lower:g}, {upper:g}); give it some: "
            f"joint_stops={{{name!r}: (lower, upper)}}"
        )
    return (name, lower, upper)


def _given(name: Any, pair: Any, limits: Mapping[str, tuple[float, float]]) -> tuple[str, float, float]:
    check_known("joint_stops: joint", name, limits)
    lower, upper = (float(bound) for bound in check_bounds(f"joint_stops[{name!r}]", pair, 2))
    if not _has_room(lower, upper):
        raise InvalidArgumentError(
            f"joint_stops[{name!r}]: expected lower < upper, one of them finite, got {lower:g} and {upper:g}"
        )
    return (name, lower, upper)
