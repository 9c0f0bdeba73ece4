"""Wrenches of least cost that support a floating base over time: null spaces and one banded factorisation.

The problem is: minimise Σ_i (w_iᵀ P_i w_i - 2 p_iᵀ w_i) + s Σ_i ‖w_{i+1} - w_i‖² subject to A_i w_i = b_i.
Substitute w_i = A_i⁺ b_i + Z_i z_i, where Z_i is a basis of the null space of A_i. The matrix of the z_i
is then block-tridiagonal, so the work grows linearly with the number of times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, solveh_banded

from trajopt.errors import InvalidArgumentError
from trajopt.types import Reals

SINGULAR = 1e-9  # a singular value below this fraction of the largest one counts as 0


@dataclass(frozen=True)
class WrenchCost:
    """Cost w_iᵀ P_i w_i - 2 p_iᵀ w_i at each time, plus s ‖w_{i+1} - w_i‖² between times.

    Attributes:
        P: Weights, symmetric (N, W, W).
        p: Weights times target wrenches (N, W).
        smoothness: Weight s of changes.
    """

    P: Reals
    p: Reals
    smoothness: float


def least_wrenches(A: Reals, b: Reals, active: Reals, cost: WrenchCost) -> Reals:
    """Computes wrenches of least cost (N, W); if A w = b has no solution, as in the air, they have the least residual.

    Args:
        A: Matrices that map wrenches to forces on the base (N, 6, W).
        b: Forces that the base needs (N, 6) [N, N m].
        active: 1 for wrench elements that may be nonzero, 0 for others (N, W).
        cost: The cost.
    """
    W = active.shape[1]
    A = A * active[:, None]
    still = np.einsum("nw,wv->nwv", 1.0 - active, np.eye(W))  # rows that hold inactive elements at 0
    scale = np.maximum(np.linalg.norm(A, axis=(1, 2)), 1.0)[:, None, None]
    U, sizes, Vt = np.linalg.svd(np.concatenate([A, scale * still], axis=1), full_matrices=True)
    sizes = np.pad(sizes, ((0, 0), (0, W - sizes.shape[1])))
    held = sizes > SINGULAR * sizes[:, :1]
    inverse = np.where(held, 1.0 / np.where(held, sizes, 1.0), 0.0)
    fixed = np.einsum("nwv,nw,nrw,nr->nv", Vt, inverse, U[:, :6, :W], b, optimize=True)
    free = (~held).astype(float)
    Z = Vt.transpose(0, 2, 1) * free[:, None]
    return fixed + np.einsum("nwd,nd->nw", Z, _free_part(Z, 1.0 - free, fixed, cost))


def _free_part(Z: Reals, held: Reals, fixed: Reals, cost: WrenchCost) -> Reals:
    """Free part z (N, W): zero in the directions where `held` is 1."""
    n, W = fixed.shape
    s, ends = cost.smoothness, np.zeros(n)
    ends[1:] += 1.0
    ends[:-1] += 1.0
    P = cost.P + s * np.einsum("n,vw->nvw", ends, np.eye(W))
    diagonal = Z.transpose(0, 2, 1) @ P @ Z
    diagonal[:, np.arange(W), np.arange(W)] += held
    gradient = cost.p - np.einsum("nvw,nw->nv", P, fixed)
    gradient[1:] += s * fixed[:-1]
    gradient[:-1] += s * fixed[1:]
    right = np.einsum("nwa,nw->na", Z, gradient)
    banded = np.zeros((2 * W, n * W))  # row d contains the d-th lower diagonal
    for row in range(W):
        for column in range(row + 1):
            banded[row - column, column::W] = diagonal[:, row, column]
    if s > 0:
        beside = -s * np.einsum("nwa,nwb->nab", Z[1:], Z[:-1])
        for row in range(W):
            for column in range(W):
                banded[W + row - column, column : (n - 1) * W : W] = beside[:, row, column]
    try:
        return solveh_banded(banded, right.ravel(), lower=True, check_finite=False).reshape(n, W)
    except LinAlgError:
        raise undetermined(cost) from None


def undetermined(cost: WrenchCost) -> InvalidArgumentError:
    """Returns the error for a cost that does not determine the wrenches."""
    least = float(np.einsum("nww->nw", cost.P).min())
    return InvalidArgumentError(
        "force_weight, moment_weight, least_wrench, smoothness: expected weights that determine every wrench, got "
        f"{least:g} for wrenches and {cost.smoothness:g} for changes; use a small one such as 1e-6"
    )
