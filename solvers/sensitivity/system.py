"""The KKT system of a solution, factored once, for many right-hand sides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajopt.errors import ModelEvaluationError
from trajopt.solvers.qp import StageQP
from trajopt.solvers.qp.newton import Newton
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic
from trajopt.solvers.riccati.riccati import RiccatiOutcome
from trajopt.solvers.riccati.weighted_rows import WeightedRows
from trajopt.types import Reals

STIFF = (1e6, 1e4, 1e2)  # weights of hard rows, relative to the Hessian, tried in turn: large ones hide it by rounding
TURNS = 40  # corrections at most; a few do where weights are large
ROUNDED = 1e-9  # residual beyond which smaller weights are tried, relative to the right-hand side
SMALL = 1e-13  # residual that needs no correction, relative to the right-hand side


@dataclass(frozen=True, eq=False)
class Change:
    """Solution of the KKT system: the change of a trajectory and of its multipliers.

    Attributes:
        dx: States (T + 1, n).
        du: Controls (T, m).
        lam: Multipliers of the dynamics (T + 1, n).
        y: Multipliers of the rows (T + 1, nc).
        residual: Residual of the system, relative to its right-hand side [-].
    """

    dx: Reals
    du: Reals
    lam: Reals
    y: Reals
    residual: float


class KKTSystem:
    """H z + Fᵀλ⁺ - λ + Cᵀy = -g,  dx⁺ = F z + f,  C z + r = δ y of active rows, for many (g, f, r).

    Args:
        lq: Hessians and Jacobians; its vectors are overwritten.
        C: Rows (T, nc, n + m).
        terminal_C: Rows at the end (nc, n).
        active: Mask of rows that hold as equations (T + 1, nc).
        delta: δ (T + 1, nc), 0 of hard rows, infinite of those whose multiplier is given.

    Raises:
        ModelEvaluationError: The Hessian is not positive definite along what is active.

    Attributes:
        K: Gains (T, m, n): du = ... - K dx.
    """

    def __init__(self, lq: LinearQuadratic, C: Reals, terminal_C: Reals, active: Reals, delta: Reals) -> None:
        self._lq, self._finite = lq, np.where(np.isfinite(delta), delta, 0.0)
        rows, nc = active.shape, active.shape[1]
        bound = np.where(active != 0.0, 0.0, np.inf)
        weighted = WeightedRows.zeros(lq, C, terminal_C, -bound, bound)
        self._active, self._rows, self._y, self._values = active, weighted, np.zeros(rows), np.zeros(rows)
        self._weights = weighted.weights
        self._newton = Newton(StageQP.zeros(lq, nc), weighted, self._y, self._values)
        self._newton.riccati.find_rows()
        size = float(np.abs(np.diagonal(lq.H, axis1=1, axis2=2)).max()) if lq.H.size else 1.0
        self._delta, self._size, self._smaller = delta, size, list(STIFF)
        while (outcome := self._factored(self._smaller.pop(0))).failure is not None and nc and self._smaller:
            pass
        if outcome.failure is not None:
            raise ModelEvaluationError(
                f"knot {outcome.failed_knot}: the Hessian of the Lagrangian is not positive definite along what is "
                "active, so the solution is no strict minimum and has no derivative there"
            )
        self.K = self._newton.riccati.K

    def _factored(self, factor: float) -> RiccatiOutcome:
        """Factorises with weights of hard rows that are a factor times the Hessian."""
        self._factor, delta = factor, self._delta
        stiff = np.divide(1.0, delta, out=np.full(delta.shape, factor * self._size), where=delta > 0.0)
        self._weights[:] = np.where(self._active != 0.0, stiff, 0.0)
        return self._newton.factor()

    def solve(self, running: Reals, end: Reals, gaps: Reals, missed: Reals, given: Reals) -> Change:
        """The solution for gradients g (T, n + m) and (n,), gaps f (T + 1, n), r (T + 1, nc), and given dy, which stay.

        Where one knot's Hessian is far larger than others', weights relative to it lose digits to rounding: smaller
        ones are tried.
        """
        best, factor = self._corrected(running, end, gaps, missed, given), self._factor
        while best.residual > ROUNDED and self._smaller:
            if self._factored(self._smaller.pop(0)).failure is not None:
                self._factored(factor)
                break
            best = min(best, self._corrected(running, end, gaps, missed, given), key=lambda each: each.residual)
        return best

    def _corrected(self, running: Reals, end: Reals, gaps: Reals, missed: Reals, given: Reals) -> Change:
        """The solution by the factors that there are.

        Steps are repeated for what is left, until nothing is gained: that corrects rounding, and finite weights.
        """
        lq, newton, y, weights = self._lq, self._newton, self._y, self._weights
        lq.g[:], lq.terminal_g[:], lq.f[:], y[:] = running, end, gaps, given
        newton.at.flat[:] = 0.0
        newton.residual.measure()
        size = max(newton.residual.stationarity, newton.residual.gap, float(np.abs(missed).max(initial=0.0)))
        best, kept = np.inf, (newton.at.flat.copy(), y.copy())
        for _ in range(TURNS):
            missing = np.where(weights > 0.0, self._values + missed - self._finite * y, 0.0)
            left = self._left(missing) / (size or 1.0)
            if not left < 0.9 * best:
                break
            best, kept = left, (newton.at.flat.copy(), y.copy())
            if left < SMALL:
                break
            np.multiply(weights, missing, out=self._rows.h)
            newton.riccati.solve()
            newton.forward()
            y += weights * (self._rows.values + missing)
            newton.move(1.0)
            newton.residual.measure()
        newton.at.flat[:], y[:] = kept
        at = newton.at
        return Change(at.dx.copy(), at.du.copy(), at.lam.copy(), y.copy(), best)

    def _left(self, missing: Reals) -> float:
        """Largest residual; that of the gradient relative to the pull of the rows where it is larger than 1."""
        residual = self._newton.residual
        return max(residual.stationarity / max(1.0, residual.pull), residual.gap, float(np.abs(missing).max(initial=0)))
