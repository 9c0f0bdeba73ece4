"""Linear rows of one knot that exclude each other: a proof that no motion satisfies all constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.basics import runs
from trajopt.analysis.constraints import HELD, ConstraintRows, Flags, places_of
from trajopt.errors import TrajoptError
from trajopt.types import Ints, Reals

if TYPE_CHECKING:
    from trajopt.shooting.problem import ShootingProblem
    from trajopt.solution import Solution

MOST = 3
"""Largest number of contradictions that are reported [-]."""
EXCLUDE = "they exclude each other"
"""Words that each sentence has."""
MOVE = 0.3
"""Size of the random step along which a linear row follows its gradient, relative to coordinates larger than 1 [-]."""
ROUNDING = 1e-9
"""Difference of numbers that are equal up to rounding, relative to numbers larger than 1 [-]."""


def contradictions(solution: Solution) -> tuple[str, ...]:
    """Returns a sentence for each set of hard linear rows that exclude each other at one knot; empty if there is none.

    The rows a + G (dx, du) of a knot exclude each other if multipliers y >= 0 of their bounds exist with Gᵀ y = 0 and
    bᵀ y < 0 (Farkas' lemma); b are the distances from the bounds.

    Args:
        solution: The solution, with its problem.
    """
    hard = [rows for rows in solution.description.constraints if not rows.soft]
    if not any((rows.violated & rows.enforced).any() for rows in hard):
        return ()
    try:
        with solution.as_solved() as problem:
            linear = _LinearRows.of(problem, solution.xs, solution.us, hard)
    except TrajoptError:  # a black box fails on the trajectory, or next to it
        return ()
    sentences, left = list[str](), linear.violated
    while left.any() and len(sentences) < MOST:
        knot = int(left.argmax())
        left[knot] = False
        y = linear.multipliers(knot)
        if y is not None:
            knots = linear.excluded(*y)
            left &= ~knots
            sentences.append(_sentence(solution, linear.rows, knots, np.flatnonzero(y[0]), np.flatnonzero(y[1])))
    return tuple(sentences)


@dataclass(frozen=True, kw_only=True, eq=False)
class _LinearRows:
    """Hard rows of all knots, with gradients of unit length.

    Attributes:
        rows: Constraint and number of each row (m,).
        usable: Whether a row is linear and enforced (T + 1, m).
        violated: Whether a knot violates a usable row (T + 1,).
        G: Gradients by state and control (T + 1, m, ndx + nu).
        below: Distances from the lower bounds (T + 1, m); inf without a bound.
        above: Distances from the upper bounds.
    """

    rows: Sequence[tuple[ConstraintRows, int]]
    usable: Flags
    violated: Flags
    G: Reals
    below: Reals
    above: Reals

    @classmethod
    def of(cls, problem: ShootingProblem, xs: Reals, us: Reals, hard: Sequence[ConstraintRows]) -> _LinearRows:
        """Rows of these constraints at a trajectory."""
        d, rng = problem.calc_diff(xs, us), np.random.default_rng(0)
        dx = MOVE * rng.standard_normal((len(xs), problem.state.ndx))
        du = MOVE * rng.standard_normal(us.shape) * np.maximum(1.0, np.abs(us))
        dx *= np.maximum(1.0, np.abs(np.array([problem.state.difference(problem.state.zero(), x) for x in xs])))
        all_G = np.concatenate([d.Cx, np.zeros((*d.rows.shape, problem.nu))], axis=2)
        all_G[:-1, :, problem.state.ndx :] = d.Cu[: len(us)]
        moved = problem.calc(np.array([problem.state.integrate(x, step) for x, step in zip(xs, dx)]), us + du).rows
        steps = np.concatenate([dx, np.append(du, np.zeros((1, problem.nu)), axis=0)], axis=1)
        expected = d.rows + np.einsum("tij,tj->ti", all_G, steps)
        near = np.abs(moved - expected) <= ROUNDING * np.maximum(1.0, np.abs(expected))  # False for NaN

        def gathered(array: Reals) -> Reals:
            """Array (T + 1, nc, ...) of the problem, by the rows of the constraints (T + 1, m, ...)."""
            return np.concatenate([_of_constraint(problem, each, array) for each in hard], axis=1)

        G = gathered(all_G)
        size = np.linalg.norm(G, axis=2)
        enforced = np.concatenate([each.enforced for each in hard], axis=1)
        usable = (gathered(near.astype(float)) > 0.0) & enforced & (size > ROUNDING)
        size[~usable] = 1.0
        values, lower, upper = (
            np.concatenate([getattr(each, name) for each in hard], axis=1) for name in ("values", "lower", "upper")
        )
        return cls(
            rows=[(each, row) for each in hard for row in range(len(each.rows))],
            usable=usable,
            violated=(np.concatenate([each.violated for each in hard], axis=1) & usable).any(axis=1),
            G=G / size[:, :, None],
            below=(values - lower) / size,
            above=(upper - values) / size,
        )

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


def _of_constraint(problem: ShootingProblem, rows: ConstraintRows, array: Reals) -> Reals:
    """Rows of one constraint (T + 1, n, ...) from an array of all rows (T + 1, nc, ...); 0 where a knot lacks them."""
    own = np.zeros((len(array), len(rows.rows), *array.shape[2:]))
    for kind, place in places_of(problem, rows.name):
        knots = list(kind.knots)
        own[knots, : place.stop - place.start] = array[knots, place]
    return own


def _sentence(
    solution: Solution, rows: Sequence[tuple[ConstraintRows, int]], knots: Flags, low: Ints, high: Ints
) -> str:
    """Sentence on a contradiction: rows, knots, bounds, and the cure.

    Args:
        solution: The solution.
        rows: Constraint and number of each row (m,).
        knots: Knots of the contradiction (T + 1,).
        low: Rows whose lower bounds take part.
        high: Rows whose upper bounds take part.
    """
    knot, sides = int(knots.argmax()), [*(("lower", i) for i in low), *(("upper", i) for i in high)]
    named = " and ".join(rows[i][0].title(rows[i][1]) for i in sorted({i for _, i in sides}))
    controls = {rows[i][0].controls[rows[i][1]] for _, i in sides}
    shared = controls.pop() if len(controls) == 1 else -1
    bounds = []
    for side, i in sides:
        own, row = rows[i]
        bound = float(getattr(own, side)[knot, row])
        if shared >= 0:
            bound += float(solution.us[knot, shared] - own.values[knot, row])
        about = "" if shared >= 0 else f"{own.title(row)} should be "
        sign = "=" if own.equations[knot, row] else ">=" if side == "lower" else "<="
        bounds.append(f"{about}{sign} {bound:g}{f' {own.units[row]}' if own.units[row] else ''}")
    about = f"control {solution.control_names[shared]!r} should be " if shared >= 0 else ""
    return (
        f"constraints {named} at knot{'s' if knots.sum() > 1 else ''} {runs(np.flatnonzero(knots))}: {EXCLUDE}, "
        f"{about}{' and '.join(bounds)}; widen one of them with problem.set_parameter"
    )
