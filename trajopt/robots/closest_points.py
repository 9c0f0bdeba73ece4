"""Closest points of two spheres or capsules, as expressions."""

from __future__ import annotations

import functools

import casadi as ca
from casadi import SX

PARALLEL = 1e-12  # axes count as parallel below this squared sine of their angle [-]
NO_LENGTH = 1e-100  # replaces a product of squared lengths that is 0 [m², m⁴]


def closest_points(first: SX, second: SX, *, degenerate: bool = False) -> tuple[SX, SX]:
    """Weights (n,), >= 0 with sum 1, of the points (n, 3) of each shape that give the closest points of the two.

    The distance of two segments is convex in both parameters, so that it is exact to clamp one and solve for the other,
    twice. Parallel segments have many closest pairs; one of them is returned.

    Args:
        first: Points of the first shape.
        second: Points of the second shape.
        degenerate: Whether two points of a shape may coincide.

    Source: Ericson, Real-Time Collision Detection, 2005, sections 5.1.2 and 5.1.9.
    """
    if first.shape[0] == second.shape[0] == 1:
        return SX(1), SX(1)
    if first.shape[0] == 1:
        return SX(1), _weights(_along(second, first.T))
    if second.shape[0] == 1:
        return _weights(_along(first, second.T)), SX(1)
    d1, d2, r = (first[1, :] - first[0, :]).T, (second[1, :] - second[0, :]).T, (first[0, :] - second[0, :]).T
    a, b, e, c, f = ca.dot(d1, d1), ca.dot(d1, d2), ca.dot(d2, d2), ca.dot(d1, r), ca.dot(d2, r)
    across = a * e - b * b + PARALLEL * a * e
    if degenerate:
        a, e, across = (ca.fmax(each, NO_LENGTH) for each in (a, e, across))
    s = _clamped((b * f - c * e) / across)
    t = _clamped((b * s + f) / e)
    return _weights(_clamped((b * t - c) / a)), _weights(t)


@functools.cache
def axis_gap() -> ca.Function:
    """(ends (6,) of an axis and radius, those of another one) -> distance of the two spheres or capsules [m]."""
    a, b = SX.sym("a", 7), SX.sym("b", 7)
    first, second = (ca.reshape(each[:6], 3, 2).T for each in (a, b))
    weights = closest_points(first, second, degenerate=True)
    length = ca.norm_2(first.T @ weights[0] - second.T @ weights[1])
    return ca.Function("axis_gap", [a, b], [length - a[6] - b[6]])


def length_and_direction(gap: SX, core: SX | float) -> tuple[SX, SX]:
    """|gap| and its derivative (n,); below `core` the parabola (|gap|² / core + core) / 2, which is smooth at 0."""
    square = ca.dot(gap, gap)
    reach = ca.sqrt(ca.fmax(square, core**2))
    return SX((square / reach + reach) / 2), SX(gap / reach)


def _along(segment: SX, point: SX) -> SX:
    """Fraction of a segment (2, 3) at which it is closest to a point (3,)."""
    start, direction = segment[0, :].T, (segment[1, :] - segment[0, :]).T
    return _clamped(ca.dot(point - start, direction) / ca.dot(direction, direction))


def _clamped(value: SX) -> SX:
    return ca.fmin(ca.fmax(value, 0.0), 1.0)


def _weights(part: SX) -> SX:
    return SX(ca.vertcat(1.0 - part, part))
