"""Constraint rows of a problem as SQP sees them: bounds, limits of controls, and rows that are switched off."""

from __future__ import annotations

import numpy as np

from trajopt.shooting.compiled import CompiledKind
from trajopt.shooting.evaluator import Evaluator
from trajopt.types import Reals


class ConstraintRows:
    """Bounds of all rows, and limits of the controls.

    A row that is one control but for a constant is hard: rollouts clip that control to its bounds. Rows that are free
    of u are switched off at knot 0, where the state is given.

    Args:
        evaluator: Whose rows they are; its rows and controls belong together.

    Attributes:
        lower: Lower bounds (T + 1, nc).
        upper: Upper bounds.
        hard: Mask of hard rows (T + 1, nc).
        u_lower: Lower limits of the controls (T, nu).
        u_upper: Upper limits.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        e = evaluator
        self.lower, self.upper = e.row_bounds()
        self.hard = np.zeros(self.lower.shape, dtype=np.bool_)
        self.u_lower, self.u_upper = np.full((e.T, e.nu), -np.inf), np.full((e.T, e.nu), np.inf)
        for kind in e.running:
            if isinstance(kind, CompiledKind) and kind.nc:
                self._find_limits(e, kind)
                if 0 in kind.knots:
                    off = np.flatnonzero(kind.model.rows_free_of_control)
                    self.lower[0, off], self.upper[0, off] = -np.inf, np.inf

    def _find_limits(self, e: Evaluator, kind: CompiledKind) -> None:
        knots, control = np.array(kind.knots), kind.model.rows_on_one_control
        for row in np.flatnonzero(control >= 0):
            j = control[row]
            constant = e.us[knots, j] - e.c[knots, row]
            self.u_lower[knots, j] = np.maximum(self.u_lower[knots, j], self.lower[knots, row] + constant)
            self.u_upper[knots, j] = np.minimum(self.u_upper[knots, j], self.upper[knots, row] + constant)
            self.hard[knots, row] = True

    def soft(self, values: Reals, instead: Reals | float = 0.0) -> Reals:
        """Values of soft rows, and others in place of those of hard ones."""
        return np.where(self.hard, instead, values)

    def penalized(self, c: Reals) -> Reals:
        """Rows c (T + 1, nc) with the hard ones within their bounds, where a penalty does not see them."""
        return self.soft(c, np.clip(c, self.lower, self.upper))

    def violation(self, c: Reals) -> float:
        """Largest violation at rows c (T + 1, nc)."""
        return float(np.abs(c - np.clip(c, self.lower, self.upper)).max(initial=0.0))

    def complementarity(self, c: Reals, y: Reals) -> float:
        """Largest product of a multiplier and the distance from its bound, of rows within their bounds."""
        distance = np.where(y > 0.0, self.upper - c, c - self.lower)
        product = np.abs(y) * np.clip(distance, 0.0, np.finfo(float).max)
        return float(product.max(initial=0.0))
