"""The first control, moved to where constraint rows hold at the measured state."""

from __future__ import annotations

import numpy as np

from trajopt.mpc.limits import Limits
from trajopt.shooting.evaluator import Evaluator
from trajopt.solvers.linear_quadratic import LinearQuadratic
from trajopt.solvers.qp import InteriorPoint, QPStatus, StageQP
from trajopt.types import Reals

HELD = 1e-6  # violation that is left


class FirstControl:
    """Minimises ½ Σ Luu_ii du_i² subject to the rows of the first knot, linearised at the measured state.

    The program of a real-time iteration has the rows of the predicted state. After a push they miss by the curvature
    along x; along u many rows, such as contact forces, have none, so that this step is exact.

    Args:
        evaluator: Of the problem.
        limits: Of the problem.
    """

    def __init__(self, evaluator: Evaluator, limits: Limits) -> None:
        e = self._e = evaluator
        self._limits = limits
        self._qp = StageQP.zeros(LinearQuadratic.zeros(1, 1, e.nu), e.nc)
        self._interior = InteriorPoint(self._qp)

    def prepare(self) -> None:
        """Compiles what it runs."""
        if self._e.nc:
            self._interior.prepare()

    def missed(self, c: Reals) -> bool:
        """Whether hard rows c (nc,) of the first knot that depend on more than one control do not hold."""
        rows = self._limits.rows
        general = rows.general[0]
        if not general.any():
            return False
        beyond = np.maximum(rows.lower[0] - c, c - rows.upper[0])
        return bool((beyond > HELD)[general].any())

    def step(self, x: Reals, u: Reals, c: Reals) -> Reals | None:
        """Change (nu,) of a control at a state, where the rows are c (nc,); None if there is none that holds them."""
        e, qp, rows = self._e, self._qp, self._limits.rows
        held = rows.general[0] | rows.limits[0]
        qp.C[0, :, 1:] = self._derivative(x, u)
        qp.lower[0] = np.where(held, rows.lower[0] - c, -np.inf)
        qp.upper[0] = np.where(held, rows.upper[0] - c, np.inf)
        weights = np.abs(np.diagonal(e.H[0])[e.state.ndx :])
        largest = float(weights.max(initial=0.0))
        np.einsum("ii->i", qp.lq.H[0])[1:] = np.maximum(weights / largest, 1e-6) if largest > 0.0 else 1.0
        found = self._interior.solve()
        return found.du[0] if found.status in (QPStatus.SOLVED, QPStatus.ROUNDING) else None

    def _derivative(self, x: Reals, u: Reals) -> Reals:
        """Derivative of the rows by the control there (nc, nu); the evaluator is left as it was."""
        e = self._e
        before = e.xs[0].copy(), e.us[0].copy()
        e.xs[0], e.us[0] = x, u
        e.expand_first()
        found = e.C[0, :, e.state.ndx :].copy()
        e.xs[0], e.us[0] = before
        e.expand_first()
        return found
