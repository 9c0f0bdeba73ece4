"""Rows that hold a solution: those at a bound, soft ones beyond it, and controls that a box solver holds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from trajopt.solvers.norms import largest
from trajopt.solvers.sensitivity.lagrangian import LagrangianDerivatives
from trajopt.types import Reals

Truth = npt.NDArray[np.bool_]

NEAR = 1e-4  # distance from a bound, relative where that is larger than 1, and multiplier relative to the largest
PAID = 1e-6  # part of a soft row's linear price that its multiplier may lack where there is a slack


@dataclass(frozen=True)
class ActiveRows:
    """Active constraint rows of a KKT system, C z + r = δ y.

    Attributes:
        side: 1 of a row at its upper bound, -1 at its lower one, 0 of a free row (T + 1, nc).
        slack: Mask of soft rows beyond a bound (T + 1, nc): their multiplier follows from the slack.
        weak: Mask of rows near a bound with next to no multiplier (T + 1, nc): the larger of the two decides.
    """

    side: Reals
    slack: Truth
    weak: Truth

    @classmethod
    def of(cls, at: LagrangianDerivatives, y: Reals, off: Truth) -> ActiveRows:
        """Returns the active rows of a solution.

        Args:
            at: First-order values of the solution.
            y: Multipliers of the solution (T + 1, nc).
            off: Mask of rows that nobody enforces (T + 1, nc).
        """
        above, below = (_distance(side * at.rows, side * b) for side, b in ((1.0, at.upper), (-1.0, at.lower)))
        pull = np.abs(y) / (largest(y) or 1.0)
        away = np.where(y > 0.0, above, np.where(y < 0.0, below, np.minimum(above, below)))
        held = (away < NEAR) & (pull > np.maximum(away, 0.0))
        equal = at.lower == at.upper
        side = np.where(equal, np.where(y < 0.0, -1.0, 1.0), np.where(held, np.sign(y), 0.0))
        side[off] = 0.0
        slack = (side != 0.0) & (np.abs(y) >= (1.0 - PAID) * at.linear)
        weak = (away < NEAR) & (pull < NEAR) & ~equal & ~off
        return cls(side, slack, weak)

    def with_weak(self, at: LagrangianDerivatives) -> ActiveRows:
        """Returns the same rows and the weak ones, each at its nearer bound."""
        above, below = (_distance(side * at.rows, side * b) for side, b in ((1.0, at.upper), (-1.0, at.lower)))
        nearer = np.where(above <= below, 1.0, -1.0)
        return replace(self, side=np.where(self.weak & (self.side == 0.0), nearer, self.side))

    def softened(self, at: LagrangianDerivatives) -> tuple[Reals, Truth]:
        """δ of all rows (T + 1, nc): 1 / weight of a slack, or 0. Also the mask of rows whose multiplier is fixed."""
        fixed = self.slack & (at.quadratic == 0.0)
        bends = self.slack & ~fixed
        return np.divide(1.0, at.quadratic, out=np.zeros_like(at.quadratic), where=bends), fixed

    def misses(self, at: LagrangianDerivatives, change: LagrangianDerivatives) -> tuple[Reals, Reals]:
        """Residuals r (T + 1, nc) of the active rows after a change, and the multipliers dy (T + 1, nc) that it fixes.

        Of a slack s = side (c - b) with y = side (linear + quadratic s), dy = quadratic (dc - db) + a with
        a = side (d linear + s d quadratic).

        Args:
            at: First-order values of the solution.
            change: Change of the first-order values, at the same trajectory.
        """
        bound, moved = (np.where(self.side > 0.0, each.upper, each.lower) for each in (at, change))
        r = np.where(self.side != 0.0, change.rows - moved, 0.0)
        if not np.any(self.slack):
            return r, np.zeros_like(r)
        delta, fixed = self.softened(at)
        s = np.where(self.slack, self.side * (at.rows - np.where(self.slack, bound, 0.0)), 0.0)
        a = np.where(self.slack, self.side * (change.linear + s * change.quadratic), 0.0)
        return r + a * delta, np.where(fixed, a, 0.0)


def _distance(rows: Reals, upper: Reals) -> Reals:
    """Distance of rows from their upper bounds, relative where those are larger than 1; inf where there is none."""
    finite = np.where(np.isfinite(upper), upper, 0.0)
    return np.where(np.isfinite(upper), (finite - rows) / np.maximum(1.0, np.abs(finite)), np.inf)
