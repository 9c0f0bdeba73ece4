"""Merit of steps: the augmented Lagrangian of rollouts, cost and infeasibility of linear steps."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trajopt.shooting.evaluator import Evaluator
from trajopt.solvers.qp import QPSolution
from trajopt.solvers.sqp.progress import SQPProgress
from trajopt.solvers.sqp.rows import RowBounds
from trajopt.types import Reals

DECREASE = 1e-4  # part of the promised decrease of the merit that must come with the Hessian of the Lagrangian, and
DECREASE_GAUSS_NEWTON = 0.1  # with Gauss-Newton's: full steps to a mirrored point bring none
ROUNDING = 1e-12  # increase of the merit that rounding may bring, relative to it
LEAST_MERIT = 1e-3  # of which rounding is counted


@dataclass(slots=True)  # not frozen, see `QPSolution`
class Taken:
    """Step that a search has accepted.

    Attributes:
        length: Step length [-].
        xs: States (T + 1, nx).
        us: Controls (T, nu).
        c: Constraint rows (T + 1, nc).
        merit: The merit after it.
        step: Solution of the quadratic program, of which the step is a part.
        expanded: Whether the evaluator is at the accepted trajectory, with derivatives.
    """

    length: float
    xs: Reals
    us: Reals
    c: Reals
    merit: float
    step: QPSolution
    expanded: bool = False


def merit(run: SQPProgress, rows: RowBounds, cost: float, c: Reals) -> float:
    """Scaled cost and slacks, of rollouts with the augmented Lagrangian of rows c (T + 1, nc); inf if no number."""
    if not math.isfinite(cost):
        return math.inf
    if not c.size or (run.linear and not rows.any_soft):
        return run.scale * cost
    with np.errstate(over="ignore", invalid="ignore"):
        reached = run.scale * (cost + rows.slack_cost(c))
        if not run.linear:
            reached += run.penalty.value(rows.penalized(c))
    return reached if math.isfinite(reached) else math.inf


def merit_slope(run: SQPProgress, rows: RowBounds, e: Evaluator, step: QPSolution) -> float:
    """Derivative of the merit function along a step, at the evaluator's trajectory.

    For slacks it is the change of their cost.
    """
    n = e.state.ndx
    cost = np.vdot(e.g[:, :n], step.dx[:-1]) + np.vdot(e.g[:, n:], step.du) + e.terminal_g @ step.dx[-1]
    slacks = rows.slack_cost(e.c + step.rows) - rows.slack_cost(e.c) if rows.any_soft else 0.0
    slope = run.scale * (float(cost) + slacks)
    if run.linear:
        return slope
    return slope + float((run.penalty.gradient(rows.penalized(e.c)) * rows.of_general(step.rows)).sum())


def promised_merit(run: SQPProgress, rows: RowBounds, e: Evaluator, step: QPSolution) -> float:
    """Predicted merit after a full step, by Gauss-Newton's model of the cost and linear rows."""
    cost = float(e.cost + _by_model(e.g, e.H, np.hstack([step.dx[:-1], step.du])))
    cost += float(_by_model(e.terminal_g, e.terminal_H, step.dx[-1]))
    return merit(run, rows, cost, e.c + step.rows)


def _by_model(g: Reals, H: Reals, d: Reals) -> float:
    """Σ gᵀd + ½ dᵀHd, of the lower triangles of H."""
    curved = (np.tril(H) @ d[..., None])[..., 0] - 0.5 * np.einsum("...ii->...i", H) * d
    return float(np.vdot(g + curved, d))


def sufficient(run: SQPProgress, before: float, slope: float, length: float) -> float:
    """Largest acceptable merit after a step of this length (Armijo's rule), with a margin for rounding errors."""
    part = DECREASE if run.blend > 0.0 else DECREASE_GAUSS_NEWTON
    return before + part * length * min(slope, 0.0) + ROUNDING * max(LEAST_MERIT, abs(before))


def infeasibility(gaps: float, violations: float) -> float:
    """Σ |f| + Σ |v|, sums of gaps f and of violations v of rows; infinite if no number."""
    found = gaps + violations
    return found if math.isfinite(found) else math.inf
