"""Colours, rotations, lines and small meshes for layers."""

from __future__ import annotations

from functools import cache

import numpy as np
import pinocchio as pin

from trajopt.plotting.solids import outer_faces
from trajopt.plotting.style import RAMP
from trajopt.types import Ints, Reals

Color = tuple[int, int, int]
"""Red, green and blue, 0 to 255."""

ROUND = 24  # number of sides of a circle [-]


@cache
def rgb(color: str) -> Color:
    """Returns red, green and blue, 0 to 255 each, of a colour in Matplotlib's notation."""
    from matplotlib.colors import to_rgb

    return eight_bit(*to_rgb(color))


def eight_bit(red: float, green: float, blue: float) -> Color:
    """Returns a colour whose parts are 1 at most as integers up to 255."""
    return round(255 * red), round(255 * green), round(255 * blue)


def mixed(first: Color, second: Color, part: float) -> Color:
    """Interpolates between two colours: the first at part = 0, the second at 1."""
    mix = np.round((1.0 - part) * np.array(first) + part * np.array(second)).astype(int)
    return int(mix[0]), int(mix[1]), int(mix[2])


def ramp(count: int) -> list[Color]:
    """Returns colours from the first knot (light) to the last (dark), as in plots."""
    low, middle, high = (rgb(color) for color in RAMP)
    parts = np.linspace(0.0, 2.0, max(count, 1))
    return [mixed(low, middle, p) if p <= 1.0 else mixed(middle, high, p - 1.0) for p in parts.tolist()]


def quaternion(rotation: Reals) -> tuple[float, float, float, float]:
    """Returns the quaternion (w, x, y, z) of a rotation (3, 3)."""
    q = pin.Quaternion(np.ascontiguousarray(rotation))
    return float(q.w), float(q.x), float(q.y), float(q.z)


def turned_up(direction: Reals) -> tuple[float, float, float, float]:
    """Returns the quaternion (w, x, y, z) of the shortest rotation from z to a direction (3,)."""
    q = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), np.asarray(direction, dtype=np.float64))
    return float(q.w), float(q.x), float(q.y), float(q.z)


def segments(points: Reals) -> Reals:
    """Returns the segments (n - 1, 2, 3) of a line through points (n, 3), without those at NaN."""
    pairs = np.stack([points[:-1], points[1:]], axis=1)
    return np.asarray(pairs[np.isfinite(pairs).all(axis=(1, 2))])


def closed(corners: Reals) -> Reals:
    """Returns the segments (n, 2, 3) of a closed line through corners (n, 3)."""
    return np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)


def fan(corners: Reals) -> tuple[Reals, Ints]:
    """Returns vertices (n, 3) and triangles (n - 2, 3) of a convex polygon with ordered corners (n, 3)."""
    count = len(corners)
    faces = [(0, i, i + 1) for i in range(1, count - 1)]
    return np.asarray(corners), np.array(faces, dtype=np.int64).reshape(-1, 3)


def disc(center: Reals, radius: float) -> Reals:
    """Returns the corners (ROUND, 3) of a horizontal circle of radius `radius` about a point (3,), in order [m]."""
    angle = np.linspace(0.0, 2.0 * np.pi, ROUND, endpoint=False)
    return np.asarray(center + radius * np.column_stack([np.cos(angle), np.sin(angle), 0.0 * angle]))


def cone() -> tuple[Reals, Ints]:
    """Returns the mesh of a cone without a base: apex at the origin, a circle of radius 1 at z = 1."""
    rim = disc(np.array([0.0, 0.0, 1.0]), 1.0)
    faces = [(0, 1 + i, 1 + (i + 1) % ROUND) for i in range(ROUND)]
    return np.vstack([np.zeros(3), rim]), np.array(faces, dtype=np.int64)


def torus(thick: float, sides: int = 8) -> tuple[Reals, Ints]:
    """Returns the mesh of a ring of radius 1 around z, with a tube of radius `thick`."""
    around = np.linspace(0.0, 2.0 * np.pi, ROUND, endpoint=False)[:, None]
    tube = np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)[None]
    wide = 1.0 + thick * np.cos(tube)
    points = np.stack([wide * np.cos(around), wide * np.sin(around), thick * np.sin(tube) + 0.0 * around], axis=2)
    i, j = (index.ravel() for index in np.meshgrid(np.arange(ROUND), np.arange(sides), indexing="ij"))
    after, above = (i + 1) % ROUND, (j + 1) % sides
    a, b, c, d = i * sides + j, after * sides + j, after * sides + above, i * sides + above
    return points.reshape(-1, 3), np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])


def ball(rings: int = 8) -> tuple[Reals, Ints]:
    """Returns the mesh of a ball of radius 1 around the origin, with `rings` rings from pole to pole."""
    height = np.linspace(0.0, np.pi, rings + 1)[1:-1, None]
    turn = np.linspace(0.0, 2.0 * np.pi, 2 * rings, endpoint=False)[None]
    x, y, z = np.sin(height) * np.cos(turn), np.sin(height) * np.sin(turn), np.cos(height) + 0.0 * turn
    return hull(np.vstack([np.stack([x, y, z], axis=2).reshape(-1, 3), [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]]))


def boxes(rectangles: Reals, tall: float) -> tuple[Reals, Ints]:
    """Returns the mesh of boxes on rectangles (x, y, x, y), shape (n, 4), from z = 0 up, without bottoms."""
    corners = rectangles[:, [0, 1, 2, 1, 2, 3, 0, 3]].reshape(-1, 4, 2)
    low = np.concatenate([corners, np.zeros((len(corners), 4, 1))], axis=2)
    points = np.concatenate([low, low + np.array([0.0, 0.0, tall])], axis=1)
    quads = [(4, 5, 6, 7), *((i, (i + 1) % 4, 4 + (i + 1) % 4, 4 + i) for i in range(4))]
    faces = np.array([f for a, b, c, d in quads for f in ((a, b, c), (a, c, d))])
    every = faces[None] + 8 * np.arange(len(points))[:, None, None]
    return points.reshape(-1, 3), every.reshape(-1, 3)


def cuboid(low: Reals, high: Reals) -> tuple[Reals, Ints]:
    """Returns the mesh of a box between two corners (3,), without its bottom."""
    points, faces = boxes(np.array([[low[0], low[1], high[0], high[1]]]), float(high[2] - low[2]))
    return points + np.array([0.0, 0.0, low[2]]), faces


def net(grid: Reals) -> tuple[Reals, Ints]:
    """Returns the mesh of a surface over a grid of points (rows, columns, 3)."""
    number = np.arange(grid.shape[0] * grid.shape[1]).reshape(grid.shape[:2])
    a, b, c, d = (each.ravel() for each in (number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]))
    return grid.reshape(-1, 3), np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])


def merged(meshes: list[tuple[Reals, Ints]]) -> tuple[Reals, Ints]:
    """Returns a single mesh (vertices, faces) with those of all meshes."""
    starts = np.cumsum([0, *(len(points) for points, _ in meshes)])
    points = np.concatenate([points for points, _ in meshes])
    return points, np.concatenate([faces + start for (_, faces), start in zip(meshes, starts.tolist())])


def hull(points: Reals) -> tuple[Reals, Ints]:
    """Returns points (n, 3) and the triangles (m, 3) of their convex hull, as indices of points."""
    return np.asarray(points), np.asarray(outer_faces(points), dtype=np.int64)
