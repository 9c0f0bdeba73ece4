"""Signed distances of a mesh on a grid, with C² interpolation by cubic B-splines."""

from __future__ import annotations

import functools
import hashlib
import io
import itertools
from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import numpy as np
from casadi import SX

from trajopt import cache, source
from trajopt.errors import InvalidArgumentError
from trajopt.files import MALFORMED
from trajopt.kernels.tables import Table
from trajopt.types import Reals

REACH = 0.1  # least distance between the box around a mesh and the end of its grid [m]
MOST = 4_000_000  # points of a grid [-]
SHIFT = np.array([0.31830989, 0.14142136, 0.27182818])  # part of a cell by which points avoid corners in round numbers
WIDTH = 20  # numbers of a grid at a placement, see `DistanceGrid.numbers` [-]


@dataclass(frozen=True, eq=False)
class DistanceGrid:
    """Coefficients of a tensor product of cubic B-splines that has the distances of a mesh at the points of a grid.

    Attributes:
        origin: First point, in the axes of the mesh (3,) [m].
        cell: Distance of neighbouring points [m].
        coefficients: Coefficient of each point (nx, ny, nz), each n >= 4 [m].
    """

    origin: Reals
    cell: float
    coefficients: Reals

    @classmethod
    def of(cls, triangles: Reals, cell: float) -> DistanceGrid:
        """The grid of a closed mesh, from the disk cache or computed.

        Args:
            triangles: Corners of its triangles (m, 3, 3) [m].
            cell: Distance of neighbouring points [m].

        Raises:
            InvalidArgumentError: A part of the mesh is inside out; `check_grid` finds the other errors.
        """
        low, high = triangles.min(axis=(0, 1)), triangles.max(axis=(0, 1))
        shape = _shape(high - low, cell)
        digest = hashlib.sha256(source.digest(Path(__file__).parent / "collisions"))
        digest.update(triangles.tobytes())
        entry = cache.key("distances of a mesh", digest.hexdigest(), repr(cell))
        origin = low - cell * (_around(cell) + SHIFT)
        stored = cache.load(entry)
        if stored is not None:
            try:
                return cls(origin, cell, np.load(io.BytesIO(stored), allow_pickle=False).reshape(shape))
            except (ValueError, *MALFORMED):  # by another version: compute again
                pass
        from scipy.ndimage import spline_filter

        from trajopt.robots.collisions.mesh_distances import signed_distances

        axes = [start + cell * np.arange(n) for start, n in zip(origin, shape)]
        coefficients = spline_filter(signed_distances(triangles, axes), order=3, mode="mirror")
        file = io.BytesIO()
        np.save(file, coefficients)
        cache.store(entry, file.getvalue(), "distances of a mesh")
        return cls(origin, cell, coefficients)

    def numbers(self, offset: int) -> Reals:
        """Numbers of the grid in slots, after its placement (8,): first point, cell, points along each axis, offset.

        Args:
            offset: Index of its first coefficient in the table.
        """
        return np.array([*self.origin, self.cell, *self.coefficients.shape, offset], dtype=np.float64)


def check_grid(triangles: Reals, cell: float) -> None:
    """Raises InvalidArgumentError unless a mesh may have a grid.

    It may not if the cell is larger than the mesh or there would be more than 4,000,000 points, or if the mesh is not
    closed or inside out.
    """
    from trajopt.robots.collisions.mesh_distances import check_closed

    _shape(np.ptp(triangles.reshape(-1, 3), axis=0), cell)
    check_closed(triangles)


def _around(cell: float) -> float:
    """Cells between the box around a mesh and the last points of its grid, of which the splines need one [-]."""
    return float(np.ceil(REACH / cell) + 2.0)


def _shape(extent: Reals, cell: float) -> tuple[int, int, int]:
    """Points along each axis of the grid of a mesh with these sides (3,) [m]."""
    if cell > extent.max():
        raise InvalidArgumentError(
            f"cell: expected one smaller than the mesh, whose largest side is {extent.max():.3g} m, got {cell:g} m"
        )
    counts = np.ceil(extent / cell + 1.0) + 2.0 * _around(cell)
    points = float(np.prod(counts))
    if points > MOST:
        fits = cell * (points / MOST) ** (1.0 / 3.0)
        raise InvalidArgumentError(
            f"cell: expected at most {MOST:,} points in the grid, got {points:,.0f}, which take "
            f"{8e-6 * points:,.0f} MB, for a mesh of {extent.max():.3g} m; pass about {1.1 * fits:.2g} m, or scale=0.001 for millimetres"
        )
    nx, ny, nz = counts.astype(int).tolist()
    return nx, ny, nz


@functools.cache
def off() -> Reals:
    """Numbers (20,) of a slot without a grid, whose interpolation reads valid indices."""
    return np.concatenate([np.zeros(15), [1.0], np.full(3, 4.0), [0.0]])


def grid_distance(point: SX, numbers: SX, table: Table) -> SX:
    """Signed distance (1,) of a point of the world (3,) from a mesh by its grid [m].

    Within the grid φ is the spline. Beyond it, it is the distance from the mesh's point that is nearest to the next
    point c of the grid: |p - c + φ(c) ∇φ(c)|, where ∇φ has length 1. It is C² within the grid and C¹ at its end.

    Args:
        point: The point.
        numbers: Placement of the mesh, rotation (column by column) and position, and the grid's numbers (20,).
        table: Coefficients of all grids.
    """
    rotation, position, origin, cell, counts, offset = ca.vertsplit(numbers, [0, 9, 12, 15, 16, 19, 20])
    place = (ca.reshape(rotation, 3, 3).T @ (point - position) - origin) / cell
    near = ca.fmin(ca.fmax(place, 1.0), counts - 2.0)
    first = ca.fmin(ca.floor(near), counts - 3.0) - 1.0
    gap = (place - near) * cell
    start = offset + (first[0] * counts[1] + first[1]) * counts[2] + first[2]
    values = [
        table.at(start + (i * counts[1] + j) * counts[2] + k) for i, j, k in itertools.product(range(4), repeat=3)
    ]
    weights, slopes = zip(*(_weights(near[axis] - first[axis] - 1.0) for axis in range(3)))
    across, rising = _sums(values, weights[2]), _sums(values, slopes[2])  # along z, then y, then x
    along, plain = _sums(across, slopes[1]), _sums(across, weights[1])
    slope = ca.vertcat(
        *_sums(plain, slopes[0]), *_sums(along, weights[0]), *_sums(_sums(rising, weights[1]), weights[0])
    )
    (distance,) = _sums(plain, weights[0])
    square = ca.dot(gap, gap)
    beyond = ca.sqrt(ca.fmax(square + 2.0 * distance * ca.dot(gap, slope) / cell + distance**2, 1e-30))
    return SX(ca.if_else(square > 0.0, beyond, distance))


def _weights(share: SX) -> tuple[list[SX], list[SX]]:
    """Values and slopes of the four cubic B-splines at a share, 0 to 1, of a cell."""
    t, s = share, 1.0 - share
    values = [s**3 / 6.0, (3.0 * t**3 - 6.0 * t**2 + 4.0) / 6.0, (3.0 * s**3 - 6.0 * s**2 + 4.0) / 6.0, t**3 / 6.0]
    return values, [-(s**2) / 2.0, 1.5 * t**2 - 2.0 * t, 2.0 * s - 1.5 * s**2, t**2 / 2.0]


def _sums(values: list[SX], weights: list[SX]) -> list[SX]:
    """Weighted sums of each four values that follow one another."""
    return [SX(sum(w * v for w, v in zip(weights, values[i : i + 4]))) for i in range(0, len(values), 4)]
