"""The finite bounds of a StageQP as inequalities and equations, without those that are switched off."""

from __future__ import annotations

import numpy as np

from trajopt.solvers.qp.stage_qp import StageQP
from trajopt.types import Reals


class Inequalities:
    """One inequality sign (C z - bound) + s = δ (y - sign y_ref) with s, y >= 0 for each finite bound of a row.

    Args:
        qp: The program, as it is now.

    Attributes:
        s: Slacks (n,).
        y: Multipliers (n,).
    """

    def __init__(self, qp: StageQP) -> None:
        unequal = qp.lower < qp.upper
        upper, lower = (np.flatnonzero(unequal & np.isfinite(b)) for b in (qp.upper, qp.lower))
        self._row = np.concatenate([upper, lower])
        self._sign = np.repeat([1.0, -1.0], [len(upper), len(lower)])
        self._bound = self._sign * np.concatenate([qp.upper.ravel()[upper], qp.lower.ravel()[lower]])
        self._delta = qp.delta.ravel()[self._row]
        self._y_ref = self._sign * qp.y_ref.ravel()[self._row]
        self._shape = qp.lower.shape
        self.s, self.y = np.ones(len(self._row)), np.ones(len(self._row))

    def start(self, rows: Reals, gradient: float) -> None:
        """Slacks and multipliers well inside.

        Args:
            rows: Rows C z (T + 1, nc) of the first iterate.
            gradient: Largest entry of the cost's gradient, which says how large multipliers may become.
        """
        self.s = np.maximum(self._bound - self._of(rows), 0.1)
        self.y = np.maximum(0.1 * min(max(gradient, 0.01), 100.0) / self.s, 1e-3)
        soft = self._delta > 0.0
        self.y[soft] = np.maximum(self.y[soft], self._y_ref[soft])

    def residual(self, rows: Reals) -> Reals:
        """Violation of each inequality with its slack, at rows C z, (n,)."""
        return self._of(rows) - self._bound + self.s - self._delta * (self.y - self._y_ref)

    @property
    def product(self) -> Reals:
        """s y (n,)."""
        return self.s * self.y

    @property
    def weights(self) -> Reals:
        """D of each row (T + 1, nc), so that CᵀDC is what the rows add to the Hessian."""
        return self._by_row(self._stiffness)

    def gradient(self, residual: Reals, change: Reals) -> Reals:
        """h of each row (T + 1, nc), so that Cᵀh is what the rows add to the gradient.

        Args:
            residual: That of the inequalities (n,), which is to vanish.
            change: Wanted change of s y (n,).
        """
        return self._by_row(self._sign * self._stiffness * (residual + change / self.y))

    def step(self, rows: Reals, residual: Reals, change: Reals) -> tuple[Reals, Reals]:
        """Changes of s and y in a Newton step that changes rows C z by `rows`; other arguments as in `gradient`."""
        dy = self._stiffness * (self._of(rows) + residual + change / self.y)
        return (change - self.s * dy) / self.y, dy

    def longest(self, ds: Reals, dy: Reals) -> float:
        """Largest part, at most 1, of a step that keeps s and y positive."""
        parts = [(now[d < 0.0] / -d[d < 0.0]).min(initial=1.0) for now, d in ((self.s, ds), (self.y, dy))]
        return float(min(parts))

    def multipliers(self) -> Reals:
        """By row (T + 1, nc): positive at an upper bound, negative at a lower one."""
        return self._by_row(self._sign * self.y)

    @property
    def _stiffness(self) -> Reals:
        return 1.0 / (self.s / self.y + self._delta)

    def _of(self, rows: Reals) -> Reals:
        return self._sign * rows.ravel()[self._row]

    def _by_row(self, values: Reals) -> Reals:
        size = self._shape[0] * self._shape[1]
        return np.bincount(self._row, values, minlength=size).astype(np.float64).reshape(self._shape)


class Equations:
    """One equation C z - bound = δ (y - y_ref) for each row with equal bounds.

    Hard ones get a small δ, and their last multiplier as y_ref.

    Args:
        qp: The program, as it is now.
        proximal: δ of hard equations [-].

    Attributes:
        y: Multipliers (T + 1, nc), 0 of rows that are no equations.
        weights: D of each row (T + 1, nc), so that CᵀDC is what the rows add to the Hessian.
    """

    def __init__(self, qp: StageQP, proximal: float) -> None:
        self._there = qp.lower == qp.upper
        self._bound = np.where(self._there, qp.lower, 0.0)
        hard = self._there & (qp.delta == 0.0)
        self._soft = np.where(self._there & ~hard, qp.delta, 0.0)
        self._y_ref = np.where(self._soft > 0.0, qp.y_ref, 0.0)
        self.y = self._y_ref.copy()
        self.weights = np.where(self._there, 1.0 / np.where(self._soft > 0.0, self._soft, proximal), 0.0)

    def residual(self, rows: Reals) -> Reals:
        """Violation of each equation (T + 1, nc) at rows C z; of a hard one relative to its last multiplier."""
        return np.where(self._there, rows - self._bound - self._soft * (self.y - self._y_ref), 0.0)

    def step(self, rows: Reals, residual: Reals) -> Reals:
        """Changes of y in a Newton step that changes rows C z by `rows`."""
        return self.weights * (rows + residual)
