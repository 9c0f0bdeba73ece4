"""Constraints on states between the knots, where no solver enforces them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.constraints import ConstraintRows, bodies_of, places_of
from trajopt.constraints.row_block import constraint_of, row_name
from trajopt.errors import TrajoptError
from trajopt.residuals import ResidualModelCollisions, ResidualModelObstacleDistance, ResidualModelPairDistance
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.shooting.problem import ShootingProblem
    from trajopt.solution import Solution

SHARES = (0.25, 0.5, 0.75)
"""Fractions of a step at which the rows are evaluated [-]."""
_DISTANCES = (ResidualModelCollisions, ResidualModelPairDistance, ResidualModelObstacleDistance)
LEAST = 1e-3
"""Excess below which a violation between knots is not reported, see docs/concepts/constraints.md [unit of the row]."""


@dataclass(frozen=True, kw_only=True)
class ViolatedBetween:
    """Constraint that holds at two knots and is violated between them.

    Attributes:
        name: Name of the constraint.
        row: Name of its most violated row, such as "hand and table"; empty if it has one row.
        unit: Unit of the row; empty if unknown.
        knot: Knot before the violation [-].
        excess: Largest violation, at one of a few states between the knots [unit of the row].
        margin: Least distance that the row keeps; 0 for rows that are no distances [m].
    """

    name: str
    row: str
    unit: str
    knot: int
    excess: float
    margin: float = 0.0

    @property
    def title(self) -> str:
        """Constraint and row, such as "collisions[hand and table]"."""
        return row_name(self.name, self.row) if self.row else self.name

    @property
    def size(self) -> str:
        """The violation with its unit, and with the margin that it takes up."""
        size = f"{self.excess:.2g} {self.unit}".rstrip()
        if not self.margin > 0.0:
            return size
        return f"{size} {'of' if self.excess < self.margin else 'beyond'} its margin of {self.margin:.3g} m"


def violated_between(solution: Solution, problem: ShootingProblem) -> tuple[ViolatedBetween, ...]:
    """Hard inequalities on states that are violated between knots, the worst step of each constraint.

    Rows are those of the knot before, at states on the geodesic to the next one. Where they do not hold at the next
    state, as those of an obstacle that moves, the step is left out, and so are bounds that one of both knots lacks. Of
    the bounds that the knots of a model have, the widest counts: one that is tighter at single knots is a reserve, such
    as `Plan.optimise` adds for the steps beside them.

    Args:
        solution: The solution.
        problem: Its problem, with the parameters of the solve.
    """
    chosen = [(rows, steps) for rows in solution.description.constraints if (steps := _steps(rows, problem)).any()]
    if not chosen:
        return ()
    try:
        after = _excesses(solution, problem, 1.0, chosen)
        middle = [_excesses(solution, problem, share, chosen) for share in SHARES]
    except TrajoptError:  # a model has no value at a state between knots
        return ()
    found = []
    for i, (rows, _) in enumerate(chosen):
        ends = np.maximum(rows.violations[:-1].max(axis=1), after[i][0].max(axis=1))
        most = [each[i][0].max(axis=1) - ends for each in middle]
        share, knot = (int(k) for k in np.unravel_index(np.argmax(most), np.shape(most)))
        excess, bodies = middle[share][i]
        row = int(excess[knot].argmax())
        if most[share][knot] > LEAST:
            name = bodies[knot][row] if bodies else rows.rows[row] if len(rows.rows) > 1 else ""
            least = float(rows.lower[knot, row]) if _apart(problem, rows.name) else 0.0
            size, own = {"excess": float(excess[knot, row]), "margin": max(least, 0.0)}, rows.units[row]
            found.append(ViolatedBetween(name=rows.name, row=name, unit=own, knot=knot, **size))
    return tuple(sorted(found, key=lambda each: -each.excess))


def _apart(problem: ShootingProblem, name: str) -> bool:
    """Whether the rows of a constraint are distances between bodies."""
    constraint = constraint_of(name)
    residuals = [kind.model.constraints[constraint].residual for kind, _ in places_of(problem, name)]
    return all(isinstance(each, _DISTANCES) for each in residuals)


def _steps(rows: ConstraintRows, problem: ShootingProblem) -> Reals:
    """Mask (T, n) of the steps on which a row is an inequality on states; a coordinate is never beyond its ends."""
    missing = np.isnan(rows.values)
    bounded = (np.isfinite(rows.lower) | np.isfinite(rows.upper)) & (rows.lower < rows.upper) & ~missing
    after = bounded[1:].copy()
    after[-1:] |= missing[-1:]
    of_states = np.zeros_like(bounded)
    for kind, place in places_of(problem, rows.name):
        of_states[list(kind.knots), : place.stop - place.start] = problem.table.rows.free[list(kind.knots), place]
    straight = np.array(rows.coordinates) >= 0
    at_knots = not rows.soft and constraint_of(rows.name) == rows.name  # rows of stages read another state
    return np.asarray(bounded[:-1] & after & of_states[:-1] & ~straight & at_knots)


Excess = tuple[Reals, tuple[tuple[str, ...], ...]]


def _excesses(
    solution: Solution, problem: ShootingProblem, share: float, chosen: Sequence[tuple[ConstraintRows, Reals]]
) -> list[Excess]:
    """Violation (T, n) of each chosen constraint at a fraction of the steps, and the bodies of collision rows."""
    state, xs = problem.state, solution.xs
    steps = [state.difference_unchecked(a, b) for a, b in itertools.pairwise(xs)]
    between = [state.integrate_unchecked(x, share * dx) for x, dx in zip(xs, steps)]
    v = problem.calc(np.array([*between, xs[-1]]), solution.us)
    excesses: list[Excess] = []
    for rows, mask in chosen:
        table = np.zeros(rows.values.shape)
        for kind, place in places_of(problem, rows.name):
            at, n = list(kind.knots), place.stop - place.start
            values, lower, upper = v.rows[at, place], _lowest(v.lower[at, place]), -_lowest(-v.upper[at, place])
            table[at, :n] = np.maximum(np.maximum(lower - values, values - upper), 0.0)
        bodies = bodies_of(problem, rows.name) if rows.bodies else ()
        excesses.append((np.where(mask, table[:-1], 0.0), bodies))
    return excesses


def _lowest(bounds: Reals) -> Reals:
    """Lowest of the bounds (knots, n) that are finite (n,); -inf where there is none."""
    lowest = np.min(bounds, axis=0, where=np.isfinite(bounds), initial=np.inf)
    return np.where(np.isfinite(lowest), lowest, -np.inf)
