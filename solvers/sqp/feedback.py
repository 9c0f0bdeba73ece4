"""Policies of a program: gains that keep its active rows, and gradients along controls that later ones follow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trajopt.solvers.norms import largest
from trajopt.solvers.qp import StageQP
from trajopt.solvers.riccati import Riccati
from trajopt.solvers.weighted_rows import WeightedRows
from trajopt.types import Reals

STIFF = 1e8  # weight of active rows, relative to the Hessian, in gains that keep them
TINY = 1e-12  # largest multiplier that counts as none
SIGNIFICANT = 1e-6  # of the largest multiplier: a row with less is not active


class Policy:
    """A policy du = ... - K dx of a program.

    Args:
        qp: The program; its arrays must not move.

    Attributes:
        riccati: The recursion; on the program's own gradients where there are no rows.
        K: Gains (T, m, n).
    """

    def __init__(self, qp: StageQP) -> None:
        self._qp = qp
        self._lq, self._rows = qp.lq, None
        self._diagonal = np.diagonal(qp.lq.H, axis1=1, axis2=2)
        if qp.nc:
            self._lq = replace(qp.lq, g=np.zeros_like(qp.lq.g), terminal_g=np.zeros_like(qp.lq.terminal_g))
            self._rows = WeightedRows.zeros(self._lq, qp.C, qp.terminal_C, qp.lower, qp.upper)
        self.riccati = Riccati(self._lq, rows=self._rows)
        self.K = self.riccati.K

    def keep(self, y: Reals, *, hard: bool) -> bool:
        """Makes K the gains that keep the rows that multipliers show as active; whether there are any.

        Args:
            y: Multipliers (T + 1, nc).
            hard: Whether proximal rows count as hard ones, as they are at an optimum.
        """
        qp = self._qp
        active = (qp.lower == qp.upper) | (np.abs(y) > SIGNIFICANT * max(largest(y), TINY))
        if self._rows is not None:
            size = max(self._diagonal.size, 1)
            stiff = STIFF * max(1.0, float(np.add.reduce(np.abs(self._diagonal), axis=None)) / size)
            weights: Reals | float = stiff
            if not hard and qp.delta.any():
                weights = np.divide(1.0, qp.delta, out=np.full_like(qp.delta, stiff), where=qp.delta > 0.0)
            np.multiply(weights, active, out=self._rows.weights)
            self._rows.h[:] = 0.0
            self.riccati.find_rows()
        kept = self.K.copy()
        if self.riccati.factor().failure is None:
            return True
        self.K[:] = kept
        return False

    def adjoint(self, running: Reals, end: Reals, y: Reals) -> tuple[Reals, Reals]:
        """Gradient along each control (T, m) of a function, and its costates (T + 1, n); later controls follow K.

        The costates are p_t = q_x - K_tᵀ q_u with q = g + Cᵀy + Fᵀ p_{t+1}: so the recursion passes gradients on.

        Args:
            running: Gradients g of the function along (dx, du) (T, n + m).
            end: Its gradient along dx_T (n,).
            y: Weights of the rows (T + 1, nc), whose gradients Cᵀy are added.
        """
        lq = self._lq
        if lq.g is not running:
            lq.g[:], lq.terminal_g[:] = running, end
        if self._rows is not None:
            self._rows.h[:] = y
            self.riccati.find_rows()
        return self.riccati.adjoint()
