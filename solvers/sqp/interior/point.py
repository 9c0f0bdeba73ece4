"""A point of the interior-point method: a trajectory with slacks and multipliers; and a direction from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajopt.solvers.sqp.interior.barrier import Barrier
from trajopt.types import Reals


@dataclass(frozen=True, eq=False, kw_only=True)
class Point:
    """A trajectory with slacks and multipliers.

    Rows and multipliers of the dynamics are those of the program, which has a stage more where the start is chosen.

    Attributes:
        xs: States (T + 1, nx).
        us: Controls (T, nu).
        cost: Scaled cost of the trajectory [cost].
        f: Gaps (T + 1, ndx).
        c: Rows (n, nc).
        barrier: Slacks and multipliers of the rows.
        lam: Multipliers of the dynamics (n, ndx).
    """

    xs: Reals
    us: Reals
    cost: float
    f: Reals
    c: Reals
    barrier: Barrier
    lam: Reals

    @property
    def residual(self) -> Reals:
        """Residuals (n, nc) of the rows: c - s for a row with slack s, c - target for an equation."""
        return self.barrier.bounds.residuals(self.c, self.barrier.slack)

    def gaps(self, states: Reals) -> float:
        """Σ |f| of the gaps f, relative to the sizes (ndx,) of the states."""
        return float(np.abs(self.f / states).sum())

    def infeasibility(self, states: Reals) -> float:
        """Infeasibility θ = Σ |f| + Σ |c - s| of gaps f and rows c, relative to sizes, (ndx,) of the states."""
        return self.gaps(states) + float(np.abs(self.residual / self.barrier.bounds.size).sum())

    @property
    def prices(self) -> Reals:
        """Products of gaps and residuals with their multipliers, one for each [cost]."""
        return np.concatenate([(self.barrier.y * self.residual).ravel(), (self.lam[-len(self.f) :] * self.f).ravel()])

    @property
    def lagrangian(self) -> float:
        """φ: cost and barrier, with the multipliers' part of gaps and residuals [cost]."""
        return self.cost + self.barrier.value(self.barrier.slack) + float(self.prices.sum())


@dataclass(frozen=True, eq=False, kw_only=True)
class Direction:
    """A Newton step from a point.

    Attributes:
        dx: States (T + 1, ndx).
        du: Controls (T, nu).
        dx0: Change of the start (ndx,), 0 where it is fixed.
        K: Gains of the controls by the states (T, nu, ndx).
        rows: Change of the rows (n, nc).
        ds: Change of the slacks (n, nc).
        dz: Newton's change of the multipliers of the bounds (2, n, nc).
        D: Weights of the rows: a further change of a row changes its multiplier by D times as much (n, nc).
        y: Multipliers of the rows after it (n, nc).
        lam: Multipliers of the dynamics after it (n, ndx).
        slope: Derivative of the Lagrangian along it [cost].
    """

    dx: Reals
    du: Reals
    dx0: Reals
    K: Reals
    rows: Reals
    ds: Reals
    dz: Reals
    D: Reals
    y: Reals
    lam: Reals
    slope: float
