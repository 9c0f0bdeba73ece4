"""Primal-dual active-set method on a Riccati recursion: makes an approximate solution exact.

Hintermüller, Ito, Kunisch, The primal-dual active set strategy as a semismooth Newton method, 2003.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from trajopt.solvers.qp.newton import Newton
from trajopt.solvers.qp.stage_qp import StageQP
from trajopt.solvers.weighted_rows import WeightedRows
from trajopt.types import Reals

Truth = npt.NDArray[np.bool_]

PROXIMAL = 1e-7  # δ of hard rows; their multipliers are corrected REFINEMENTS times
REFINEMENTS = 4
CHANGES = 10  # of the active set at most


class ActiveSet:
    """Computes the exact solution of a program, in which active rows hold as equations.

    A row is free, or on a bound, or, if it is soft, beyond one by its slack, from which its multiplier follows.

    Args:
        qp: The program; its arrays must not move.
        rows: Weighted rows of the program; their lists of active rows are used.

    Attributes:
        y: Multipliers (T + 1, nc).
        values: Rows C z (T + 1, nc).
        newton: The iterate, and the recursion that has the gains of the solution afterwards.
    """

    def __init__(self, qp: StageQP, rows: WeightedRows) -> None:
        self._qp = qp
        self.y, self.values = np.zeros(qp.lower.shape), np.zeros(qp.lower.shape)
        weights, h, step = (np.zeros(qp.lower.shape) for _ in range(3))
        self._rows = replace(rows, weights=weights, h=h, values=step)
        self.newton = Newton(qp, self._rows, self.y, self.values)

    def polish(self, tolerance: float) -> bool:
        """Moves to the solution; False if no active set is found, then the iterate is any.

        Args:
            tolerance: Largest violation of a row, and multiplier of the wrong sign.
        """
        qp, y = self._qp, self.y
        equal, soft = qp.lower == qp.upper, np.isfinite(qp.soft_linear)
        side = np.where(equal, np.where(y < 0.0, -1.0, 1.0), 0.0)
        side[~equal & (y > 0.0) & (y > qp.upper - self.values)] = 1.0
        side[~equal & (y < 0.0) & (-y > self.values - qp.lower)] = -1.0
        slack = soft & (side != 0.0) & (self._beyond(side) > qp.soft_linear - np.abs(y))
        for _ in range(CHANGES):
            y[side == 0.0] = 0.0
            if not self._solve(side, slack):
                return False
            beyond = self._beyond(side)
            held = (side != 0.0) & ~slack
            leave = held & ~equal & (side * y < -tolerance)
            give = held & soft & (np.abs(y) > qp.soft_linear + tolerance)
            back = slack & (beyond < -tolerance)
            near = self._near()
            above, below = near - qp.upper > tolerance, qp.lower - near > tolerance
            enter = (side == 0.0) & (above | below)
            if not np.any(leave | give | back | enter):
                return self._is_solved(side, slack, tolerance)
            side = np.where(enter, np.where(above, 1.0, -1.0), np.where(leave, 0.0, side))
            side[give & equal] = np.sign(y)[give & equal]
            slack = (slack & ~back) | (give & ~leave)
        return False

    def _is_solved(self, side: Reals, slack: Truth, tolerance: float) -> bool:
        """Whether active rows hold as equations; those that exclude one another never do."""
        residual = self.newton.residual
        kept = np.abs(self._missing(side, slack)).max(initial=0.0) < tolerance
        return bool(kept) and residual.stationarity < max(1.0, residual.pull) * tolerance

    def _near(self) -> Reals:
        """Rows without what δ lets them pass."""
        return self.values - self._qp.delta * (self.y - self._qp.y_ref)

    def _beyond(self, side: Reals) -> Reals:
        """By how much rows are beyond the bounds of these sides."""
        bound = np.where(side > 0.0, self._qp.upper, np.where(side < 0.0, self._qp.lower, 0.0))
        return side * (self._near() - bound)

    def _missing(self, side: Reals, slack: Truth) -> Reals:
        """By how much active rows miss their equations; none of those whose multiplier is given."""
        qp, y = self._qp, self.y
        give, fixed = self._give(slack)
        linear = np.where(slack, qp.soft_linear, 0.0)
        return np.where((side != 0.0) & ~fixed, side * self._beyond(side) - give * (y - side * linear), 0.0)

    def _give(self, slack: Truth) -> tuple[Reals, Truth]:
        """Slack by multiplier, 1 / soft_quadratic; and whether a row's slack leaves its multiplier as it is."""
        quadratic = self._qp.soft_quadratic
        fixed = slack & (quadratic == 0.0)
        return np.divide(1.0, quadratic, out=np.zeros_like(quadratic), where=slack & ~fixed), fixed

    def _solve(self, side: Reals, slack: Truth) -> bool:
        """Moves to the solution with these rows as equations; whether there is one."""
        qp, y, newton = self._qp, self.y, self.newton
        give, fixed = self._give(slack)
        delta = qp.delta + give
        weights = np.where((side != 0.0) & ~fixed, 1.0 / np.where(delta > 0.0, delta, PROXIMAL), 0.0)
        y[fixed] = side[fixed] * qp.soft_linear[fixed]
        self._rows.weights[:] = weights
        newton.residual.measure()
        for turn in range(1 + REFINEMENTS):
            missing = self._missing(side, slack)
            np.multiply(weights, missing, out=self._rows.h)
            if turn == 0 and newton.factor().failure is not None:
                return False
            if turn > 0:
                newton.riccati.solve()
            newton.forward()
            y += weights * (self._rows.values + missing)
            newton.move(1.0)
            newton.residual.measure()
        return True
