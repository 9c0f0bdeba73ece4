"""Rays through an occupancy grid, cell by cell."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trajopt.types import Reals


def cast_rays(occupied: npt.NDArray[np.bool_], start: Reals, directions: Reals, longest: float) -> Reals:
    """Distance (n,) along each ray to the first occupied cell; 0 if the start is in one, inf if there is none.

    All rays advance together, each from one cell edge to the next.

    Args:
        occupied: Whether a cell is occupied (rows, columns); cell (i, j) covers [j, j + 1] x [i, i + 1].
        start: Start (x, y) of the rays (2,), in cells.
        directions: Unit vectors (n, 2).
        longest: Distance at which the search stops, in cells.

    Source: Amanatides and Woo, A fast voxel traversal algorithm for ray tracing, 1987.
    """
    size = np.array(occupied.shape[::-1])
    first, last = _inside(size, start, directions)
    distances = np.full(len(directions), np.inf)
    ray = np.flatnonzero((first <= last) & (first <= longest))
    way, travelled = directions[ray], first[ray]
    cell = np.clip(np.floor(start + travelled[:, None] * way).astype(int), 0, size - 1)
    forwards = way > 0.0
    while ray.size:
        hit = occupied[cell[:, 1], cell[:, 0]]
        distances[ray[hit]] = travelled[hit]
        with np.errstate(divide="ignore", invalid="ignore"):
            edges = np.where(way == 0.0, np.inf, (cell + forwards - start) / way)
        axis = np.argmin(edges, axis=1)
        each = np.arange(len(ray))
        travelled = edges[each, axis]
        cell[each, axis] += np.where(forwards[each, axis], 1, -1)
        on = ~hit & np.all((cell >= 0) & (cell < size), axis=1) & (travelled <= longest)
        ray, way, travelled, cell, forwards = ray[on], way[on], travelled[on], cell[on], forwards[on]
    return distances


def _inside(size: npt.NDArray[np.int_], start: Reals, directions: Reals) -> tuple[Reals, Reals]:
    """Distances at which rays enter and leave the grid; if a ray misses it, the first is larger."""
    with np.errstate(divide="ignore", invalid="ignore"):
        edges = np.stack([(0.0 - start) / directions, (size - start) / directions])
    beside = (directions == 0.0) & ((start < 0.0) | (start >= size))
    edges[:, directions == 0.0] = np.array([[-np.inf], [np.inf]])
    first, last = np.maximum(edges.min(axis=0).max(axis=1), 0.0), edges.max(axis=0).min(axis=1)
    return first, np.where(beside.any(axis=1), -np.inf, last)
