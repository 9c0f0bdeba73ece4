"""Correction of the first control, so that constraint rows hold at the measured state."""

from __future__ import annotations

import numpy as np

from trajopt.solvers.qp import InteriorPoint, QPStatus, StageQP
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic
from trajopt.solvers.sqp.real_time.evaluation import PlanEvaluator
from trajopt.solvers.sqp.real_time.limits import Limits
from trajopt.types import Reals

HELD = 1e-6  # accepted violation


class FirstControl:
    """Minimises ½ Σ Luu_ii du_i² subject to the rows of the first knot, linearised at the measured state.

    The program of a real-time iteration has rows linearised at the predicted state. After a push their error is their
    curvature along x. Along u many rows are linear, such as contact forces, so that this step is exact.

    Args:
        judge: Evaluator of plans.
        limits: Limits of the problem.
    """

    def __init__(self, judge: PlanEvaluator, limits: Limits) -> None:
        self._e, self._judge, self._limits = judge.trial.evaluator, judge, limits
        self._qp = StageQP.zeros(LinearQuadratic.zeros(1, 1, self._e.nu), self._e.nc)
        self._interior = InteriorPoint(self._qp)

    def prepare(self) -> None:
        """Compiles the code that it runs."""
        if self._e.nc:
            self._interior.prepare()

    def hold(self, x: Reals) -> bool:
        """Corrects the first control of the evaluated plan where it misses a hard row that depends on several controls.

        Args:
            x: The measured state (nx,).

        Returns:
            Whether all values are finite; a plan that no correction helps stays as it is.
        """
        trial, limits, rows = self._judge.trial, self._limits, self._limits.rows
        beyond = np.maximum(rows.lower[0] - trial.c[0], trial.c[0] - rows.upper[0])
        if not (beyond > HELD)[rows.general[0]].any() or (du := self._step(x, trial.us[0], trial.c[0])) is None:
            return True
        u = np.minimum(np.maximum(trial.us[0] + du, limits.lower[0]), limits.upper[0])
        trial.du[0] = u - self._e.us[0]
        return self._judge.look()

    def _step(self, x: Reals, u: Reals, c: Reals) -> Reals | None:
        """Correction (nu,) of control u at state x with rows c (nc,); None if no correction satisfies the rows."""
        e, qp, rows = self._e, self._qp, self._limits.rows
        held = rows.general[0] | rows.limits[0]
        qp.C[0, :, 1:] = self._derivative(x, u)
        qp.lower[0] = np.where(held, rows.lower[0] - c, -np.inf)
        qp.upper[0] = np.where(held, rows.upper[0] - c, np.inf)
        weights = np.abs(np.diagonal(e.H[0])[e.state.ndx :])
        largest = float(weights.max(initial=0.0))
        np.einsum("ii->i", qp.lq.H[0])[1:] = np.maximum(weights / largest, 1e-6) if largest > 0.0 else 1.0
        solution = self._interior.solve()
        return solution.du[0] if solution.status in (QPStatus.SOLVED, QPStatus.ROUNDING) else None

    def _derivative(self, x: Reals, u: Reals) -> Reals:
        """Derivative of the rows by the control at x and u (nc, nu); the evaluator is restored."""
        e = self._e
        before = e.xs[0].copy(), e.us[0].copy()
        e.xs[0], e.us[0] = x, u
        e.expand_first()
        derivative = e.C[0, :, e.state.ndx :].copy()
        e.xs[0], e.us[0] = before
        e.expand_first()
        return derivative
