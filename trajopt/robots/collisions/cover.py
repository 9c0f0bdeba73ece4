"""Capsules and spheres whose union contains a surface of triangles.

A capsule that wastes too much is replaced by several, one for each cell of a grid of planes. Where a cell touches
another one, its capsule may reach as far as the whole surface, since the neighbour's capsule is there anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.robots.collisions.fit import DIRECTIONS, SPHERE, Fit, fit_capsule
from trajopt.robots.collisions.triangles import bisected, corners_of, diagonal
from trajopt.robots.collisions.waste import gaps, mean_gap, most_gaps
from trajopt.types import Reals

MOST = 6  # capsules for one surface
CUTS: tuple[tuple[float, ...], ...] = ((0.3,), (0.5,), (0.7,), (1 / 3, 2 / 3), (0.25, 0.5, 0.75))
"""Planes across one axis, as parts of a surface's extent."""
INWARD = 0.3  # cosine to the normal of a cut above which a direction points inwards [-]
FINEST = 0.1  # of a surface's diagonal; triangles with longer edges are bisected before a cut
SAMPLES = 0.025  # of a surface's diagonal; longest edge of the triangles whose corners gaps are measured to
GAIN = 0.97  # a cut must leave at most this part of the waste [-]
PRICE = 0.25  # a cut into twice as many parts must leave 2^-PRICE of the waste


@dataclass(eq=False)
class _Part:
    """Some of the triangles: their corners, whether each direction points inwards, and whether no cut helps."""

    triangles: Reals
    inward: npt.NDArray[np.bool_]
    final: bool = False


class _Surface:
    """Directions and points of the whole surface."""

    def __init__(self, triangles: Reals) -> None:
        from scipy.spatial import KDTree

        size = diagonal(triangles)
        self.fine = bisected(triangles, FINEST * size)
        self.tree: Any = KDTree(corners_of(bisected(self.fine, SAMPLES * size)))
        self._supports = (triangles.reshape(-1, 3) @ SPHERE.T).max(axis=0)

    def fit(self, part: _Part, *, rough: bool = False) -> Fit:
        allowed = np.where(part.inward, self._supports, -np.inf)
        return fit_capsule(part.triangles.reshape(-1, 3), allowed=allowed, rough=rough)


def cover(triangles: Reals, waste: float) -> list[Fit]:
    """Returns at most `MOST` capsules whose union contains triangles.

    Each triangle lies whole in one of them, or if it is long, each of its pieces.

    Args:
        triangles: Corners of the triangles (m, 3, 3) [m].
        waste: Capsules are added while the 95th percentile of the gaps between them and the triangles exceeds this,
            and a cut helps [m].
    """
    surface = _Surface(triangles)
    parts = [_Part(surface.fine, np.zeros(DIRECTIONS, dtype=bool))]
    fits = [surface.fit(parts[0])]
    while len(fits) < MOST and not all(part.final for part in parts):
        exposed = gaps(fits, surface.tree)
        if most_gaps(exposed) <= waste:
            break
        worst = max((i for i, part in enumerate(parts) if not part.final), key=lambda i: mean_gap([exposed[i]]))
        others = [fit for i, fit in enumerate(fits) if i != worst]
        pieces = _best_cut(parts[worst], others, surface, GAIN * mean_gap(exposed))
        if not pieces:
            parts[worst].final = True
            continue
        parts = [*(part for i, part in enumerate(parts) if i != worst), *pieces]
        fits = [*others, *(surface.fit(piece) for piece in pieces)]
    return fits


def _best_cut(part: _Part, others: list[Fit], surface: _Surface, most: float) -> list[_Part]:
    """Pieces of the cut with the least mean gap; none if each cut leaves more than `most` [m]."""
    corners = corners_of(part.triangles)
    axes = np.linalg.svd(corners - corners.mean(axis=0), full_matrices=False)[2]
    best: list[_Part] = []
    for grid in _grids():
        pieces = _cells(part, axes, grid)
        if not 1 < len(pieces) <= MOST - len(others):
            continue
        fits = [surface.fit(piece, rough=True) for piece in pieces]
        left = mean_gap(gaps([*others, *fits], surface.tree)) * (len(pieces) / 2) ** PRICE
        if left < most:
            best, most = pieces, left
    return best


def _grids() -> Iterator[list[tuple[float, ...]]]:
    """Planes across each of three axes."""
    for axis in range(3):
        for cuts in CUTS:
            yield [cuts if k == axis else () for k in range(3)]
    for uncut in range(3):
        yield [() if k == uncut else (0.5,) for k in range(3)]


def _cells(part: _Part, axes: Reals, grid: list[tuple[float, ...]]) -> list[_Part]:
    """The triangles by the cell in which their centre lies."""
    points, middles = part.triangles.reshape(-1, 3) @ axes.T, part.triangles.mean(axis=1) @ axes.T
    low, high = points.min(axis=0), points.max(axis=0)
    where = (middles - low) / np.maximum(high - low, 1e-12)
    cells = np.stack([np.searchsorted(cuts, where[:, k]) for k, cuts in enumerate(grid)], axis=1)
    pieces = []
    for cell in np.unique(cells, axis=0):
        inward = part.inward.copy()
        for axis, place, cuts in zip(axes, cell, grid):
            if place > 0:
                inward |= SPHERE @ axis < -INWARD
            if place < len(cuts):
                inward |= SPHERE @ axis > INWARD
        pieces.append(_Part(part.triangles[np.all(cells == cell, axis=1)], inward))
    return pieces
