"""Equations of an interior-point step, which the recursion eliminates together with the controls."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from trajopt.shooting.lagrangian import LagrangianHessian
from trajopt.solvers.qp import StageQP
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic
from trajopt.solvers.sqp.interior.barrier import Bounds
from trajopt.solvers.sqp.rows import RowBounds
from trajopt.types import Reals

DELTA = 1e-12  # δ of eliminated rows, relative to their size squared: with 1e-8 multipliers drift where rows depend
STIFFNESS = 1e5  # ρ of these rows, relative likewise: the Hessian is convex across them, and keeps its digits
FIRM = 1e8  # weight of equations without controls, relative likewise


class Equations:
    """Equations of a program: rows C dz + r = δ (y⁺ - y), with their residuals r and multipliers y.

    With y⁺ = y' + ρ (C dz + r) the Hessian gets ρ CᵀC, which makes it convex across the rows, and the recursion
    eliminates C dz + r + δ' y = δ' y', δ' = δ / (1 - δ ρ), together with the controls. A weight of 1 / δ alone would be
    the same step, with rounding errors that stop solves with complementarity: acrobots took a median of 547
    iterations. Rows without controls, such as those at the end, have such a weight, of `FIRM`.

    Args:
        qp: The program, with the rows of a first trajectory.
        bounds: Bounds of its rows.
        eliminated: Whether rows with controls are eliminated; else all have the weight.

    Attributes:
        lq: The program's cost and dynamics with the eliminated rows, for `Riccati`.
        weights: Weights of all rows of the program in its Hessian (T + 1, nc); 0 of those that are no equations.
    """

    def __init__(self, qp: StageQP, bounds: Bounds, *, eliminated: bool = True) -> None:
        n, squares = qp.lq.n, bounds.size**2
        steered = bounds.equal[:-1] & (qp.C[:, :, n:] != 0.0).any(axis=2) & eliminated
        number = int(steered.sum(axis=1).max(initial=0))
        self._qp, self._firm = qp, bounds.equal.copy()
        self._firm[:-1] &= ~steered
        self.weights = np.where(self._firm, FIRM, np.where(bounds.equal, STIFFNESS, 0.0)) / squares
        self._order = np.argsort(~steered, axis=1, kind="stable")[:, :number]
        self._on = self._among(steered)
        self._delta = np.where(self._on, self._among(squares[:-1]) * DELTA / (1.0 - DELTA * STIFFNESS), 1.0)
        self.lq: LinearQuadratic = qp.lq
        if number:
            C, d = np.zeros((qp.lq.T, number, qp.C.shape[2])), np.zeros((qp.lq.T, number))
            self.lq = replace(qp.lq, C=C, d=d, delta=self._delta)

    def _among(self, values: Any) -> Any:
        """Those of the eliminated rows, from values of all rows (T, nc)."""
        return np.take_along_axis(values, self._order, axis=1)

    def take(self, residual: Reals, y: Reals) -> Reals:
        """Takes the rows of the program, with residuals r and multipliers y (T + 1, nc); returns their weights h."""
        if self.lq.C is not None and self.lq.d is not None:
            rows = np.take_along_axis(self._qp.C, self._order[:, :, None], axis=1)
            self.lq.C[:] = np.where(self._on[:, :, None], rows, 0.0)
            self.lq.d[:] = np.where(self._on, self._among(residual[:-1]) + self._delta * self._among(y[:-1]), 0.0)
        return self.weights * residual + np.where(self._firm, y, 0.0)

    def multipliers(self, eliminated: Reals, weighted: Reals) -> Reals:
        """Multipliers y⁺ (T + 1, nc) after a step; 0 of rows that are no equations.

        Args:
            eliminated: Multipliers y' of the eliminated rows (T, number).
            weighted: ρ C dz + h of all rows, with h from `take` (T + 1, nc).
        """
        y = weighted.copy()
        own = self._among(y[:-1]) + np.where(self._on, eliminated, 0.0)
        np.put_along_axis(y[:-1], self._order, own, axis=1)
        return y


def are_curved(exact: LagrangianHessian | None, rows: RowBounds) -> bool:
    """Whether most running knots have equations that are nonlinear in the controls, such as complementarity, λ s = 0.

    Args:
        exact: Hessian of the Lagrangian at an expanded trajectory; None if there is none.
        rows: Bounds of the rows.
    """
    equal = rows.lower == rows.upper
    most = len(equal) // 2
    if exact is None or np.count_nonzero(equal[:-1].any(axis=1)) <= most:
        return False
    exact.lam[:], blocks = 0.0, []
    for y in (0.0, equal):
        exact.y[:] = y
        exact.expect(None)
        exact()
        n = exact.H.shape[1] - rows.u_lower.shape[1]
        blocks.append(exact.H[:, n:, n:].copy())
    return bool(np.count_nonzero((blocks[0] != blocks[1]).any(axis=(1, 2))) > most)
