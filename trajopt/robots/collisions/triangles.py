"""Sets of triangles, arrays (m, 3, 3) of their corners."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trajopt.types import Reals

Indices = npt.NDArray[np.intp]


def different(points: Reals) -> tuple[Reals, Indices]:
    """Points (n, 3) without repetitions (m, 3), and the index of each in them (n,); `np.unique` of rows is slower."""
    order = np.lexsort(points.T)
    ordered = points[order]
    new = np.ones(len(points), dtype=bool)
    new[1:] = np.any(ordered[1:] != ordered[:-1], axis=1)
    where = np.empty(len(points), dtype=np.intp)
    where[order] = np.cumsum(new) - 1
    return ordered[new], where


def diagonal(triangles: Reals) -> float:
    """Length of the diagonal of the box around triangles [m]."""
    return float(np.linalg.norm(np.ptp(triangles.reshape(-1, 3), axis=0)))


def bisected(triangles: Reals, longest: float) -> Reals:
    """Triangles (k, 3, 3) with edges of at most `longest` [m] on the same surface; longest edges are bisected first."""
    done = []
    while len(triangles):
        edges = np.linalg.norm(triangles - np.roll(triangles, -1, axis=1), axis=2)
        long = edges.max(axis=1) > longest
        done.append(triangles[~long])
        first = edges[long].argmax(axis=1)
        a, b, c = (
            np.take_along_axis(triangles[long], ((first + k) % 3)[:, None, None], axis=1)[:, 0] for k in range(3)
        )
        middle = (a + b) / 2
        triangles = np.concatenate([np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1)])
    return np.concatenate(done)
