"""Merit of steps: cost and slacks, of rollouts with an augmented Lagrangian of the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from trajopt.shooting.evaluator import Evaluator
from trajopt.solvers.qp import QPSolution
from trajopt.solvers.sqp.rows import RowBounds
from trajopt.types import Reals

DECREASE = 1e-4  # part of the promised decrease of the merit that must come with the Hessian of the Lagrangian, and
DECREASE_GAUSS_NEWTON = 0.1  # with Gauss-Newton's: full steps to a mirrored point bring none
ROUNDING = 1e-12  # increase of the merit that rounding may bring, relative to it
LEAST_MERIT = 1e-3  # of which rounding is counted


@dataclass(slots=True)  # not frozen, see `QPSolution`
class Taken:
    """Trial of a step, and step that a search has accepted.

    Attributes:
        length: Step length [-].
        xs: States (T + 1, nx).
        us: Controls (T, nu).
        c: Constraint rows (T + 1, nc).
        merit: The merit after it.
        step: Solution of the quadratic program, of which the step is a part.
        infeasibility: Sum of gaps and violations after a step along a line, see `Workspace.infeasibility`.
    """

    length: float
    xs: Reals
    us: Reals
    c: Reals
    merit: float
    step: QPSolution
    infeasibility: float = 0.0


@dataclass(frozen=True, eq=False)
class Merit:
    """Scaled cost and slacks, with penalties Σ ½ (μ r² - y²/μ) of general rows c where these are weighed.

    Here r = c + y/μ - proj(c + y/μ), with the projection onto lower <= c <= upper. The gradient by c is μ r, the
    first-order update of the multipliers y: positive at an upper bound, negative at a lower one.

    Source: Rockafellar, Augmented Lagrange multiplier functions, 1974; Nocedal, Wright, Numerical Optimization, 17.4.

    Attributes:
        rows: Bounds of the rows.
        scale: Factor of the cost [1/cost].
        y: Multipliers (T + 1, nc), 0 of rows that are not general.
        mu: Penalty weights μ (T + 1, nc), > 0; empty where a filter judges the rows.
    """

    rows: RowBounds
    scale: float
    y: Reals = field(default_factory=lambda: np.zeros((0, 0)))
    mu: Reals = field(default_factory=lambda: np.zeros((0, 0)))

    def gradient(self, c: Reals) -> Reals:
        """Gradient of the penalties by the rows, μ r (T + 1, nc), at rows c (T + 1, nc)."""
        moved = self.rows.penalized(c) + self.y / self.mu
        return self.mu * (moved - self.rows.nearest(moved))

    def value(self, cost: float, c: Reals) -> float:
        """The merit at a cost and rows c (T + 1, nc); infinite if it is no number."""
        if not math.isfinite(cost):
            return math.inf
        if not c.size or (not self.mu.size and not self.rows.any_soft):
            return self.scale * cost
        with np.errstate(over="ignore", invalid="ignore"):
            reached = self.scale * (cost + self.rows.slack_cost(c))
            if self.mu.size:
                reached += float(((self.gradient(c) ** 2 - self.y**2) / (2.0 * self.mu)).sum())
        return reached if math.isfinite(reached) else math.inf

    def slope(self, e: Evaluator, step: QPSolution) -> float:
        """Derivative along a step, at the evaluator's trajectory; for slacks it is the change of their cost."""
        n, rows = e.state.ndx, self.rows
        cost = np.vdot(e.g[:, :n], step.dx[:-1]) + np.vdot(e.g[:, n:], step.du) + e.terminal_g @ step.dx[-1]
        slacks = rows.slack_cost(e.c + step.rows) - rows.slack_cost(e.c) if rows.any_soft else 0.0
        slope = self.scale * (float(cost) + slacks)
        if not self.mu.size:
            return slope
        return slope + float((self.gradient(e.c) * rows.of_general(step.rows)).sum())

    def promised(self, e: Evaluator, step: QPSolution) -> float:
        """Predicted merit after a full step, by Gauss-Newton's model of the cost and linear rows."""
        cost = float(e.cost + _by_model(e.g, e.H, np.hstack([step.dx[:-1], step.du])))
        cost += float(_by_model(e.terminal_g, e.terminal_H, step.dx[-1]))
        return self.value(cost, e.c + step.rows)


def _by_model(g: Reals, H: Reals, d: Reals) -> float:
    """Σ gᵀd + ½ dᵀHd, of the lower triangles of H."""
    curved = (np.tril(H) @ d[..., None])[..., 0] - 0.5 * np.einsum("...ii->...i", H) * d
    return float(np.vdot(g + curved, d))


@dataclass(slots=True)  # not frozen, see `QPSolution`
class Descent:
    """A step from the trajectory of an evaluator, and what the merit promises along it.

    Attributes:
        step: Solution of the quadratic program.
        merit: The merit.
        before: The merit at the start of the step.
        slope: Derivative of the merit along the step.
        exact: Whether the Hessian of the program has a part of the Lagrangian's.
    """

    step: QPSolution
    merit: Merit
    before: float
    slope: float
    exact: bool

    @classmethod
    def along(cls, step: QPSolution, merit: Merit, e: Evaluator, *, exact: bool) -> Descent:
        """A step from the evaluator's trajectory."""
        return cls(step, merit, merit.value(e.cost, e.c), merit.slope(e, step), exact)

    def enough(self, length: float) -> float:
        """Largest acceptable merit after a step of this length (Armijo's rule), with a margin for rounding errors."""
        part = DECREASE if self.exact else DECREASE_GAUSS_NEWTON
        rounding = ROUNDING * max(LEAST_MERIT, abs(self.before))
        return self.before + part * length * min(self.slope, 0.0) + rounding

    def is_flat(self, part: float) -> bool:
        """Whether the slope is less than this part of the merit, or of a typical cost."""
        return abs(self.slope) < part * max(1.0, abs(self.before))
