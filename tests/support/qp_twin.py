"""First-order conditions of a StageQP in numpy: the slow twin of what the recursion's machine code measures."""

from __future__ import annotations

import numpy as np

from trajopt.solvers.qp import StageQP
from trajopt.types import Reals


class Residual:
    """Residuals of stationarity and of the dynamics at an iterate.

    Args:
        qp: The program.
        dx: States (T + 1, n).
        du: Controls (T, m).
        lam: Multipliers of the dynamics (T + 1, n).
        y: Multipliers of the rows (T + 1, nc).

    Attributes:
        running: Gradients of the Lagrangian along z (T, n + m).
        end: Its gradient along dx at the end (n,).
        dynamics: F z + f - dx of the next knot, f_0 - dx_0 first (T + 1, n).
    """

    def __init__(self, qp: StageQP, dx: Reals, du: Reals, lam: Reals, y: Reals) -> None:
        lq, T, n = qp.lq, qp.lq.T, qp.lq.n
        F, z = lq.full_F(), np.concatenate([dx[:T], du], axis=1)
        self.running = lq.g + symmetric(lq.H, z) + (y[:T, None, :] @ qp.C)[:, 0]
        self.running += (lam[1:, None, :] @ F)[:, 0]
        self.running[:, :n] -= lam[:T]
        self.end = lq.terminal_g + symmetric(lq.terminal_H, dx[T]) + y[T] @ qp.terminal_C - lam[T]
        self.dynamics = lq.f - dx
        self.dynamics[1:] += (F @ z[:, :, None])[:, :, 0]

    @property
    def stationarity(self) -> float:
        """Largest gradient of the Lagrangian."""
        return max(float(np.abs(part).max(initial=0.0)) for part in (self.running, self.end))


def symmetric(H: Reals, z: Reals) -> Reals:
    """H z, of H (..., s, s) of which the lower triangle is read, and z (..., s)."""
    lower = np.tril(H)
    diagonal = np.diagonal(H, axis1=-2, axis2=-1)
    column = z[..., None]
    return (lower @ column + np.swapaxes(lower, -1, -2) @ column)[..., 0] - diagonal * z
