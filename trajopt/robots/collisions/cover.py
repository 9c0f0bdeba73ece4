"""Capsules and spheres whose union contains a surface of triangles.

A capsule that wastes too much is replaced by several, one for each cell of a grid of planes. Where a cell touches
another one, its capsule may reach as far as the whole surface, since the neighbour's capsule is there anyway.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.robots.collisions.fit import DIRECTIONS, SPHERE, Fit, fit_capsules
from trajopt.robots.collisions.triangles import Indices, bisected, diagonal, different
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
    """Some of the triangles: indices of corners, whether each direction points inwards, and whether no cut helps."""

    triangles: Indices
    inward: npt.NDArray[np.bool_]
    final: bool = False


class _Surface:
    """Directions and points of the whole surface, and its solids."""

    def __init__(self, solids: Sequence[Reals]) -> None:
        from scipy.spatial import KDTree

        whole = np.concatenate(solids)
        size = diagonal(whole)
        fine = [bisected(triangles, FINEST * size) for triangles in solids]
        self.corners, where = different(np.concatenate(fine).reshape(-1, 3))
        self.indices, ends = where.reshape(-1, 3), np.cumsum([len(each) for each in fine])[:-1]
        self.solids = np.split(self.indices, ends)
        self.tree: Any = KDTree(different(bisected(np.concatenate(fine), SAMPLES * size).reshape(-1, 3))[0])
        self._supports = (whole.reshape(-1, 3) @ SPHERE.T).max(axis=0)

    def wanted(self, parts: Sequence[_Part], *, rough: bool = False) -> _Wanted:
        allowed = [np.where(part.inward, self._supports, -np.inf) for part in parts]
        return _Wanted([self.points(part) for part in parts], allowed, rough)

    def points(self, part: _Part) -> Reals:
        return np.asarray(self.corners[np.unique(part.triangles)])


@dataclass(eq=False)
class _Wanted:
    """Fits that a surface waits for: points, their supports, and whether a short search is enough."""

    points: list[Reals]
    allowed: list[Reals]
    rough: bool


_Fitting = Generator[_Wanted, list[Fit], list[Fit]]


def cover(surfaces: Sequence[Sequence[Reals]], waste: float) -> list[list[Fit]]:
    """Returns for each surface at most `MOST` capsules whose union contains it.

    Each triangle lies whole in one of them, or if it is long, each of its pieces. Where a surface of several solids
    wastes too much, each solid gets a capsule, and the surface as many more. Surfaces are fitted side by side, because
    a search of many capsules at once takes little longer than that of one.

    Args:
        surfaces: Corners of the triangles (m, 3, 3) of each one's solids [m].
        waste: Capsules are added while the 95th percentile of the gaps between them and the triangles exceeds this,
            and a cut helps [m].
    """
    fittings = [_fitting(solids, waste) for solids in surfaces]
    covers: list[list[Fit]] = [[] for _ in surfaces]
    waiting = {number: next(fitting) for number, fitting in enumerate(fittings)}
    while waiting:
        rough = any(wanted.rough for wanted in waiting.values())
        served = {number: wanted for number, wanted in waiting.items() if wanted.rough == rough}
        fits = iter(
            fit_capsules(
                [points for wanted in served.values() for points in wanted.points],
                allowed=[allowed for wanted in served.values() for allowed in wanted.allowed],
                rough=rough,
            )
        )
        for number, wanted in served.items():
            try:
                waiting[number] = fittings[number].send(list(itertools.islice(fits, len(wanted.points))))
            except StopIteration as end:
                covers[number] = end.value
                del waiting[number]
    return covers


def _fitting(solids: Sequence[Reals], waste: float) -> _Fitting:
    """Capsules around solids, together or around each of them; yields the fits that it needs."""
    surface = _Surface(solids)
    fits = yield from _refined(surface, [surface.indices], waste)
    if len(solids) > 1 and (most := most_gaps(gaps(fits, surface.tree))) > waste:
        single = yield from _refined(surface, surface.solids, waste)
        fits = single if most_gaps(gaps(single, surface.tree)) < most else fits
    return fits


def _refined(surface: _Surface, solids: Sequence[Indices], waste: float) -> _Fitting:
    """Capsules around triangles, the one with most waste cut as long as that helps; yields the fits that it needs."""
    parts = [_Part(triangles, np.zeros(DIRECTIONS, dtype=bool)) for triangles in solids]
    fits, most = (yield surface.wanted(parts)), MOST + len(solids) - 1
    while len(fits) < most and not all(part.final for part in parts):
        exposed = gaps(fits, surface.tree)
        if most_gaps(exposed) <= waste:
            break
        worst = max((i for i, part in enumerate(parts) if not part.final), key=lambda i: mean_gap([exposed[i]]))
        others = [fit for i, fit in enumerate(fits) if i != worst]
        pieces = yield from _best_cut(parts[worst], others, surface, GAIN * mean_gap(exposed), most)
        if not pieces:
            parts[worst].final = True
            continue
        parts = [*(part for i, part in enumerate(parts) if i != worst), *pieces]
        fits = [*others, *(yield surface.wanted(pieces))]
    return fits


def _best_cut(
    part: _Part, others: list[Fit], surface: _Surface, widest: float, most: int
) -> Generator[_Wanted, list[Fit], list[_Part]]:
    """Pieces of the cut with the least mean gap; none if each leaves more than `widest` [m] or `most` capsules."""
    points = surface.points(part)
    axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2]
    low, high = (points @ axes.T).min(axis=0), (points @ axes.T).max(axis=0)
    where = (surface.corners[part.triangles].mean(axis=1) @ axes.T - low) / np.maximum(high - low, 1e-12)
    best: list[_Part] = []
    cuts = [pieces for grid in _grids() if 1 < len(pieces := _cells(part, axes, where, grid)) <= most - len(others)]
    if not cuts:
        return best
    fits = iter((yield surface.wanted([piece for pieces in cuts for piece in pieces], rough=True)))
    for pieces in cuts:
        union = [*others, *itertools.islice(fits, len(pieces))]
        left = mean_gap(gaps(union, surface.tree)) * (len(pieces) / 2) ** PRICE
        if left < widest:
            best, widest = pieces, left
    return best


def _grids() -> Iterator[list[tuple[float, ...]]]:
    """Planes across each of three axes."""
    for axis in range(3):
        for cuts in CUTS:
            yield [cuts if k == axis else () for k in range(3)]
    for uncut in range(3):
        yield [() if k == uncut else (0.5,) for k in range(3)]


def _cells(part: _Part, axes: Reals, where: Reals, grid: list[tuple[float, ...]]) -> list[_Part]:
    """The triangles by the cell in which their centre lies, at certain parts of the extent along each axis (m, 3)."""
    cells = np.stack([np.searchsorted(cuts, where[:, k]) for k, cuts in enumerate(grid)], axis=1)
    pieces = []
    for cell in itertools.product(*(range(len(cuts) + 1) for cuts in grid)):
        inside = np.all(cells == cell, axis=1)
        if not inside.any():
            continue
        inward = part.inward.copy()
        for axis, place, cuts in zip(axes, cell, grid):
            if place > 0:
                inward |= SPHERE @ axis < -INWARD
            if place < len(cuts):
                inward |= SPHERE @ axis > INWARD
        pieces.append(_Part(part.triangles[inside], inward))
    return pieces
