"""Structural zeros of matrices, and the blocks of a product of two such matrices.

The derivatives of a kinematic tree are mostly structural zeros, since limbs do not affect each other. A block of the
result sums only over the inner indices that occur in it.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
import numpy.typing as npt

from trajopt.kernels.products import ProductBlock, Ranges

Pattern = npt.NDArray[np.bool_]


def full(shape: tuple[int, int]) -> Pattern:
    """Pattern in which every element may differ from zero."""
    return np.ones(shape, dtype=np.bool_)


def of_sparsity(sparsity: ca.Sparsity) -> Pattern:
    """Mask of the elements of a CasADi function's result that may differ from zero."""
    pattern = np.zeros(sparsity.shape, dtype=np.bool_)
    pattern[sparsity.row(), sparsity.get_col()] = True
    return pattern


def product(a: Pattern, b: Pattern) -> Pattern:
    """Mask of the elements of A B that may differ from zero, from the masks of A and B."""
    result: Pattern = a.astype(np.int64) @ b.astype(np.int64) > 0
    return result


def blocks(a: Pattern, b: Pattern, rows: Ranges = ()) -> tuple[ProductBlock, ...]:
    """Blocks of A B: adjacent rows of A and adjacent columns of B with the same zeros.

    Each block lies in one of the ranges of `rows`, if there are any.
    """
    result = []
    for first, end in rows or ((0, len(a)),):
        for r0, r1 in _alike(a[first:end]):
            for c0, c1 in _alike(b.T):
                result.append(ProductBlock((first + r0, first + r1), (c0, c1), runs(a[first + r0] & b[:, c0])))
    return tuple(result)


def upper_blocks(a: Pattern, b: Pattern) -> tuple[ProductBlock, ...]:
    """Blocks of A B, two rows high, that cover its diagonal and everything above."""
    result, n = [], len(a)
    for r0 in range(0, n, 2):
        r1 = min(r0 + 2, n)
        result.append(ProductBlock((r0, r1), (r0, n), runs(np.any(a[r0:r1], axis=0) & np.any(b[:, r0:], axis=1))))
    return tuple(result)


def _alike(rows: Pattern) -> list[tuple[int, int]]:
    """Ranges of adjacent rows that are equal."""
    ends = [i for i in range(1, len(rows)) if not np.array_equal(rows[i], rows[i - 1])]
    return [(i, j) for i, j in zip([0, *ends], [*ends, len(rows)]) if i < j]


def runs(chosen: npt.NDArray[np.bool_]) -> Ranges:
    """Returns the ranges (first, end) of adjacent True entries of a mask (n,); `end` is not part of a range."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], chosen.astype(np.int8), [0]])))
    return tuple((int(first), int(end)) for first, end in edges.reshape(-1, 2))
