"""An iterate of a StageQP, and by how much it misses the first-order conditions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajopt.solvers.qp.stage_qp import StageQP
from trajopt.types import Reals


@dataclass(eq=False)
class Iterate:
    """States dx (T + 1, n), controls du (T, m) and multipliers of the dynamics λ (T + 1, n), or a change of them."""

    dx: Reals
    du: Reals
    lam: Reals

    @staticmethod
    def zero(qp: StageQP) -> Iterate:
        """All zeros."""
        T, n = qp.lq.T, qp.lq.n
        return Iterate(np.zeros((T + 1, n)), np.zeros((T, qp.lq.m)), np.zeros((T + 1, n)))

    def move(self, length: float, step: Iterate) -> None:
        """Goes a part of a step."""
        self.dx += length * step.dx
        self.du += length * step.du
        self.lam += length * step.lam

    def rows(self, qp: StageQP) -> Reals:
        """C z (T + 1, nc)."""
        return qp.rows(self.dx, self.du)


class Residual:
    """Residuals of stationarity and of the dynamics at an iterate.

    Args:
        qp: The program.
        at: The iterate.
        y: Multipliers of the rows (T + 1, nc).

    Attributes:
        running: Gradients of the Lagrangian along z (T, n + m).
        end: Its gradient along dx at the end (n,).
        dynamics: F z + f - dx of the next knot, f_0 - dx_0 first (T + 1, n).
    """

    def __init__(self, qp: StageQP, at: Iterate, y: Reals) -> None:
        lq, T, n = qp.lq, qp.lq.T, qp.lq.n
        F, z = lq.full_F(), np.concatenate([at.dx[:T], at.du], axis=1)
        self.running = lq.g + symmetric(lq.H, z) + (y[:T, None, :] @ qp.C)[:, 0]
        self.running += (at.lam[1:, None, :] @ F)[:, 0]
        self.running[:, :n] -= at.lam[:T]
        self.end = lq.terminal_g + symmetric(lq.terminal_H, at.dx[T]) + y[T] @ qp.terminal_C - at.lam[T]
        self.dynamics = lq.f - at.dx
        self.dynamics[1:] += (F @ z[:, :, None])[:, :, 0]

    @property
    def stationarity(self) -> float:
        """Largest gradient of the Lagrangian."""
        return max(float(np.abs(part).max(initial=0.0)) for part in (self.running, self.end))

    @staticmethod
    def pull(qp: StageQP, y: Reals) -> float:
        """Largest part of the rows in a gradient, Cᵀy."""
        T = qp.lq.T
        parts = (y[:T, None, :] @ qp.C)[:, 0], y[T] @ qp.terminal_C
        return max(float(np.abs(part).max(initial=0.0)) for part in parts)


def symmetric(H: Reals, z: Reals) -> Reals:
    """H z, of H (..., s, s) of which the lower triangle is read, and z (..., s)."""
    lower = np.tril(H)
    diagonal = np.diagonal(H, axis1=-2, axis2=-1)
    column = z[..., None]
    return (lower @ column + np.swapaxes(lower, -1, -2) @ column)[..., 0] - diagonal * z
