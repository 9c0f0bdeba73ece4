"""Broad phase: the nearest pairs of links at many configurations, by bounding spheres, then by their axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trajopt.robots.collisions.distances import axis_distances
from trajopt.types import Ints, Reals

WIDER = 3  # pairs that bounding spheres leave, for each slot [-]
RELEVANT = 0.1  # distance beyond which the nearest pairs need not be certain [m]
ALIKE = 2  # most slots of pairs of the same two joints [-]


def nearest_pairs(
    points: Reals, radii: Reals, pairs: Ints, joints: Ints, count: int, wider: int = WIDER
) -> tuple[Ints, Reals]:
    """Indices (n, count) of the nearest pairs, at most two of the same joints before the others.

    Args:
        points: Ends (n, bodies, 2, 3) of the axes of all bodies in the world [m].
        radii: Radii (bodies,) [m].
        pairs: Indices of two bodies (pairs, 2).
        joints: Number of the two joints of each pair (pairs,).
        count: Number of pairs to choose, at most as many as there are.
        wider: Pairs that bounding spheres leave at first, for each that is chosen [-].

    Returns:
        The indices, and their distances (n, count) [m].
    """
    centres, extents = points.mean(axis=2), _half_lengths(points) + radii
    first, second = pairs.T
    least = _distances(centres, centres)[:, first, second] - extents[:, first] - extents[:, second]
    left = min(wider * count, len(pairs))
    near = np.argpartition(least, left - 1, axis=1)[:, :left]
    rows = np.arange(len(points))[:, None]
    gaps = axis_distances(points[rows, first[near]], points[rows, second[near]])
    gaps -= radii[first[near]] + radii[second[near]]
    order = np.argsort(gaps, axis=1, kind="stable")
    near, gaps = near[rows, order], gaps[rows, order]
    chosen = _few_of_each(joints[near])[:, :count]
    result, lengths = near[rows, chosen], gaps[rows, chosen]
    if left < len(pairs):  # others may be nearer where bounding spheres of many overlap
        farthest = np.minimum(lengths.max(axis=1), RELEVANT)
        others = np.take_along_axis(least, near, axis=1).max(axis=1) < farthest
        if others.any():
            found = nearest_pairs(points[others], radii, pairs, joints, count, 4 * wider)
            result[others], lengths[others] = found
    return result, lengths


def _few_of_each(groups: Ints) -> Ints:
    """Order (n, m) of numbers in which the first `ALIKE` occurrences of each come before the others."""
    rank = np.zeros(groups.shape, dtype=np.int64)
    order = np.argsort(groups, axis=1, kind="stable")
    ordered = np.take_along_axis(groups, order, axis=1)
    place = np.arange(groups.shape[1])
    starts = np.where(np.diff(ordered, axis=1, prepend=-1) != 0, place, 0)
    np.put_along_axis(rank, order, place - np.maximum.accumulate(starts, axis=1), axis=1)
    return np.argsort(rank >= ALIKE, axis=1, kind="stable")


def nearest_obstacles(
    points: Reals,
    radii: Reals,
    numbers: Reals,
    links: Sequence[Ints],
    counts: Sequence[int],
    *,
    boxes: bool,
    wider: int = WIDER,
) -> list[Ints]:
    """Indices (n, count) of the nearest pairs of a body and an obstacle for each link; obstacles vary first.

    Args:
        points: Ends (n, bodies, 2, 3) of the axes of all bodies in the world [m].
        radii: Their radii (bodies,) [m].
        numbers: Numbers of each obstacle (n, obstacles, width): placement and half sides of a box, or the ends of an
            axis and a radius [m].
        links: Indices of the bodies of each link.
        counts: Number of pairs to choose for each link, at most as many as there are.
        boxes: Whether the obstacles are boxes.
        wider: Pairs that bounding spheres leave at first, for each that is chosen [-].
    """
    n, obstacles = numbers.shape[:2]
    if boxes:
        gaps = obstacle_gaps(points, radii, numbers, boxes=True)
        of_links = [gaps[:, own].reshape(n, -1) for own in links]
        return [np.argsort(each, axis=1, kind="stable")[:, :count] for each, count in zip(of_links, counts)]
    ends, rho = numbers[:, :, :6].reshape(n, obstacles, 2, 3), numbers[:, :, 6]
    extents = (_half_lengths(points) + radii)[:, :, None] + (_half_lengths(ends) + rho)[:, None]
    least = _distances(points.mean(axis=2), ends.mean(axis=2)) - extents
    lefts = [min(wider * count, len(own) * obstacles) for own, count in zip(links, counts)]
    nears = [
        np.argpartition(least[:, own].reshape(n, -1), left - 1, axis=1)[:, :left] for own, left in zip(links, lefts)
    ]
    rows, obstacle = np.arange(n)[:, None], np.concatenate([near % obstacles for near in nears], axis=1)
    body = np.concatenate([own[near // obstacles] for own, near in zip(links, nears)], axis=1)
    gaps = axis_distances(points[rows, body], ends[rows, obstacle]) - radii[body] - rho[rows, obstacle]
    parts = np.split(gaps, np.cumsum(lefts)[:-1], axis=1)
    orders = [np.argsort(part, axis=1, kind="stable")[:, :count] for part, count in zip(parts, counts)]
    for own, near, part, order in zip(links, nears, parts, orders):
        farthest = np.minimum(np.take_along_axis(part, order, axis=1).max(axis=1), RELEVANT)
        others = np.take_along_axis(least[:, own].reshape(n, -1), near, axis=1).max(axis=1) < farthest
        if near.shape[1] < len(own) * obstacles and others.any():  # where bounding spheres of many overlap
            return nearest_obstacles(points, radii, numbers, links, counts, boxes=False, wider=4 * wider)
    return [np.take_along_axis(near, order, axis=1) for near, order in zip(nears, orders)]


def obstacle_gaps(points: Reals, radii: Reals, numbers: Reals, *, boxes: bool) -> Reals:
    """Distances (n, bodies, obstacles) [m], of boxes up to 1/8 of the body's axis too large; as `nearest_obstacles`."""
    if boxes:
        return np.asarray(_box_distances(points, numbers) - radii[:, None])
    n, obstacles = numbers.shape[:2]
    shape = (n, points.shape[1], obstacles, 2, 3)
    ends = np.broadcast_to(numbers[:, None, :, :6].reshape(n, 1, obstacles, 2, 3), shape)
    gaps = axis_distances(np.broadcast_to(points[:, :, None], shape), ends)
    return np.asarray(gaps - radii[:, None] - numbers[:, None, :, 6])


def _box_distances(points: Reals, numbers: Reals) -> Reals:
    """Distances (n, bodies, obstacles) of five points of each axis from boxes, up to 1/8 of the axis too large [m]."""
    n, obstacles, bodies = *numbers.shape[:2], points.shape[1]
    shares, start = np.linspace(0.0, 1.0, 5)[:, None], points[:, :, :1]
    spots = (start + shares * (points[:, :, 1:] - start)).reshape(n, 1, -1, 3)
    own = [np.ascontiguousarray(each) for each in np.moveaxis(numbers[:, :, None], 3, 0)]
    local = [np.ascontiguousarray(spots[..., j]) - own[9 + j] for j in range(3)]
    squares = np.zeros(local[0].shape)
    for i in range(3):  # faster than products of many small matrices
        along = np.abs(sum(own[3 * i + j] * local[j] for j in range(3)))
        squares += np.maximum(along - own[12 + i], 0.0) ** 2
    return np.asarray(np.sqrt(squares.reshape(n, obstacles, bodies, 5).min(axis=3)).swapaxes(1, 2))


def _distances(first: Reals, second: Reals) -> Reals:
    """Distances (n, a, b) of all points (n, a, 3) from all points (n, b, 3), up to rounding of large coordinates."""
    squares = [np.einsum("...x,...x", each, each) for each in (first, second)]
    between = squares[0][:, :, None] + squares[1][:, None] - 2.0 * (first @ second.swapaxes(1, 2))
    return np.asarray(np.sqrt(np.maximum(between, 0.0)))


def _half_lengths(ends: Reals) -> Reals:
    """Half the length (n, a) of axes with ends (n, a, 2, 3)."""
    return np.asarray(np.linalg.norm(ends[:, :, 1] - ends[:, :, 0], axis=2) / 2.0)


def in_place(old: Ints, new: Ints) -> Ints:
    """The new indices (n, count), where each that is among the old ones keeps its place.

    So a multiplier of a solver stays with its pair.
    """
    alike = old[:, :, None] == new[:, None, :]
    stays, stayed = alike.any(axis=2), alike.any(axis=1)
    free, left = np.argsort(stays, axis=1, kind="stable"), np.argsort(stayed, axis=1, kind="stable")
    rows, result = np.arange(len(old))[:, None], old.copy()
    fresh = np.arange(old.shape[1]) < (~stays).sum(axis=1)[:, None]
    result[rows, free] = np.where(fresh, new[rows, left], old[rows, free])
    return result
