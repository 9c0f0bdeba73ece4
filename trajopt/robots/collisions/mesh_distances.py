"""Signed distances of many points from a closed mesh, and what is wrong with a mesh that has none."""

from __future__ import annotations

from collections.abc import Sequence

import coal
import numpy as np

from trajopt.errors import InvalidArgumentError
from trajopt.robots.collisions.triangles import Indices, diagonal, different
from trajopt.types import Reals

SAME = 1e-9  # distance of two corners that count as one, relative to the diagonal of the mesh [-]


def check_closed(triangles: Reals) -> None:
    """Raises InvalidArgumentError unless triangles (m, 3, 3) are a closed surface that looks outwards."""
    corners = _corners(triangles)
    edges = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
    size = int(corners.max()) + 1
    both, where = np.unique(np.sort(edges, axis=1) @ [size, 1], return_inverse=True)
    open_edges = np.count_nonzero(np.bincount(where, np.where(edges[:, 0] < edges[:, 1], 1.0, -1.0), len(both)))
    cure = "repair the mesh, or leave `cell` out for boxes and capsules around it"
    if open_edges:
        raise InvalidArgumentError(
            f"surface: expected a closed mesh for a grid of distances, got one with {open_edges} of {len(both)} edges "
            f"that do not join triangles of the same sense; {cure}"
        )
    if _volume(triangles) <= 0.0:
        raise InvalidArgumentError(
            "surface: expected triangles whose corners run counter-clockwise seen from outside, got a mesh that is "
            "inside out or flat; pass triangles[:, ::-1]"
        )


def signed_distances(triangles: Reals, axes: Sequence[Reals]) -> Reals:
    """Distances (nx, ny, nz) of the points of a grid from a closed mesh, negative inside [m].

    Args:
        triangles: Corners of the triangles (m, 3, 3) [m].
        axes: Coordinates of the points along x, y and z, in equal steps [m].

    Raises:
        InvalidArgumentError: A part of the mesh is inside out.
    """
    inside = _windings(triangles, axes)
    if inside.min() < 0:
        raise InvalidArgumentError(
            "surface: expected triangles whose corners run counter-clockwise seen from outside, got a mesh with a part "
            "that is inside out; turn the triangles of this part"
        )
    surface = coal.BVHModelOBBRSS()
    surface.beginModel(len(triangles), 3 * len(triangles))
    for a, b, c in triangles:
        surface.addTriangle(a, b, c)
    surface.endModel()
    measure = coal.ComputeDistance(surface, coal.Sphere(0.0))
    point, at, home = np.empty(3), coal.Transform3s(), coal.Transform3s()
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    sizes = np.empty(inside.shape)
    for index in np.ndindex(inside.shape):
        point[:] = [axis[i] for axis, i in zip(axes, index)]
        at.setTranslation(point)
        result.clear()
        sizes[index] = measure(home, at, request, result)
    return np.where(inside > 0, -1.0, 1.0) * np.abs(sizes)


def _windings(triangles: Reals, axes: Sequence[Reals]) -> Indices:
    """Number (nx, ny, nz) of times that a surface encloses each point of a grid, by crossings of lines along z."""
    x, y, z = axes
    changes = np.zeros((len(x), len(y), len(z) + 1), dtype=np.intp)
    for corners, names in zip(triangles, _corners(triangles)):
        low, high = corners.min(axis=0), corners.max(axis=0)
        i, j = (slice(*np.searchsorted(axis, [low[k], high[k]])) for k, axis in enumerate((x, y)))
        px, py = x[i, None], y[None, j]
        if not px.size or not py.size:
            continue
        sides = np.array([_side(corners[k - 2], corners[k - 1], names[k - 2] < names[k - 1], px, py) for k in range(3)])
        area = sides.sum(axis=0)
        hit = np.all(sides > 0.0, axis=0) | np.all(sides < 0.0, axis=0)
        heights = np.einsum("kxy,k->xy", sides, corners[:, 2])[hit] / area[hit]
        columns = np.nonzero(hit)
        places = (columns[0] + i.start, columns[1] + j.start, np.searchsorted(z, heights))
        np.add.at(changes, places, np.sign(area[hit]).astype(np.intp))
    return np.asarray(np.cumsum(changes[..., :0:-1], axis=2)[..., ::-1])


def _side(a: Reals, b: Reals, ordered: bool, x: Reals, y: Reals) -> Reals:
    """On which side of the line from a to b, seen along z, points (x, y) are; exactly opposite for b and a."""
    if not ordered:
        return -_side(b, a, True, x, y)
    return np.asarray((b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]))


def _corners(triangles: Reals) -> Indices:
    """Indices (m, 3) of the different corners of triangles."""
    return different(np.round(triangles.reshape(-1, 3) / (SAME * diagonal(triangles))))[1].reshape(-1, 3)


def _volume(triangles: Reals) -> float:
    """Volume inside of a closed surface [m³], negative if it looks inwards."""
    a, b, c = (triangles - triangles.mean(axis=(0, 1))).transpose(1, 0, 2)
    return float(np.einsum("ij,ij", a, np.cross(b, c)) / 6.0)
