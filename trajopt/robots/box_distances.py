"""Signed distances of boxes from points, segments and boxes, as expressions in the axes of a box around its centre.

Each function returns the distance, a unit normal that points away from the box, and a point of the line on which both
bodies press against each other. The derivative of the distance by the motion of the bodies is that of the distance of
two planes across the normal at this point (Danskin's theorem). A negative distance is the length of the shortest
translation that separates the two, as in Coal. Of several nearest features the first counts: faces before edges, in the
order of the axes. Where a segment or box lies parallel to a face, the point is one of the nearest ones.

Each row of a solver evaluates the distance of a segment, so that it has few divisions and roots: three and one.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.robots.closest_points import NO_LENGTH

Contact = tuple[SX, SX, SX]
"""Distance (1,) [m], normal (3,) [-] and point (3,) [m]."""

TOUCHING = 1e-9  # distance from which the direction between the nearest points is the normal [m]
FLAT = 1e-10  # difference of the ends of a segment along an axis that counts as none [m]
NOWHERE = -1e9  # distance along an axis that does not exist [m]
AXES = [SX(axis) for axis in np.eye(3)]
PLANES = ((1, 2), (2, 0), (0, 1))  # the two other axes of each axis


def point_box(point: SX, half: SX) -> Contact:
    """Distance of a point (3,) from a box with half sides `half` (3,)."""
    gap = _beyond(point, half)
    sides = ((ca.fabs(point[i]) - half[i], _sign(point[i]) * axis, point) for i, axis in enumerate(AXES))
    return _outside_or_inside(gap, point, _first_largest(sides))


def segment_box(start: SX, along: SX, half: SX) -> Contact:
    """Distance of a segment from a box; instead of a point, it returns the share of `along` at which the point is.

    Args:
        start: One end (3,) [m].
        along: The other end minus this one (3,), which may be 0 [m].
        half: Half sides of the box (3,) [m].
    """
    gap, share = _nearest_of_segment(start, along, half)
    square = ca.dot(gap, gap)
    outside = square > TOUCHING**2
    inside = _overlap_of_segment(start, along, half)
    length, axis, share = (ca.if_else(outside, *both) for both in zip((square, gap, share), inside))
    inverse = ca.sqrt(1.0 / ca.fmax(ca.dot(axis, axis), NO_LENGTH))  # CasADi turns a product with 1 / y into a division
    return length * inverse, axis * inverse, share


def box_box(rotation: SX, position: SX, half: SX, own_half: SX) -> Contact:
    """Distance of a box with a placement and half sides `half` from the own box with half sides `own_half`.

    Outside, the nearest features are an edge of the box and the own box, or a corner of the own box and the box.
    """
    candidates = []
    for i, axis in enumerate(AXES):
        for corner in _signs(2):
            signs = np.insert(np.array(corner), i, 0.0)
            middle = position + rotation @ (SX(signs) * half)
            reach = rotation @ (axis * half[i])
            square, gap, point = _edge()(middle - reach, 2.0 * reach, own_half)
            candidates.append((-square, gap, point))
    for corner in _signs(3):
        own = SX(np.array(corner)) * own_half
        gap = -rotation @ _beyond(rotation.T @ (own - position), half)
        candidates.append((-ca.dot(gap, gap), gap, own + gap))
    _, gap, point = _first_largest(candidates)
    return _outside_or_inside(gap, point, _first_largest(_axes_of_boxes(rotation, position, half, own_half)))


@functools.cache
def _edge() -> ca.Function:
    """(start, along, half sides of the box) -> squared distance, gap and point."""
    start, along, half = (SX.sym(name, 3) for name in ("start", "along", "half"))
    gap, share = _nearest_of_segment(start, along, half)
    return ca.Function("edge", [start, along, half], [ca.dot(gap, gap), gap, start + share * along])


@functools.cache
def box_gap() -> ca.Function:
    """(ends (6,) of an axis and radius, placement (12,) and half sides of a box) -> distance of the two [m]."""
    body, box = SX.sym("body", 7), SX.sym("box", 15)
    turn = ca.reshape(box[:9], 3, 3).T
    start, along = turn @ (body[:3] - box[9:12]), turn @ (body[3:6] - body[:3])
    return ca.Function("box_gap", [body, box], [segment_box(start, along, box[12:])[0] - body[6]])


def _nearest_of_segment(start: SX, along: SX, half: SX) -> tuple[SX, SX]:
    """Gap (3,) from a box to a segment, and the share of the segment at which it is.

    Half the derivative of the squared distance by the share s is monotonic and piecewise linear: the sum of a (x - x'),
    where a >= 0 is a component of the mirrored segment, x its coordinate at s, and x' the nearest one within the sides.
    A coordinate is before its sides at the minimum if the derivative is >= 0 where it enters them, and after them if
    the derivative is < 0 where it leaves. These coordinates alone make the linear piece whose zero is the minimum.
    """
    _, mirrored, a = _mirrored(start, along)
    entering, leaving = _rates(mirrored, a, half)
    numerator, denominator = SX(0), SX(0)
    for i, (before, after) in enumerate((enter >= 0.0, leave < 0.0) for enter, leave in zip(entering, leaving)):
        numerator += a[i] * (_if(after, half[i] - mirrored[i]) - _if(before, mirrored[i] + half[i]))
        denominator += _if(after, a[i] ** 2) + _if(before, a[i] ** 2)
    corner = denominator == 0.0  # by rounding, each coordinate seems to enter before the next one: all enter there
    numerator -= _if(corner, ca.dot(a, mirrored + half))
    denominator += _if(corner, ca.dot(a, a))
    share = ca.fmin(ca.fmax(numerator, 0.0) / ca.fmax(denominator, NO_LENGTH), 1.0)
    return _beyond(start + share * along, half), share


def _rates(start: SX, a: SX, half: SX) -> tuple[list[SX], list[SX]]:
    """Half the derivative in `_nearest_of_segment` where each coordinate enters and leaves its sides, times its a."""
    entering, leaving = [SX(0)] * 3, [SX(0)] * 3
    for i, j in PLANES:
        cross, p, q = a[j] * start[i] - a[i] * start[j], a[i] * half[j], a[j] * half[i]
        corners = cross - (p + q), cross - (p - q), cross + (p - q), cross + (p + q)
        more, less = ([side(0.0, each) for each in corners] for side in (ca.fmax, ca.fmin))
        entering[j] += a[i] * (more[0] + less[1])
        leaving[j] += a[i] * (more[2] + less[3])
        entering[i] -= a[j] * (less[3] + more[1])
        leaving[i] -= a[j] * (less[2] + more[0])
    return entering, leaving


def _overlap_of_segment(start: SX, along: SX, half: SX) -> Contact:
    """Signed distance times |axis| along the axis for which it is largest, this axis, and the share of the segment.

    The axis is a normal of a face or a common normal with an edge. Distances are negative, so that their squares tell
    which is larger.
    """
    turn, start, a = _mirrored(start, along)
    middle, square = start + 0.5 * a, a**2
    depths = ca.vertsplit(ca.fabs(middle) - 0.5 * a - half)
    first, last = ca.fmax(*depths[:2]), depths[2] <= ca.fmax(*depths[:2])
    best, norm = ca.fmax(first, depths[2]), SX(1)  # times the norm of the axis, and its square
    second = ca.fmin(last, 1.0 - (depths[1] <= depths[0]))
    axis = [last - second, second, 1.0 - last]
    ends, middles = SX(-0.5), SX(-0.5)  # of a face, the share is 0 or 1
    for k, (i, j) in enumerate(PLANES):
        length = ca.fabs(a[j] * start[i] - a[i] * start[j]) - (a[i] * half[j] + a[j] * half[i])
        own = square[i] + square[j]
        nearer = length**2 * norm < best**2 * own
        new = (length, own, a[i] * half[i] - a[j] * half[j], a[i] * start[i] + a[j] * start[j], a[j], -a[i])
        old = (best, norm, ends, middles, axis[i], axis[j])
        best, norm, ends, middles, axis[i], axis[j] = (ca.if_else(nearer, *both) for both in zip(new, old))
        axis[k] = (1.0 - nearer) * axis[k]
    normal = ca.vertcat(*axis)
    side = _sign(ca.dot(normal, middle))
    share = (side * ends - middles) / norm  # beyond the segment where rounding prefers an edge to a face
    return best, turn * (side * normal), ca.fmin(ca.fmax(share, 0.0), 1.0)


def _mirrored(start: SX, along: SX) -> tuple[SX, SX, SX]:
    """Signs (3,) by which to mirror a segment so that no component of `along` is negative; the mirrored segment."""
    turn = _sign(along)
    return turn, turn * start, ca.fmax(turn * along - FLAT, 0.0)


def _axes_of_boxes(rotation: SX, position: SX, half: SX, own_half: SX) -> Iterable[Contact]:
    """Signed distance along each normal of a face of both boxes, and each common normal of two edges."""

    def length(normal: SX) -> SX:
        reach = ca.dot(ca.fabs(normal), own_half) + ca.dot(ca.fabs(rotation.T @ normal), half)
        return ca.dot(normal, position) - reach

    def corner(normal: SX) -> SX:
        return position - rotation @ (_sign(rotation.T @ normal) * half)

    for i, axis in enumerate(AXES):
        normal = _sign(position[i]) * axis
        yield length(normal), normal, corner(normal)
    for normal in ca.horzsplit(rotation):
        outward = _sign(ca.dot(normal, position)) * normal
        yield length(outward), outward, _sign(outward) * own_half
    for axis in AXES:
        for edge in ca.horzsplit(rotation):
            normal = _unit(ca.cross(edge, axis))
            normal = _sign(ca.dot(normal, position)) * normal
            at, flat = corner(normal), edge * (1 - axis)
            share = ca.dot(flat, (_sign(normal) * own_half - at) * (1 - axis)) / ca.fmax(ca.dot(flat, flat), NO_LENGTH)
            yield _if_axis(normal, length(normal)), normal, at + share * edge


def _outside_or_inside(gap: SX, point: SX, inside: Contact) -> Contact:
    """The contact with a gap (3,) between the nearest points, or the one inside where there is no gap."""
    length = ca.norm_2(gap)
    apart = length > TOUCHING
    outside = length, gap / ca.fmax(length, TOUCHING), point
    distance, normal, at = (ca.if_else(apart, *both) for both in zip(outside, inside))
    return distance, normal, at


def _first_largest(candidates: Iterable[Contact]) -> Contact:
    """The candidate whose first entry is largest; of equal ones the first."""
    best: Contact | None = None
    for candidate in candidates:
        if best is None:
            best = candidate
            continue
        more = candidate[0] > best[0]
        best = tuple(ca.if_else(more, *both) for both in zip(candidate, best))  # type: ignore[assignment]
    assert best is not None
    return best


def _beyond(point: SX, half: SX) -> SX:
    """Vector (3,) from the nearest point of a box to a point; 0 inside."""
    return SX(point - ca.fmin(ca.fmax(point, -half), half))


def _unit(vector: SX) -> SX:
    """A vector (3,) of length 1, or 0 if it is 0."""
    return SX(vector / ca.sqrt(ca.fmax(ca.dot(vector, vector), NO_LENGTH)))


def _if_axis(normal: SX, length: SX) -> SX:
    """The length along a normal; far below all others if the normal is 0."""
    return SX(ca.if_else(ca.dot(normal, normal) > 0.5, length, NOWHERE))


def _if(condition: SX, value: SX) -> SX:
    """The value where the condition holds, else 0."""
    return SX(ca.if_else(condition, value, 0.0))


def _sign(value: SX) -> SX:
    """1 or -1, also at 0."""
    return SX(2.0 * (value >= 0.0) - 1.0)


def _signs(n: int) -> list[tuple[float, ...]]:
    """All combinations of n signs."""
    return list(map(tuple, np.stack(np.meshgrid(*[[-1.0, 1.0]] * n, indexing="ij"), axis=-1).reshape(-1, n)))
