"""Capsules and spheres that contain a surface of triangles."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.robots.collisions.fit import DIRECTIONS, POWER, SPHERE, Fit, fit_capsule
from trajopt.types import Reals

MOST = 6  # capsules for one link
CUTS = (0.3, 0.5, 0.7)  # of the extent of a part along an axis, where it may be cut
FINEST = 0.12  # of a surface's diagonal; triangles with longer edges are bisected before a cut
GAIN = 0.9  # a cut must leave at most this part of the waste [-]
OFTEN = 95  # percentile of how far surfaces of capsules are from the mesh


def cover(triangles: Reals, waste: float) -> list[Fit]:
    """Returns capsules whose union contains triangles (m, 3, 3) [m].

    One capsule contains all of them. While the union wastes more than `waste`, the most wasteful capsule is replaced by
    two, one for the triangles on each side of a plane. Of planes across the principal axes, the one with the least waste
    is taken. Long triangles are bisected first; each piece lies in one capsule whole.

    Args:
        triangles: Corners of the triangles.
        waste: 95th percentile of the distance to the triangles, over points on the surface of the union [m].
    """
    from scipy.spatial import KDTree

    fine = _bisected(triangles, FINEST * float(np.linalg.norm(np.ptp(triangles.reshape(-1, 3), axis=0))))
    tree = KDTree(np.concatenate([fine.reshape(-1, 3), fine.mean(axis=1)]))
    parts, final = [fine], [False]
    fits = [fit_capsule(_points(fine))]
    while len(fits) < MOST and not all(final):
        gaps = exposed(fits, tree)
        if _percentile(np.concatenate(gaps)) <= waste:
            break
        worst = max((i for i in range(len(fits)) if not final[i]), key=lambda i: _mean(gaps[i]))
        others = fits[:worst] + fits[worst + 1 :]
        halves = _halves(parts[worst], others, tree, GAIN * _mean(np.concatenate(gaps)))
        if halves is None:
            final[worst] = True
            continue
        fits = [*others, *(fit_capsule(_points(half)) for half in halves)]
        parts = [*parts[:worst], *parts[worst + 1 :], *halves]
        final = [*final[:worst], *final[worst + 1 :], False, False]
    return fits


def exposed(fits: list[Fit], tree: Any) -> list[Reals]:
    """Distances to the mesh of points on each capsule that lie in no other one [m]; `tree` holds points of the mesh."""
    gaps = []
    for i, fit in enumerate(fits):
        ends = np.where((SPHERE @ (fit.end - fit.start) > 0)[:, None], fit.end, fit.start)
        steps = np.linspace(0.0, 1.0, 5)[:, None, None]
        axis, side = fit.end - fit.start, SPHERE[:: DIRECTIONS // 30]
        if (length := float(np.linalg.norm(axis))) > 0.0:
            side = side - (side @ axis)[:, None] * axis / length**2
            side = side / np.linalg.norm(side, axis=1)[:, None]
        points = np.concatenate(
            [ends + fit.radius * SPHERE, (fit.start + steps * axis + fit.radius * side).reshape(-1, 3)]
        )
        for other in fits[:i] + fits[i + 1 :]:
            points = points[_distance(points, other) > other.radius]
        gaps.append(np.asarray(tree.query(points)[0]) if len(points) else np.zeros(0))
    return gaps


def _distance(points: Reals, fit: Fit) -> Reals:
    """Distances (n,) of points (n, 3) from the axis of a capsule [m]."""
    axis = fit.end - fit.start
    square = float(axis @ axis)
    part = np.clip((points - fit.start) @ axis / square, 0.0, 1.0) if square > 0.0 else np.zeros(len(points))
    return np.asarray(np.linalg.norm(points - fit.start - part[:, None] * axis, axis=1))


def _halves(triangles: Reals, others: list[Fit], tree: Any, most: float) -> tuple[Reals, Reals] | None:
    """The two parts of the best cut; None if each leaves more waste than `most`."""
    middles, points = triangles.mean(axis=1), _points(triangles)
    best, least = None, most
    for axis in np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2]:
        along, (low, high) = middles @ axis, np.quantile(points @ axis, [0.0, 1.0])
        for cut in CUTS:
            below = along < low + cut * (high - low)
            if not 0 < below.sum() < len(below):
                continue
            fits = [fit_capsule(_points(triangles[part]), rough=True) for part in (below, ~below)]
            mean = _mean(np.concatenate(exposed([*others, *fits], tree)))
            if mean < least:
                best, least = below, mean
    return None if best is None else (triangles[best], triangles[~best])


def _mean(gaps: Reals) -> float:
    return float(np.mean(gaps**POWER) ** (1.0 / POWER)) if len(gaps) else 0.0


def _percentile(gaps: Reals) -> float:
    return float(np.percentile(gaps, OFTEN)) if len(gaps) else 0.0


def _bisected(triangles: Reals, longest: float) -> Reals:
    """Triangles with edges of at most `longest` [m] that cover the same surface."""
    done = []
    while len(triangles):
        edges = np.linalg.norm(triangles - np.roll(triangles, -1, axis=1), axis=2)
        long = edges.max(axis=1) > longest
        done.append(triangles[~long])
        first = edges[long].argmax(axis=1)
        a, b, c = (np.take_along_axis(triangles[long], ((first + k) % 3)[:, None, None], axis=1)[:, 0] for k in range(3))
        middle = (a + b) / 2
        triangles = np.concatenate([np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1)])
    return np.concatenate(done)


def _points(triangles: Reals) -> Reals:
    return np.unique(triangles.reshape(-1, 3), axis=0)
