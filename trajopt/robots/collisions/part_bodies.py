"""Boxes, capsules and spheres whose union contains the triangles of an obstacle, one part after the other."""

from __future__ import annotations

import numpy as np

from trajopt.robots.box import Box
from trajopt.robots.collisions.cover import SAMPLES, cover
from trajopt.robots.collisions.fit import SLACK, hull
from trajopt.robots.collisions.triangles import bisected, diagonal, different
from trajopt.robots.collisions.waste import OFTEN, gaps, most_gaps
from trajopt.robots.round_bodies import Capsule, Sphere
from trajopt.types import Reals

PARTS = 64  # most parts that get bodies of their own [-]
FACES = 100  # faces of a convex hull along which boxes are tried [-]
GRID = 9  # points along each side of a box at which its waste is measured [-]
THINNEST = 1e-4  # side of a box [m]


def part_bodies(triangles: Reals, waste: float) -> list[Box | Capsule | Sphere]:
    """Bodies around triangles (m, 3, 3) [m].

    Each part of the surface, whose triangles have common corners, becomes a box or up to six capsules and spheres: the
    box if the 95th percentile of the gaps between it and the part is at most `waste` [m], otherwise what has the
    smaller one. A surface of more than 64 parts counts as one.
    """
    return [body for part in _parts(triangles) for body in _bodies(part, waste)]


def _parts(triangles: Reals) -> list[Reals]:
    """Sets of triangles that are connected by common corners."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rounded = np.round(triangles.reshape(-1, 3) / (1e-9 * diagonal(triangles)))
    corners = different(rounded)[1].reshape(-1, 3)
    edges = np.concatenate([corners[:, :2], corners[:, 1:]])
    size = int(corners.max()) + 1
    count, labels = connected_components(coo_array((np.ones(len(edges)), tuple(edges.T)), (size, size)), directed=False)
    own = labels[corners[:, 0]]
    return [triangles] if count > PARTS else [triangles[own == i] for i in range(count)]


def _bodies(part: Reals, waste: float) -> list[Box | Capsule | Sphere]:
    """The box around a part, or its capsules and spheres if these waste less."""
    from scipy.spatial import KDTree

    tree = KDTree(_corners(bisected(part, SAMPLES * diagonal(part))))
    box = _box(_corners(part))
    left = float(np.percentile(tree.query(_points(box))[0], OFTEN))
    if left <= waste:
        return [box]
    (fits,) = cover([[part]], waste)
    if left <= most_gaps(gaps(fits, tree)):
        return [box]
    return [
        Sphere(fit.radius, center=fit.start)
        if np.array_equal(fit.start, fit.end)
        else Capsule(fit.radius, start=fit.start, end=fit.end)
        for fit in fits
    ]


def _corners(triangles: Reals) -> Reals:
    return different(triangles.reshape(-1, 3))[0]


def _box(points: Reals) -> Box:
    """The smallest of the boxes around points (n, 3) along their axes, the world's, or a face of their convex hull."""
    corners = hull(points)
    best, least = np.eye(3), np.inf
    for axes in (np.eye(3), np.linalg.svd(corners - corners.mean(axis=0))[2], *_frames(corners)):
        volume = float(np.prod(np.maximum(np.ptp(corners @ axes.T, axis=0), THINNEST)))
        if volume < (1.0 - 1e-6) * least:
            best, least = axes, volume
    best = best * np.array([1.0, 1.0, np.linalg.det(best)])[:, None]
    low, high = (corners @ best.T).min(axis=0), (corners @ best.T).max(axis=0)
    size = np.maximum(high - low + 2.0 * SLACK, THINNEST)
    return Box(size, placement=np.column_stack([best.T, best.T @ (low + high) / 2.0]))


def _frames(corners: Reals) -> list[Reals]:
    """Axes (3, 3), in rows, of faces of the convex hull: an edge, the normal across it, and the face's normal."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        simplices = ConvexHull(corners).simplices
    except (QhullError, ValueError):  # points in a plane
        return []
    a, b, c = (corners[simplices[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    order = np.argsort(-np.linalg.norm(normals, axis=1))[:FACES]
    frames = []
    for normal, edge in zip(normals[order], (b - a)[order]):
        z, x = normal / np.linalg.norm(normal), edge / np.linalg.norm(edge)
        frames.append(np.array([x, np.cross(z, x), z]))
    return frames


def _points(box: Box) -> Reals:
    """Points (n, 3) on a box."""
    side = np.linspace(-0.5, 0.5, GRID)
    u, v = (each.ravel() for each in np.meshgrid(side, side))
    faces = [np.insert(np.stack([u, v], axis=1), axis, half, axis=1) for axis in range(3) for half in (-0.5, 0.5)]
    rotation, middle = np.asarray(box.placement)[:, :3], np.asarray(box.placement)[:, 3]
    return np.asarray(np.concatenate(faces) * np.asarray(box.size) @ rotation.T + middle)
