"""Linear rows of a problem and linear coordinates of its dynamics, and multipliers that prove a contradiction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.constraints import HELD, ConstraintRows, Flags, places_of
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.shooting.problem import ShootingProblem
    from trajopt.shooting.values import ProblemDerivatives, ProblemValues

MOVES = (0.3, 30.0, -30.0)
"""Sizes of random steps along which a linear row follows its gradient, relative to coordinates larger than 1 [-].

Far ones to both sides meet a kink, such as that of a friction, at some knot.
"""
ROUNDING = 1e-9
"""Difference of numbers that are equal up to rounding, relative to numbers larger than 1 [-]."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearRows:
    """Hard rows of all knots, with gradients of unit length, and the dynamics, each linear or not.

    Attributes:
        rows: Constraint and number of each row (m,).
        usable: Whether a row is linear and enforced (T + 1, m).
        curved: Whether a row is enforced and violated, but not linear (T + 1, m).
        complete: Whether all enforced rows and all dynamics are linear.
        violated: Whether a knot violates a usable row (T + 1,).
        G: Gradients by state and control (T + 1, m, ndx + nu).
        sizes: Length of the gradients before (T + 1, m).
        below: Distances from the lower bounds (T + 1, m); inf without a bound.
        above: Distances from the upper bounds.
        F: Derivatives of the next states by state and control (T, ndx, ndx + nu).
        f: Gaps (T + 1, ndx).
        follows: Whether a coordinate of a next state is linear (T, ndx).
        at: States (T + 1, nx) and controls (T, nu) of the trajectory.
    """

    rows: Sequence[tuple[ConstraintRows, int]]
    usable: Flags
    curved: Flags
    complete: bool
    violated: Flags
    G: Reals
    sizes: Reals
    below: Reals
    above: Reals
    F: Reals
    f: Reals
    follows: Flags
    at: tuple[Reals, Reals]

    @classmethod
    def of(cls, problem: ShootingProblem, xs: Reals, us: Reals, hard: Sequence[ConstraintRows]) -> LinearRows:
        """Rows of these constraints, and dynamics, at a trajectory."""
        d = problem.calc_diff(xs, us)
        all_G = np.concatenate([d.Cx, np.zeros((*d.rows.shape, problem.nu))], axis=2)
        all_G[:-1, :, problem.state.ndx :] = d.Cu[: len(us)]
        F = np.concatenate([d.Fx, d.Fu], axis=2)
        near, follows = _linear(problem, (xs, us), d, all_G, F)

        def all_of(name: str) -> Reals:
            return np.concatenate([getattr(each, name) for each in hard], axis=1)

        G = _gathered(problem, hard, all_G)
        sizes = np.linalg.norm(G, axis=2)
        enforced, violated = (all_of(name).astype(bool) for name in ("enforced", "violated"))
        linear = _gathered(problem, hard, near.astype(float)) > 0.0
        usable = linear & enforced & (sizes > ROUNDING)
        sizes[~usable] = 1.0
        values, lower, upper = (all_of(name) for name in ("values", "lower", "upper"))
        return cls(
            rows=[(each, row) for each in hard for row in range(len(each.rows))],
            usable=usable,
            curved=enforced & violated & ~linear,
            complete=bool(np.all(linear | ~enforced) and np.all(follows)),
            violated=(violated & usable).any(axis=1),
            G=G / sizes[:, :, None],
            sizes=sizes,
            below=(values - lower) / sizes,
            above=(upper - values) / sizes,
            F=F,
            f=d.gaps,
            follows=follows,
            at=(xs, us),
        )

    def gathered(self, problem: ShootingProblem, array: Reals) -> Reals:
        """Array (T + 1, nc, ...) of the problem, by these rows (T + 1, m, ...)."""
        return _gathered(problem, [each for each, row in self.rows if row == 0], array)

    @property
    def may_exclude(self) -> Flags:
        """Knots (T + 1,) that violate a usable row, and whose usable rows depend on each other."""
        knots = np.flatnonzero(self.violated)
        used = self.usable[knots]
        ranks = np.linalg.matrix_rank(np.where(used[:, :, None], self.G[knots], 0.0), tol=1e3 * ROUNDING)
        found = self.violated.copy()
        found[knots] = ranks < used.sum(axis=1)
        return found

    def multipliers(self, knot: int) -> tuple[Reals, Reals] | None:
        """Multipliers (m,) of lower and upper bounds that prove a contradiction of a knot; None if there is none.

        They are dual to the least t >= 0 by which all bounds have to be widened: min t, G z - t <= b.
        """
        from scipy.optimize import linprog

        lower, upper = (np.flatnonzero(self.usable[knot] & np.isfinite(d[knot])) for d in (self.below, self.above))
        A = np.concatenate([-self.G[knot, lower], self.G[knot, upper]])
        b = np.concatenate([self.below[knot, lower], self.above[knot, upper]])
        n = A.shape[1]
        cost, bounds = np.append(np.zeros(n), 1.0), [(None, None)] * n + [(0.0, None)]
        widened = np.column_stack([A, -np.ones(len(A))])
        found = linprog(cost, A_ub=widened, b_ub=b, bounds=bounds, method="highs")
        if found.status != 0 or found.fun <= HELD:
            return None
        y = np.where(-found.ineqlin.marginals > ROUNDING, -found.ineqlin.marginals, 0.0)
        both = np.zeros((2, len(self.rows)))
        both[0, lower], both[1, upper] = y[: len(lower)], y[len(lower) :]
        return both[0], both[1]

    def excluded(self, low: Reals, high: Reals) -> Flags:
        """Knots (T + 1,) at which these multipliers (m,) of lower and upper bounds prove a contradiction."""
        used = (low > 0.0) | (high > 0.0)
        rest = np.einsum("tij,i->tj", np.where(used[:, None], self.G, 0.0), high - low)
        b = self.below[:, low > 0.0] @ low[low > 0.0] + self.above[:, high > 0.0] @ high[high > 0.0]
        same = np.abs(rest).max(axis=1, initial=0.0) <= 1e3 * ROUNDING
        return self.usable[:, used].all(axis=1) & same & (b < -HELD)


def random_steps(problem: ShootingProblem, at: tuple[Reals, Reals], size: float) -> tuple[Reals, Reals]:
    """Random steps of states (T + 1, ndx) and controls (T, nu), relative to coordinates larger than 1."""
    (xs, us), state, rng = at, problem.state, np.random.default_rng(0)
    dx = size * rng.standard_normal((len(xs), state.ndx))
    du = size * rng.standard_normal(us.shape) * np.maximum(1.0, np.abs(us))
    zero = state.zero()
    return dx * np.maximum(1.0, np.abs(np.array([state.difference_unchecked(zero, x) for x in xs]))), du


def moved(problem: ShootingProblem, at: tuple[Reals, Reals], dx: Reals, du: Reals) -> ProblemValues:
    """Values of the problem after steps of states (T + 1, ndx) and controls (T, nu)."""
    xs, us = at
    return problem.calc(np.array([problem.state.integrate_unchecked(x, step) for x, step in zip(xs, dx)]), us + du)


def _linear(
    problem: ShootingProblem, at: tuple[Reals, Reals], d: ProblemDerivatives, G: Reals, F: Reals
) -> tuple[Flags, Flags]:
    """Whether rows (T + 1, nc), and coordinates of all next states (T, ndx), follow their gradients G and F."""
    near, follows = np.ones(d.rows.shape, dtype=np.bool_), np.ones(F.shape[:2], dtype=np.bool_)
    for size in MOVES:
        dx, du = random_steps(problem, at, size)
        there = moved(problem, at, dx, du)
        steps = np.concatenate([dx, np.append(du, np.zeros((1, problem.nu)), axis=0)], axis=1)
        expected = d.rows + np.einsum("tij,tj->ti", G, steps)
        near &= np.abs(there.rows - expected) <= ROUNDING * np.maximum(1.0, np.abs(expected))  # False for NaN
        terms = np.abs(F) @ np.abs(steps[:-1, :, None])
        gaps = d.gaps[1:] + (F @ steps[:-1, :, None])[:, :, 0] - dx[1:]
        follows &= np.abs(there.gaps[1:] - gaps) <= ROUNDING * np.maximum(1.0, terms[:, :, 0])
    return near, follows & follows.all(axis=0)


def _gathered(problem: ShootingProblem, hard: Sequence[ConstraintRows], array: Reals) -> Reals:
    """Array (T + 1, nc, ...) of the problem, by the rows of the constraints (T + 1, m, ...)."""
    return np.concatenate([_of_constraint(problem, each, array) for each in hard], axis=1)


def _of_constraint(problem: ShootingProblem, rows: ConstraintRows, array: Reals) -> Reals:
    """Rows of one constraint (T + 1, n, ...) from an array of all rows (T + 1, nc, ...); 0 where a knot lacks them."""
    own = np.zeros((len(array), len(rows.rows), *array.shape[2:]))
    for kind, place in places_of(problem, rows.name):
        knots = list(kind.knots)
        own[knots, : place.stop - place.start] = array[knots, place]
    return own
