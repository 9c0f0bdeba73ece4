"""Primal-dual active-set method on a Riccati recursion: makes an approximate solution exact.

Hintermüller, Ito, Kunisch, The primal-dual active set strategy as a semismooth Newton method, 2003.
"""

from __future__ import annotations

import numpy as np

from trajopt.solvers.qp.condensed import CondensedRiccati
from trajopt.solvers.qp.residual import Iterate, Residual
from trajopt.solvers.qp.stage_qp import StageQP
from trajopt.types import Reals

PROXIMAL = 1e-7  # δ of hard rows; their multipliers are corrected REFINEMENTS times
REFINEMENTS = 4
CHANGES = 10  # of the active set at most


def polish(
    qp: StageQP, condensed: CondensedRiccati, at: Iterate, y: Reals, tolerance: float
) -> tuple[Iterate, Reals] | None:
    """The solution whose active rows hold as equations, and its multipliers; None if no active set is found.

    Args:
        qp: The program.
        condensed: Its recursion, which has the gains of the solution afterwards.
        at: An approximate solution.
        y: Its multipliers (T + 1, nc); a row is active if its multiplier is larger than the distance to its bound.
        tolerance: Largest violation of a row, and multiplier of the wrong sign.
    """
    equal = qp.lower == qp.upper
    rows = at.rows(qp)
    upper, lower = equal | ((y > 0.0) & (y > qp.upper - rows)), ~equal & (y < 0.0) & (-y > rows - qp.lower)
    found, multipliers = Iterate(at.dx.copy(), at.du.copy(), at.lam.copy()), y.copy()
    for _ in range(CHANGES):
        multipliers = np.where(upper | lower, multipliers, 0.0)
        bound = np.where(upper, qp.upper, np.where(lower, qp.lower, 0.0))
        if not _solve(qp, condensed, found, multipliers, upper | lower, bound):
            return None
        rows = found.rows(qp)
        soft = qp.delta * (multipliers - qp.y_ref)
        above, below = rows - soft - qp.upper > tolerance, qp.lower - (rows - soft) > tolerance
        leave = ~equal & ((upper & (multipliers < -tolerance)) | (lower & (multipliers > tolerance)))
        free = ~upper & ~lower
        if not np.any(leave | (free & (above | below))):
            return found, multipliers
        upper, lower = (upper & ~leave) | (free & above), (lower & ~leave) | (free & below & ~above)
    return None


def _solve(qp: StageQP, condensed: CondensedRiccati, found: Iterate, y: Reals, active: Reals, bound: Reals) -> bool:
    """Moves to the solution with these rows as equations; whether there is one."""
    weights = np.where(active, 1.0 / np.where(qp.delta > 0.0, qp.delta, PROXIMAL), 0.0)
    if condensed.factor(weights).failure is not None:
        return False
    for _ in range(1 + REFINEMENTS):
        missing = np.where(active, found.rows(qp) - bound - qp.delta * (y - qp.y_ref), 0.0)
        residual = Residual(qp, found, y)
        step = condensed.solve(residual.running, residual.end, residual.dynamics, weights * missing)
        y += weights * (step.rows(qp) + missing)
        found.move(1.0, step)
    return True
