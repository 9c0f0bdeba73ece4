"""Convex hulls in the plane."""

from __future__ import annotations

import numpy as np

from trajopt.types import Reals


def convex_hull(points: Reals) -> Reals:
    """Returns the corners of the convex hull of points (n, 2) in counter-clockwise order, shape (m, 2).

    Points on a straight edge are left out. For points on a line the corners are its ends, for one point the point.

    Source: Andrew, Information Processing Letters 9, 1979.
    """
    ordered = np.unique(np.asarray(points, dtype=np.float64), axis=0)  # by x, then y
    if len(ordered) < 3:
        return ordered
    chains = []
    for side in (ordered, ordered[::-1]):
        chain: list[Reals] = []
        for point in side:
            while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0:
                chain.pop()
            chain.append(point)
        chains += chain[:-1]
    return np.array(chains)


def depth_in_hull(corners: Reals, point: Reals) -> float:
    """Returns the distance of a point (2,) from the border of a convex hull, > 0 inside and < 0 outside.

    Args:
        corners: Corners from `convex_hull` (m, 2), m >= 1; one or two have no inside.
        point: The point.
    """
    sides, to = np.roll(corners, -1, axis=0) - corners, point - corners
    lengths = np.maximum(np.sum(sides**2, axis=1), 1e-300)
    part = np.clip(np.sum(to * sides, axis=1) / lengths, 0.0, 1.0)
    distance = float(np.min(np.linalg.norm(to - part[:, None] * sides, axis=1)))
    left = sides[:, 0] * to[:, 1] - sides[:, 1] * to[:, 0] >= 0.0
    return distance if len(corners) > 2 and left.all() else -distance


def _turn(a: Reals, b: Reals, c: Reals) -> float:
    """Twice the signed area of a triangle: > 0 if the path a, b, c turns left."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
