"""Occupancy grids: free and occupied cells of the plane, and distances to the occupied ones."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.checks import as_numbers, check_array, check_finite, check_number, check_path, check_positive
from trajopt.errors import InvalidArgumentError
from trajopt.objects.immutable import Immutable
from trajopt.planar.rays import cast_rays
from trajopt.types import Reals


class OccupancyGrid(Immutable):
    """Occupancy grid of the plane: cell (i, j) covers origin + resolution · [j, j + 1] x [i, i + 1] [m].

    Row 0 has the smallest y.

    Args:
        occupied: Whether each cell is occupied (rows, columns). Numbers other than 0 count as occupied.
        resolution: Side length of a cell, > 0 [m].
        origin: Corner of cell (0, 0) with the smallest x and y (2,) [m].

    Raises:
        InvalidArgumentError: An argument has the wrong shape or value.
    """

    def __init__(
        self, occupied: npt.ArrayLike, *, resolution: float = 0.05, origin: npt.ArrayLike = (0.0, 0.0)
    ) -> None:
        cells = as_numbers("occupied", occupied, "cells (rows, columns)")
        if cells.ndim != 2 or not cells.size or not np.all(np.isfinite(cells)):
            got = "NaN or inf in cells" if cells.ndim == 2 and cells.size else f"shape {cells.shape}"
            raise InvalidArgumentError(f"occupied: expected cells (rows, columns), True if occupied, got {got}")
        self.occupied: npt.NDArray[np.bool_] = cells != 0.0
        self.resolution = check_positive("resolution", resolution, unit="m")
        self.origin = check_array("origin", origin, (2,))

    @classmethod
    def from_image(
        cls, path: str | Path, *, resolution: float = 0.05, origin: npt.ArrayLike = (0.0, 0.0), threshold: float = 0.5
    ) -> OccupancyGrid:
        """Builds a grid from an image: white is free, black or a colour is occupied. The top row has the largest y.

        Args:
            path: Path of the image, such as a .png.
            resolution: Side length of a pixel, > 0 [m].
            origin: Lower left corner (2,) [m].
            threshold: A pixel is free if its darkest channel exceeds this fraction of white, 0 <= threshold < 1 [-].

        Raises:
            InvalidArgumentError: The file is not an image, or the threshold is out of range.
        """
        from matplotlib import image

        file, level = check_path("path", path), check_finite("threshold", threshold)
        if not 0.0 <= level < 1.0:
            raise InvalidArgumentError(f"threshold: expected a fraction of white, 0 <= threshold < 1, got {level:g}")
        try:
            pixels: Any = np.asarray(image.imread(str(file)))
        except (OSError, ValueError, SyntaxError) as error:
            raise InvalidArgumentError(f"path: expected an image such as a .png, got {str(file)!r}: {error}") from error
        bright = pixels / 255.0 if pixels.dtype.kind == "u" else pixels
        darkest = bright if bright.ndim == 2 else bright[..., : 3 if bright.shape[2] >= 3 else 1].min(axis=2)
        return cls(darkest[::-1] <= level, resolution=resolution, origin=origin)

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Smallest and largest x, then smallest and largest y (4,) [m]."""
        rows, columns = self.occupied.shape
        x, y = (float(value) for value in self.origin)
        return x, x + columns * self.resolution, y, y + rows * self.resolution

    @functools.cached_property
    def distances(self) -> Reals:
        """Signed distance (rows, columns) from the centre of each cell to the nearest cell of the other kind [m].

        It is positive in free cells and negative in occupied ones. Half a cell is subtracted, so it is 0 at the edge
        between both kinds. It is inf if no cell is occupied, -inf if all are.
        """
        from scipy.ndimage import distance_transform_edt

        full = self.occupied
        if full.all() or not full.any():
            return np.where(full, -np.inf, np.inf)
        outside, inside = distance_transform_edt(~full), distance_transform_edt(full)
        return np.asarray(self.resolution * np.where(full, 0.5 - inside, outside - 0.5))

    def distance(self, points: npt.ArrayLike) -> Reals:
        """Signed distance (n,) of points (n, 2) to the nearest occupied cell [m], bilinear between centres of cells.

        A point outside of the grid has the distance of the nearest cell of the grid.
        """
        return self._between(self.distances, _points(points))

    def normals(self, points: npt.ArrayLike) -> Reals:
        """Unit vectors (n, 2) at points (n, 2), along the gradient of `distance`: away from the nearest occupied cell.

        They are zero if the gradient is zero: if no cell or all cells are occupied, and in grids with one row or
        column.
        """
        if not np.isfinite(self.distances).all() or min(self.occupied.shape) < 2:
            return np.zeros_like(_points(points))
        along_y, along_x = np.gradient(self.distances, self.resolution)
        at = _points(points)
        gradients = np.column_stack([self._between(np.asarray(along), at) for along in (along_x, along_y)])
        length = np.linalg.norm(gradients, axis=1, keepdims=True)
        return np.divide(gradients, length, out=np.zeros_like(gradients), where=length > 0.0)

    def cast(self, start: npt.ArrayLike, angles: npt.ArrayLike, *, longest: float = np.inf) -> Reals:
        """Distance (n,) along each ray to the first occupied cell [m], exact for the grid; inf if there is none.

        Args:
            start: Start of all rays (2,) [m]. In an occupied cell, all distances are 0.
            angles: Directions of the rays, measured from the x axis (n,) [rad].
            longest: Length at which the search stops, >= 0 [m].
        """
        reach, directions = check_number("longest", longest), as_numbers("angles", angles, "angles (n,) [rad]")
        if not reach >= 0.0:
            raise InvalidArgumentError(f"longest: expected a length >= 0 [m], or inf, got {reach:g}")
        if directions.ndim != 1:
            raise InvalidArgumentError(f"angles: expected angles (n,) [rad], got shape {directions.shape}")
        check_array("angles", directions, directions.shape)
        place = (check_array("start", start, (2,)) - self.origin) / self.resolution
        ways = np.column_stack([np.cos(directions), np.sin(directions)])
        return self.resolution * cast_rays(self.occupied, place, ways, reach / self.resolution)

    def _between(self, values: Reals, points: Reals) -> Reals:
        """Values of cells (rows, columns), interpolated bilinearly between their centres, at points (n, 2)."""
        if not np.isfinite(values).all():
            return np.full(len(points), values.flat[0])
        size = np.array(values.shape[::-1])
        at = np.clip((points - self.origin) / self.resolution - 0.5, 0.0, size - 1.0)
        low = np.minimum(at.astype(int), np.maximum(size - 2, 0))
        high, part = np.minimum(low + 1, size - 1), at - low
        (j0, i0), (j1, i1), (a, b) = low.T, high.T, part.T
        below = (1 - a) * values[i0, j0] + a * values[i0, j1]
        above = (1 - a) * values[i1, j0] + a * values[i1, j1]
        return np.asarray((1 - b) * below + b * above)

    def __repr__(self) -> str:
        (rows, columns), part = self.occupied.shape, float(self.occupied.mean())
        return f"OccupancyGrid({columns} x {rows} cells of {self.resolution:g} m, {100 * part:.0f} % occupied)"


def _points(points: npt.ArrayLike) -> Reals:
    rows = as_numbers("points", points, "points (n, 2) [m]")
    if rows.ndim != 2 or rows.shape[1] != 2:
        cure = "; for one point pass [point]" if rows.shape == (2,) else ""
        raise InvalidArgumentError(f"points: expected points (n, 2) [m], got shape {rows.shape}{cure}")
    return check_array("points", rows, rows.shape)
