"""Choice of the pairs of bodies that are nearest at many configurations."""

from __future__ import annotations

import numpy as np

from trajopt.types import Ints, Reals

WIDER = 4  # nearest pairs among which those of different joints are preferred, for each slot [-]
ALIKE = 2  # most slots of pairs of the same two joints [-]


def nearest(gaps: Reals, count: int, groups: Ints | None = None) -> Ints:
    """Indices (n, count) of the least distances (n, m), the least first.

    Args:
        gaps: Distances of all pairs (n, m) [m].
        count: Number of pairs to choose, at most m.
        groups: Number of the two joints of each pair (m,); more than two of the same joints come after the others.
    """
    left = min(WIDER * count if groups is not None else count, gaps.shape[1])
    rows = np.arange(len(gaps))[:, None]
    near = np.argpartition(gaps, left - 1, axis=1)[:, :left]
    near = near[rows, np.argsort(gaps[rows, near], axis=1, kind="stable")]
    return near if groups is None else near[rows, _few_of_each(groups[near])[:, :count]]


def _few_of_each(groups: Ints) -> Ints:
    """Order (n, m) of numbers in which the first `ALIKE` occurrences of each come before the others."""
    rank = np.zeros(groups.shape, dtype=np.int64)
    order = np.argsort(groups, axis=1, kind="stable")
    ordered = np.take_along_axis(groups, order, axis=1)
    place = np.arange(groups.shape[1])
    starts = np.where(np.diff(ordered, axis=1, prepend=-1) != 0, place, 0)
    np.put_along_axis(rank, order, place - np.maximum.accumulate(starts, axis=1), axis=1)
    return np.argsort(rank >= ALIKE, axis=1, kind="stable")


def in_place(old: Ints, new: Ints) -> Ints:
    """The new indices (n, count), where each that is among the old ones keeps its place.

    So a multiplier of a solver stays with its pair.
    """
    if np.array_equal(np.sort(old, axis=1), np.sort(new, axis=1)):  # mostly
        return old.copy()
    alike = old[:, :, None] == new[:, None, :]
    stays, stayed = alike.any(axis=2), alike.any(axis=1)
    free, left = np.argsort(stays, axis=1, kind="stable"), np.argsort(stayed, axis=1, kind="stable")
    rows, result = np.arange(len(old))[:, None], old.copy()
    fresh = np.arange(old.shape[1]) < (~stays).sum(axis=1)[:, None]
    result[rows, free] = np.where(fresh, new[rows, left], old[rows, free])
    return result
