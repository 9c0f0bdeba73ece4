"""Certificates of infeasibility: multipliers that prove that no trajectory keeps the hard rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trajopt.solvers.qp.residual import Iterate, Residual
from trajopt.solvers.qp.stage_qp import StageQP
from trajopt.solvers.riccati.weighted_rows import WeightedRows
from trajopt.types import Reals

TOLERANCE = 1e-6  # of a gradient, and least amount of a contradiction, relative to the multipliers


class Certificate:
    """Proof that no trajectory keeps all hard rows, by Farkas' lemma along the dynamics.

    Multipliers λ, y with Cᵀy + Fᵀ λ' - λ = 0 make Σ y · C z = Σ λ · f along every trajectory, and within its bounds a
    row cannot have more than y⁺ upper - y⁻ lower. So no trajectory keeps them all if Σ λ · f is larger than their sum.

    Args:
        qp: The program; its arrays must not move.
        rows: Weighted rows of the program; their lists of active rows are used.
    """

    def __init__(self, qp: StageQP, rows: WeightedRows) -> None:
        self._qp = qp
        lq = qp.lq
        without = replace(lq, g=np.zeros_like(lq.g), terminal_g=np.zeros_like(lq.terminal_g))
        self._y, self._at = np.zeros(qp.lower.shape), Iterate(lq)
        self._residual = Residual(without, rows, self._at, self._y, np.zeros(qp.lower.shape))

    def proves(self, lam: Reals, y: Reals) -> bool:
        """Whether these multipliers, of any scale, prove that no trajectory keeps all hard rows."""
        qp = self._qp
        bounds = np.where(y > 0.0, qp.upper, qp.lower)  # those that the multipliers press against
        pressed = (qp.delta == 0.0) & np.isinf(qp.soft_linear) & np.isfinite(bounds)
        self._y[:] = np.where(pressed, y, 0.0)
        size = float(np.abs(self._y).max(initial=0.0))
        if not 0.0 < size < np.inf or not np.isfinite(lam).all():
            return False
        self._y /= size
        np.divide(lam, size, out=self._at.lam)
        self._residual.measure()
        if not self._residual.stationarity < TOLERANCE:
            return False
        parts = self._y[pressed] * bounds[pressed]
        least, scale = float((self._at.lam * qp.lq.f).sum()), float(np.abs(parts).sum())
        return least - float(parts.sum()) > TOLERANCE * max(1.0, scale)
