"""Signed distances of boxes from points, segments and boxes, as expressions in the axes of a box around its centre.

Each function returns the distance, a unit normal that points away from the box, and a point of the line on which both
bodies press against each other. The derivative of the distance by the motion of the bodies is that of the distance of
two planes across the normal at this point (Danskin's theorem). A negative distance is the length of the shortest
translation that separates the two, as in Coal. Of several nearest features the first counts: faces before edges, in the
order of the axes. Where a segment or box lies parallel to a face, the point is one of the nearest ones.
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
NOWHERE = -1e9  # distance along an axis that does not exist [m]
AXES = [SX(axis) for axis in np.eye(3)]


def point_box(point: SX, half: SX) -> Contact:
    """Distance of a point (3,) from a box with half sides `half` (3,)."""
    gap = _beyond(point, half)
    sides = ((ca.fabs(point[i]) - half[i], _sign(point[i]) * axis, point) for i, axis in enumerate(AXES))
    return _outside_or_inside(gap, point, _first_largest(sides))


def segment_box(start: SX, end: SX, half: SX) -> Contact:
    """Distance of a segment with ends (3,), which may coincide, from a box with half sides `half` (3,)."""
    along = end - start
    gap, share = _nearest_of_segment(start, along, half)
    length = ca.norm_2(gap)
    outside = length, gap * (1.0 / ca.fmax(length, TOUCHING)), share
    inside = _overlap_of_segment(start, along, half)
    distance, normal, share = (ca.if_else(length > TOUCHING, *both) for both in zip(outside, inside))
    return distance, normal, start + share * along


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
    local = ca.reshape(box[:9], 3, 3).T @ (ca.reshape(body[:6], 3, 2) - box[9:12])
    return ca.Function("box_gap", [body, box], [segment_box(local[:, 0], local[:, 1], box[12:])[0] - body[6]])


def _nearest_of_segment(start: SX, along: SX, half: SX) -> tuple[SX, SX]:
    """Gap (3,) from a box to a segment, and the share of the segment at which it is.

    Half the derivative of the squared distance by the share s is monotonic and piecewise linear: the sum of
    a² (s - s'), where a is a component of the segment and s' the nearest share within a coordinate's sides. It bends
    where a coordinate reaches a side, so that its zero lies between two neighbours of these six shares.
    """
    inverse = 1.0 / ca.if_else(along == 0.0, 1.0, along)
    sides = (-half - start) * inverse, (half - start) * inverse
    ends = list(zip(*(ca.vertsplit(each) for each in (along**2, ca.fmin(*sides), ca.fmax(*sides)))))

    def rate(share: SX, terms: list[tuple[SX, ...]]) -> SX:
        return SX(sum(square * (share - ca.fmin(ca.fmax(share, first), last)) for square, first, last in terms))

    lower, upper = SX(0), SX(1)
    for axis in range(3):
        for bend in ends[axis][1:]:
            before = rate(bend, [*ends[:axis], *ends[axis + 1 :]]) <= 0.0
            lower, upper = ca.fmax(lower, ca.if_else(before, bend, 0.0)), ca.fmin(upper, ca.if_else(before, 1.0, bend))
    lower, upper = ca.fmin(lower, 1.0), ca.fmax(upper, 0.0)
    falling, rising = rate(lower, ends), rate(upper, ends)
    share = lower - falling * (upper - lower) / ca.fmax(rising - falling, NO_LENGTH)
    share = ca.fmin(ca.fmax(share, lower), upper)
    return _beyond(start + share * along, half), share


def _overlap_of_segment(start: SX, along: SX, half: SX) -> Contact:
    """Signed distance and normal along that normal of a face, or common normal with an edge, for which it is largest.

    Instead of a point, it returns the share of the segment at which this is.
    """
    middle, reach = start + 0.5 * along, ca.fabs(along)
    lengths = ca.vertsplit(ca.fabs(middle) - 0.5 * reach - half)
    for i, j in ((1, 2), (2, 0), (0, 1)):  # edges along x, y and z
        square = along[i] ** 2 + along[j] ** 2
        apart = ca.fabs(along[j] * middle[i] - along[i] * middle[j]) - reach[j] * half[i] - reach[i] * half[j]
        lengths.append(ca.if_else(square > NO_LENGTH, apart / ca.sqrt(ca.fmax(square, NO_LENGTH)), NOWHERE))
    best, index = lengths[0], SX(0)
    for k, length in enumerate(lengths[1:], start=1):
        best, index = ca.fmax(best, length), ca.if_else(length > best, float(k), index)
    face, edge = (ca.vertcat(*(index == float(first + k) for k in range(3))) for first in (0, 3))
    normal = face + ca.cross(along, edge)
    normal = normal * (_sign(ca.dot(normal, middle)) / ca.sqrt(ca.fmax(ca.dot(normal, normal), NO_LENGTH)))
    flat, offset = along * (1 - edge), (_sign(normal) * half - start) * (1 - edge)
    share = ca.dot(flat, offset) / ca.fmax(ca.dot(flat, flat), NO_LENGTH)
    deeper = ca.dot(normal, along) < 0.0  # of a face: the end
    return best, normal, SX(ca.if_else(index > 2.5, share, deeper))


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


def _sign(value: SX) -> SX:
    """1 or -1, also at 0."""
    return SX(2.0 * (value >= 0.0) - 1.0)


def _signs(n: int) -> list[tuple[float, ...]]:
    """All combinations of n signs."""
    return list(map(tuple, np.stack(np.meshgrid(*[[-1.0, 1.0]] * n, indexing="ij"), axis=-1).reshape(-1, n)))
