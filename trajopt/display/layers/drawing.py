"""Colours, turns, lines and small meshes that layers are made of."""

from __future__ import annotations

from functools import cache

import numpy as np
import pinocchio as pin

from trajopt.plotting.style import RAMP
from trajopt.types import Ints, Reals

Color = tuple[int, int, int]
"""Red, green and blue, 0 to 255."""

ROUND = 24  # sides of what is round [-]


@cache
def rgb(color: str) -> Color:
    """A colour of Matplotlib."""
    from matplotlib.colors import to_rgb

    red, green, blue = (round(255 * part) for part in to_rgb(color))
    return red, green, blue


def mixed(first: Color, second: Color, part: float) -> Color:
    """The first colour at 0, the second at 1, and between them what lies between."""
    mix = np.round((1.0 - part) * np.array(first) + part * np.array(second)).astype(int)
    return int(mix[0]), int(mix[1]), int(mix[2])


def ramp(count: int) -> list[Color]:
    """Colours from the first knot (light) to the last (dark), as pictures have them."""
    low, middle, high = (rgb(color) for color in RAMP)
    parts = np.linspace(0.0, 2.0, max(count, 1))
    return [mixed(low, middle, p) if p <= 1.0 else mixed(middle, high, p - 1.0) for p in parts.tolist()]


def quaternion(rotation: Reals) -> tuple[float, float, float, float]:
    """Quaternion (w, x, y, z) of a rotation (3, 3)."""
    q = pin.Quaternion(np.ascontiguousarray(rotation))
    return float(q.w), float(q.x), float(q.y), float(q.z)


def turned_up(direction: Reals) -> tuple[float, float, float, float]:
    """Quaternion (w, x, y, z) of the shortest turn from z to a direction (3,)."""
    q = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), np.asarray(direction, dtype=np.float64))
    return float(q.w), float(q.x), float(q.y), float(q.z)


def segments(points: Reals) -> Reals:
    """Segments (n - 1, 2, 3) of a line through points (n, 3), without those at points that are NaN."""
    pairs = np.stack([points[:-1], points[1:]], axis=1)
    return np.asarray(pairs[np.isfinite(pairs).all(axis=(1, 2))])


def closed(corners: Reals) -> Reals:
    """Segments (n, 2, 3) around corners (n, 3)."""
    return np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)


def fan(corners: Reals) -> tuple[Reals, Ints]:
    """Mesh of a convex polygon with corners (n, 3) in their order."""
    count = len(corners)
    faces = [(0, i, i + 1) for i in range(1, count - 1)]
    return np.asarray(corners), np.array(faces, dtype=np.int64).reshape(-1, 3)


def disc(center: Reals, radius: float) -> Reals:
    """Corners (n, 3) of a level disc."""
    angle = np.linspace(0.0, 2.0 * np.pi, ROUND, endpoint=False)
    return np.asarray(center + radius * np.column_stack([np.cos(angle), np.sin(angle), 0.0 * angle]))


def cone() -> tuple[Reals, Ints]:
    """Mesh of a cone without a lid: apex at the origin, a circle of radius 1 at z = 1."""
    rim = disc(np.array([0.0, 0.0, 1.0]), 1.0)
    faces = [(0, 1 + i, 1 + (i + 1) % ROUND) for i in range(ROUND)]
    return np.vstack([np.zeros(3), rim]), np.array(faces, dtype=np.int64)


def merged(meshes: list[tuple[Reals, Ints]]) -> tuple[Reals, Ints]:
    """Several meshes as one."""
    starts = np.cumsum([0, *(len(points) for points, _ in meshes)])
    points = np.concatenate([points for points, _ in meshes])
    return points, np.concatenate([faces + start for (_, faces), start in zip(meshes, starts.tolist())])


def hull(points: Reals) -> tuple[Reals, Ints]:
    """Mesh of the convex hull of points (n, 3)."""
    from scipy.spatial import ConvexHull

    found = ConvexHull(points)
    faces = found.simplices.copy()
    a, b, c = (points[faces[:, i]] for i in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), found.equations[:, :3]) < 0
    faces[inward] = faces[inward][:, ::-1]
    return np.asarray(points), np.asarray(faces, dtype=np.int64)
