"""Constraint rows of a problem as SQP sees them: bounds, limits of controls, and rows that are switched off."""

from __future__ import annotations

import numpy as np

from trajopt.analysis.constraints import HELD
from trajopt.shooting import ShootingProblem
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.kinds import Kind
from trajopt.solvers.norms import largest
from trajopt.solvers.qp.row_sizes import RowSizes
from trajopt.solvers.sqp.units import Units
from trajopt.types import Ints, Reals


def moved_start(problem: ShootingProblem) -> Ints | None:
    """Tangent coordinates of the start that a solver chooses; None for a fixed start.

    Left out are those with equal bounds, unless they share a rotation or a translation with others that may move.
    """
    start, state = problem.start, problem.state
    if start == "fixed":
        return None
    if isinstance(start, str):
        return np.arange(state.ndx)
    moved = start[0] < start[1]
    if moved.any() and not moved.all():
        J = state.functions["jdifference"].sparsity_out(1)
        rows, columns = np.array(J.row()), np.array(J.get_triplet()[1])
        while np.any(moved[rows] != moved[columns]):
            moved[rows] = moved[columns] = moved[rows] | moved[columns]
    return np.flatnonzero(moved)


def is_flat(problem: ShootingProblem, moved: Ints) -> bool:
    """Whether these coordinates of x ⊖ state.zero() change by those of dx, at a random state as at any other."""
    state = problem.state
    J = state.jdifference(state.zero(), state.rand(1), "second")
    return np.array_equal(J[moved], np.eye(state.ndx)[moved])


class RowBounds:
    """Bounds of all rows, limits of the controls, and bounds of a start that is to be chosen.

    A hard row that is one control but for a constant is a limit: steps keep it, and rollouts clip that control. Rows
    that are free of u are switched off at knot 0 where the state is given.

    Args:
        evaluator: Evaluator of the problem, with rows and controls of the same knots.
        problem: The problem.

    Attributes:
        lower: Lower bounds (T + 1, nc).
        upper: Upper bounds.
        soft_linear: Linear weights of slacks (T + 1, nc) [cost]; inf of hard rows.
        soft_quadratic: Quadratic weights of slacks (T + 1, nc) [cost].
        soft: Mask of soft rows (T + 1, nc).
        any_soft: Whether any row is soft.
        limits: Mask of rows that are limits of a control (T + 1, nc).
        general: Mask of rows that are neither soft nor limits (T + 1, nc).
        u_lower: Lower limits of the controls (T, nu).
        u_upper: Upper limits.
        excluded: Whether limits of a control exclude each other, so that no step keeps them.
        chosen: Whether the start is to be chosen.
        bounded: Whether the start has bounds.
        start_lower: Lower bounds of x_0 ⊖ state.zero() (ndx,), -inf where there is none.
        start_upper: Upper bounds.
    """

    def __init__(self, evaluator: Evaluator, problem: ShootingProblem) -> None:
        e = self._e = evaluator
        start = problem.start
        self.chosen, self.bounded = moved_start(problem) is not None, not isinstance(start, str)
        self.lower, self.upper = e.row_bounds()
        self.soft_linear, self.soft_quadratic = problem.row_softness()
        self.soft = np.isfinite(self.soft_linear)
        self.limits = np.zeros(self.lower.shape, dtype=np.bool_)
        self.u_lower, self.u_upper = np.full((e.T, e.nu), -np.inf), np.full((e.T, e.nu), np.inf)
        self.start_lower, self.start_upper = np.full(e.state.ndx, -np.inf), np.full(e.state.ndx, np.inf)
        if not isinstance(start, str):
            self.start_lower, self.start_upper = start
        for kind in e.running:
            if kind.nc:
                self._find_limits(e, kind)
        self.excluded = bool(np.any(self.u_lower - self.u_upper > HELD))
        if not self.chosen:
            self.lower[0, e.given_rows], self.upper[0, e.given_rows] = -np.inf, np.inf
        self._places = np.flatnonzero(self.limits)
        self.general, self.any_soft = ~self.limits & ~self.soft, bool(np.any(self.soft))
        self._sizes = RowSizes(self.lower, self.upper, self.soft) if self.lower.size else None
        self._start_size = np.ones(e.state.ndx)

    def follow(self, problem: ShootingProblem) -> bool:
        """Reads the current bounds and weights.

        Returns False if new arrays are needed: limits of controls, or the set of soft rows, have changed.
        """
        lower, upper = self._e.row_bounds()
        if not self.chosen:
            lower[0, self._e.given_rows], upper[0, self._e.given_rows] = -np.inf, np.inf
        pairs = (lower, self.lower), (upper, self.upper)
        if not all(np.array_equal(new.take(self._places), old.take(self._places)) for new, old in pairs):
            return False
        self.lower[:], self.upper[:] = lower, upper
        self.soft_linear[:], self.soft_quadratic[:] = problem.row_softness()
        return np.array_equal(self.soft, np.isfinite(self.soft_linear))

    def _find_limits(self, e: Evaluator, kind: Kind) -> None:
        control = kind.model.rows_on_one_control
        for row in np.flatnonzero(control >= 0):
            j, knots = control[row], np.array(kind.knots)
            knots = knots[~self.soft[knots, row]]
            constant = e.us[knots, j] - e.c[knots, row]
            self.u_lower[knots, j] = np.maximum(self.u_lower[knots, j], self.lower[knots, row] + constant)
            self.u_upper[knots, j] = np.minimum(self.u_upper[knots, j], self.upper[knots, row] + constant)
            self.limits[knots, row] = True

    def of_general(self, values: Reals) -> Reals:
        """Returns a copy of values (T + 1, nc) with 0 in rows that are soft or limits of a control."""
        return np.where(self.general, values, 0.0)

    def nearest(self, c: Reals) -> Reals:
        """Rows c (T + 1, nc) moved to within their bounds."""
        return np.minimum(np.maximum(c, self.lower), self.upper)  # half the time of np.clip on few rows

    def penalized(self, c: Reals) -> Reals:
        """Rows c (T + 1, nc) for a penalty on general rows only: other rows are clipped to their bounds."""
        return np.where(self.general, c, self.nearest(c))

    def beyond(self, c: Reals) -> Reals:
        """Violations (T + 1, nc) of hard rows c: positive above the upper bound, negative below the lower one."""
        if not c.size:
            return c
        beyond = c - self.nearest(c)
        if self.any_soft:
            beyond[self.soft] = 0.0
        return beyond

    def any_at_bounds(self, c: Reals, near: Reals) -> bool:
        """Whether general rows c (T + 1, nc) within their bounds are as near (T + 1, nc) to some of them."""
        return bool((self.general & (np.minimum(c - self.lower, self.upper - c) < near)).any())

    def slack_cost(self, c: Reals) -> float:
        """Cost of the slacks of soft rows at rows c (T + 1, nc) [cost]."""
        if not self.any_soft:
            return 0.0
        slack = np.abs(c - self.nearest(c))[self.soft]
        return float((self.soft_linear[self.soft] * slack + 0.5 * self.soft_quadratic[self.soft] * slack**2).sum())

    def sum_of_violations(self, c: Reals) -> float:
        """Sum Σ |v| of the relative violations v of hard rows c (T + 1, nc)."""
        return 0.0 if self._sizes is None else self._sizes.sum_of_violations(c)

    def relate(self, units: Units) -> None:
        """Makes violations and multipliers relative to these units."""
        self._start_size = units.states
        if self._sizes is not None:
            self._sizes.size[:] = units.rows

    def sizes(self, c: Reals, y: Reals, scale: float) -> tuple[float, float, float, float, float]:
        """Σ |v|, max |v| of relative violations v, largest violation, relative multiplier, and complementarity.

        The latter is the largest product of a multiplier and the distance from its bound, of rows within their bounds.
        Of soft rows beyond a bound it is that of the slack and what the multiplier misses of its price.

        Args:
            c: Rows (T + 1, nc).
            y: Multipliers (T + 1, nc).
            scale: Factor of the cost to which y belongs [1/cost].
        """
        nothing = 0.0, 0.0, 0.0, 0.0, 0.0
        total, relative, violation, multiplier, worst = nothing if self._sizes is None else self._sizes.all(c, y)
        if self.bounded:
            beyond = self.start_beyond()
            violation = max(violation, largest(beyond))
            relative = max(relative, largest(beyond / self._start_size))
        if self.any_soft:
            slack = np.abs(c - self.nearest(c))[self.soft]
            price = scale * (self.soft_linear[self.soft] + self.soft_quadratic[self.soft] * slack)
            worst = max(worst, float((slack * np.abs(price - np.abs(y[self.soft]))).max(initial=0.0)))
        return total, relative, violation, multiplier, worst

    def start_room(self) -> tuple[Reals, Reals]:
        """Distances of the bounds of the start from the evaluator's initial state (ndx,)."""
        at = self._e.state.difference(self._e.state.zero(), self._e.xs[0])
        return self.start_lower - at, self.start_upper - at

    def start_beyond(self) -> Reals:
        """Violation of the bounds of the start by the evaluator's initial state (ndx,)."""
        return -np.clip(0.0, *self.start_room()) if self.bounded else np.zeros(self._e.state.ndx)

    def within_start(self, x: Reals) -> Reals:
        """Returns a start x (nx,) moved to within its bounds."""
        state = self._e.state
        if not self.bounded:
            return x
        at = state.difference(state.zero(), x)
        clipped = np.clip(at, self.start_lower, self.start_upper)
        return x if np.array_equal(at, clipped) else state.integrate(state.zero(), clipped)

    def within_limits(self, du: Reals, us: Reals) -> Reals:
        """Returns steps du of the controls us (T, nu), clipped so that us + du stays within the limits."""
        return np.minimum(np.maximum(du, self.u_lower - us), self.u_upper - us)
