"""Policies of a program: gains that keep its active rows, and gradients along controls that later ones follow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trajopt.solvers.norms import largest, total
from trajopt.solvers.qp.stage_qp import StageQP
from trajopt.solvers.riccati.riccati import Riccati
from trajopt.solvers.riccati.weighted_rows import WeightedRows
from trajopt.types import Reals

STIFF = 1e8  # weight of active rows, relative to the Hessian, in gains that keep them
LARGEST = 1e30  # mean of a Hessian, so that infinite entries make no NaN of rows that are off
TINY = 1e-12  # largest multiplier that counts as none
SIGNIFICANT = 1e-6  # of the largest multiplier: a row with less is not active


class Policy:
    """Feedback law du = du_0 - K dx of a quadratic program, with gains K that keep the active rows.

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
        self._kept = np.zeros(self.K.shape)

    def keep(self, y: Reals, *, hard: bool) -> bool:
        """Sets K to gains that keep the rows that are active by their multipliers. Returns whether such gains exist.

        Args:
            y: Multipliers (T + 1, nc).
            hard: Whether proximal rows count as hard ones, as they are at an optimum.
        """
        if self._rows is not None:
            sizes, delta = np.abs(y), self._qp.delta
            active = sizes > SIGNIFICANT * max(largest(sizes), TINY)
            active |= self._qp.lower == self._qp.upper
            mean = total(self._diagonal) / max(self._diagonal.size, 1)
            stiff = STIFF * min(max(1.0, mean), LARGEST)
            penalties = np.divide(1.0, delta, out=np.full_like(delta, stiff), where=delta > 0.0)
            self._rows.weights[:] = np.where(active, stiff if hard else penalties, 0.0)
            self._rows.h.fill(0.0)
            self.riccati.find_rows()
        np.copyto(self._kept, self.K)
        outcome = self.riccati.factor()
        if outcome.failure is None:
            return True
        changed = slice(outcome.failed_knot, None)  # it goes from the end to where it fails
        self.K[changed] = self._kept[changed]
        return False

    def adjoint(self, running: Reals, end: Reals, y: Reals) -> tuple[Reals, Reals]:
        """Gradient of a function along each control (T, m), and costates (T + 1, n); later controls follow K.

        The costates are p_t = q_x - K_tᵀ q_u with q = g + Cᵀy + Fᵀ p_{t+1}: so the recursion passes gradients on.

        Args:
            running: Gradients g of the function along (dx, du) (T, n + m).
            end: Gradient of the function along dx_T (n,).
            y: Weights of the rows (T + 1, nc), whose gradients Cᵀy are added.
        """
        lq = self._lq
        if lq.g is not running:
            lq.g[:], lq.terminal_g[:] = running, end
        if self._rows is not None:
            self._rows.h[:] = y
            self.riccati.find_rows()
        return self.riccati.adjoint()
