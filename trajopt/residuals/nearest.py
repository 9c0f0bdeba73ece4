"""Broad phase: the nearest pairs of links at many configurations, by bounding spheres, then by their axes."""

from __future__ import annotations

import numpy as np

from trajopt.robots.collisions.distances import axis_distances
from trajopt.types import Ints, Reals

WIDER = 4  # pairs that bounding spheres leave, for each slot [-]
ALIKE = 2  # most slots of pairs of the same two joints [-]


def nearest_pairs(points: Reals, radii: Reals, pairs: Ints, joints: Ints, count: int) -> tuple[Ints, Reals]:
    """Indices (n, count) of the nearest pairs, at most two of the same joints before the others.

    Args:
        points: Ends (n, bodies, 2, 3) of the axes of all bodies in the world [m].
        radii: Radii (bodies,) [m].
        pairs: Indices of two bodies (pairs, 2).
        joints: Number of the two joints of each pair (pairs,).
        count: Number of pairs to choose, at most as many as there are.

    Returns:
        The indices, and their distances (n, count) [m].
    """
    centres, extents = points.mean(axis=2), np.linalg.norm(points[:, :, 1] - points[:, :, 0], axis=2) / 2 + radii
    first, second = pairs.T
    squares = np.einsum("nbx,nbx->nb", centres, centres)
    between = squares[:, first] + squares[:, second] - 2.0 * (centres @ centres.transpose(0, 2, 1))[:, first, second]
    least = np.sqrt(np.maximum(between, 0.0)) - extents[:, first] - extents[:, second]
    left = min(WIDER * count, len(pairs))
    near = np.argpartition(least, left - 1, axis=1)[:, :left]
    rows = np.arange(len(points))[:, None]
    gaps = axis_distances(points[rows, first[near]], points[rows, second[near]])
    gaps -= radii[first[near]] + radii[second[near]]
    order = np.argsort(gaps, axis=1, kind="stable")
    near, gaps = near[rows, order], gaps[rows, order]
    same = joints[near]
    before = np.tril(same[:, :, None] == same[:, None, :], -1).sum(axis=2)
    order = np.argsort(before >= ALIKE, axis=1, kind="stable")[:, :count]
    return near[rows, order], gaps[rows, order]


def nearest_obstacles(points: Reals, radii: Reals, numbers: Reals, count: int, *, boxes: bool) -> Ints:
    """Indices (n, bodies, count) of the obstacles that are nearest to each body.

    Args:
        points: Ends (n, bodies, 2, 3) of the axes of all bodies in the world [m].
        radii: Radii (bodies,) [m].
        numbers: Numbers of each obstacle as in `SceneSlots` (n, obstacles, width).
        count: Number of obstacles to choose, at most as many as there are.
        boxes: Whether the obstacles are boxes.
    """
    gaps = (_box_distances if boxes else _axis_distances)(points, numbers)
    return np.argsort(gaps, axis=2, kind="stable")[:, :, :count]


def _axis_distances(points: Reals, numbers: Reals) -> Reals:
    """Distances (n, bodies, obstacles) of axes from balls and capsules [m]."""
    n, bodies, obstacles = len(points), points.shape[1], numbers.shape[1]
    shape = (n, bodies, obstacles, 2, 3)
    ends = numbers[:, None, :, 1:7].reshape(n, 1, obstacles, 2, 3)
    return (
        axis_distances(np.broadcast_to(points[:, :, None], shape), np.broadcast_to(ends, shape))
        - numbers[:, None, :, 7]
    )


def _box_distances(points: Reals, numbers: Reals) -> Reals:
    """Distances (n, bodies, obstacles) of five points of each axis from boxes: at most an eighth of the axis too large."""
    rotation = numbers[:, :, 1:10].reshape(*numbers.shape[:2], 3, 3)  # transposed, as the columns follow one another
    shares = np.linspace(0.0, 1.0, 5)[:, None]
    spots = points[:, :, :1] + shares * (points[:, :, 1:] - points[:, :, :1])
    local = np.einsum("noij,nboqj->nboqi", rotation, spots[:, :, None] - numbers[:, None, :, None, 10:13])
    beyond = np.maximum(np.abs(local) - numbers[:, None, :, None, 13:], 0.0)
    return np.asarray(np.linalg.norm(beyond, axis=-1).min(axis=-1))


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
