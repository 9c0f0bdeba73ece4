"""Signed distances of a mesh on a grid, with C² interpolation by cubic B-splines."""

from __future__ import annotations

import functools
import hashlib
import io
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import numpy as np
from casadi import SX

from trajopt import cache, source
from trajopt.errors import InvalidArgumentError
from trajopt.files import MALFORMED
from trajopt.kernels.tables import Table
from trajopt.robots.closest_points import NO_LENGTH
from trajopt.types import Reals

REACH = 0.1  # least distance between the box around a mesh and the end of its grid [m]
MOST = 4_000_000  # points of a grid [-]
SHIFT = np.array([0.31830989, 0.14142136, 0.27182818])  # part of a cell by which points avoid corners in round numbers
FINE = 2.0**30  # points per cell about which the distance is expanded [-]
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
        """Numbers of the grid in slots (8,), after its placement: first point, cell, points along each axis, offset.

        Args:
            offset: Index of its first coefficient in the table.
        """
        return np.array([*self.origin, self.cell, *self.coefficients.shape, offset], dtype=np.float64)


def in_one_table(grids: Sequence[DistanceGrid]) -> tuple[Reals, Table]:
    """Numbers of each grid (n, 8), and a table with the coefficients of all; equal ones are in it once."""
    starts, size, numbers = dict[bytes, int](), 0, []
    for grid in grids:
        key = grid.coefficients.tobytes()
        if key not in starts:
            starts[key], size = size, size + grid.coefficients.size
        numbers.append(grid.numbers(starts[key]))
    return np.array(numbers), Table(np.frombuffer(b"".join(starts)))


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
        fits = 1.1 * cell * (points / MOST) ** (1.0 / 3.0)
        raise InvalidArgumentError(
            f"cell: expected at most {MOST:,} points in the grid, got {points:,.0f}, which take "
            f"{8e-6 * points:,.0f} MB, for a mesh of {extent.max():.3g} m; pass about {fits:.2g} m, or scale=0.001 for "
            "millimetres"
        )
    nx, ny, nz = counts.astype(int).tolist()
    return nx, ny, nz


@functools.cache
def off() -> Reals:
    """Numbers (20,) of a slot without a grid, whose interpolation reads valid indices."""
    return np.concatenate([np.zeros(15), [1.0], np.full(3, 4.0), [0.0]])


def grid_distance(point: SX, numbers: SX, table: Table, *, derivatives: bool = True) -> SX:
    """Signed distance (1,) of a point of the world (3,) from a mesh by its grid [m].

    Within the grid φ is the spline. Beyond it, it is the distance from the mesh's point that is nearest to the next
    point c of the grid: |p - c + φ(c) ∇φ(c)|, where ∇φ has length 1. It is C² within the grid and C¹ at its end.

    Args:
        point: The point.
        numbers: Placement of the mesh, rotation (column by column) and position, and the grid's numbers (20,).
        table: Coefficients of all grids.
        derivatives: Whether the expression has derivatives. They are those of the Taylor polynomial of second order
            about a point at most 2⁻³⁰ cells away, so that their code is short; beyond the grid, second derivatives lack
            the third ones of φ.
    """
    rotation, position, origin, cell, counts, offset = ca.vertsplit(numbers, [0, 9, 12, 15, 16, 19, 20])
    place = (ca.reshape(rotation, 3, 3).T @ (point - position) - origin) / cell
    near = ca.fmin(ca.fmax(place, 1.0), counts - 2.0)
    about = ca.floor(near * FINE) / FINE if derivatives else near  # constant for derivatives
    first = ca.fmin(ca.floor(about), counts - 3.0) - 1.0
    distance, slope, bend = _spline(about - first - 1.0, _coefficients(first, counts, offset, table))
    if derivatives:
        step = near - about
        distance, slope = distance + ca.dot(slope, step) + ca.dot(step, bend @ step) / 2.0, slope + bend @ step
    gap = (place - near) * cell
    square = ca.dot(gap, gap)
    beyond = ca.sqrt(ca.fmax(square + 2.0 * distance * ca.dot(gap, slope) / cell + distance**2, NO_LENGTH))
    return SX(ca.if_else(square > 0.0, beyond, distance))


def _coefficients(first: SX, counts: SX, offset: SX, table: Table) -> list[SX]:
    """The 4 x 4 x 4 coefficients from a point of the grid on, those along z one after the other."""
    lines = [
        offset + ((first[0] + float(i)) * counts[1] + (first[1] + float(j))) * counts[2] + first[2]
        for i, j in itertools.product(range(4), repeat=2)
    ]
    return [table.at(line + float(k)) for line in lines for k in range(4)]


def _spline(share: SX, coefficients: list[SX]) -> tuple[SX, SX, SX]:
    """Value, gradient (3,) and Hessian (3, 3) of a tensor product of splines at a place (3,), 0 to 1, in its cell.

    Derivatives are by the place in cells.
    """
    x, y, z = (_splines(share[axis]) for axis in range(3))
    sums = {k: _sums(coefficients, z[k]) for k in range(3)}  # by order of the derivative along z, y and x
    sums_yz = {(j, k): _sums(sums[k], y[j]) for k in range(3) for j in range(3 - k)}

    def at(i: int, j: int, k: int) -> SX:
        return _sums(sums_yz[j, k], x[i])[0]

    mixed = at(1, 1, 0), at(1, 0, 1), at(0, 1, 1)
    rows = (
        ca.horzcat(at(2, 0, 0), mixed[0], mixed[1]),
        ca.horzcat(mixed[0], at(0, 2, 0), mixed[2]),
        ca.horzcat(mixed[1], mixed[2], at(0, 0, 2)),
    )
    return at(0, 0, 0), SX(ca.vertcat(at(1, 0, 0), at(0, 1, 0), at(0, 0, 1))), SX(ca.vertcat(*rows))


def _splines(t: SX) -> tuple[list[SX], list[SX], list[SX]]:
    """The four cubic B-splines at a place, 0 to 1, in a cell, and their first and second derivatives."""
    s = 1.0 - t
    values = [s**3 / 6.0, (3.0 * t**3 - 6.0 * t**2 + 4.0) / 6.0, (3.0 * s**3 - 6.0 * s**2 + 4.0) / 6.0, t**3 / 6.0]
    slopes = [-(s**2) / 2.0, 1.5 * t**2 - 2.0 * t, 2.0 * s - 1.5 * s**2, t**2 / 2.0]
    return values, slopes, [s, 3.0 * t - 2.0, 3.0 * s - 2.0, t]


def _sums(values: list[SX], weights: list[SX]) -> list[SX]:
    """Weighted sums of each four values that follow one another."""
    return [SX(sum(w * v for w, v in zip(weights, values[i : i + 4]))) for i in range(0, len(values), 4)]
