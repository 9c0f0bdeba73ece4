"""Constraints between the knots, where no solver enforces them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trajopt.actions.integrated.base import IntegratedActionModelAbstract
from trajopt.analysis.constraints import ConstraintRows, Flags, bodies_of, places_of
from trajopt.analysis.within_steps import WithinSteps
from trajopt.constraints.row_block import constraint_of, row_name
from trajopt.errors import TrajoptError
from trajopt.residuals import ResidualModelCollisions, ResidualModelObstacleDistance, ResidualModelPairDistance
from trajopt.residuals.friction_cone import ResidualModelConeAbstract, beyond_cone
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.shooting.problem import ShootingProblem
    from trajopt.solution import Solution

SHARES = (0.25, 0.5, 0.75)
"""Fractions of a step at which the rows are evaluated [-]."""
_DISTANCES = (ResidualModelCollisions, ResidualModelPairDistance, ResidualModelObstacleDistance)
LEAST = 1e-3
"""Excess below which a violation between knots is not reported, see docs/concepts/constraints.md [unit of the row]."""
PART = 0.01
"""Such an excess relative to half of the width of the bounds, or to a single bound [-]."""
FORCES = ("N", "N m")
"""Units of rows whose values tell the size of an excess where the bound is 0."""


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
        coordinate: Whether the row bounds a single coordinate.
        stages: Whether rows at the stages of the integrator are possible and not in use.
    """

    name: str
    row: str
    unit: str
    knot: int
    excess: float
    margin: float = 0.0
    coordinate: bool = False
    stages: bool = False

    @property
    def title(self) -> str:
        """Constraint and row, such as "collisions[hand and table]"."""
        return row_name(self.name, self.row) if self.row else self.name

    @property
    def places(self) -> str:
        """Both knots, such as "16 and 17"."""
        return f"{self.knot} and {self.knot + 1}"

    @property
    def size(self) -> str:
        """The violation with its unit, and with the margin that it takes up."""
        size = f"{self.excess:.2g} {self.unit}".rstrip()
        if not self.margin > 0.0:
            return size
        return f"{size} {'of' if self.excess < self.margin else 'beyond'} its margin of {self.margin:.3g} m"


def violated_between(solution: Solution, problem: ShootingProblem) -> tuple[ViolatedBetween, ...]:
    """Hard inequalities that hold at knots and are violated between them, the worst step of each constraint.

    The worst is the largest excess relative to the bound, see `PART`, as units differ; so is the order of constraints.

    Rows are those of the knot before, at states of the model within its step, or on the geodesic to the next state
    where the next state does not follow from the step. Controls are held, but for those on which neither the motion nor
    an equation depends, such as those of a separating line, which change linearly to the next knot.

    A row that depends on a held control may be violated up to the end of the step. Other rows count where they hold at
    both ends: for an obstacle that moves, the step is left out, and so are bounds that one of both knots lacks. Of the
    bounds that the knots of a model have, the widest counts: one that is tighter at single knots is a reserve, such as
    `Plan.optimise` adds for the steps beside them. Rows of a friction pyramid count where the force leaves the friction
    cone as well, as the default pyramid lies inside the cone.

    Args:
        solution: The solution.
        problem: Its problem, with the parameters of the solve.
    """
    rows = [each for each in solution.description.constraints if _is_at_knots(each)]
    if not rows:
        return ()
    try:
        return _found(rows, problem, WithinSteps(problem, solution.xs, solution.us))
    except TrajoptError:  # a model has no value at a state between knots
        return ()


def _found(
    constraints: Sequence[ConstraintRows], problem: ShootingProblem, within: WithinSteps
) -> tuple[ViolatedBetween, ...]:
    auxiliary = within.auxiliary_controls()
    masks = [_steps(rows, problem, within, auxiliary) for rows in constraints]
    chosen = [(rows, *mask) for rows, mask in zip(constraints, masks) if any(steps.any() for steps in mask)]
    if not chosen:
        return ()
    middle = [_excesses(problem, within, share, auxiliary, [rows for rows, _, _ in chosen]) for share in (*SHARES, 1.0)]
    found: list[tuple[float, ViolatedBetween]] = []
    for i, (rows, of_states, of_controls) in enumerate(chosen):
        ends = np.maximum(rows.violations[:-1].max(axis=1), np.where(of_states, middle[-1][i][0], 0.0).max(axis=1))
        excesses = [np.where(of_states | of_controls, each[i][0], 0.0) for each in middle[:-1]]
        excesses.append(np.where(of_controls, middle[-1][i][0], 0.0))
        negligible = _negligible(rows)
        beyond = (np.array(excesses) - ends[:, None]) / negligible
        share, knot, row = (int(k) for k in np.unravel_index(np.argmax(beyond), beyond.shape))
        if beyond[share, knot, row] > 1.0:
            bodies = middle[share][i][1]
            least = float(rows.lower[knot, row]) if _apart(problem, rows.name) else 0.0
            each = ViolatedBetween(
                name=rows.name,
                row=bodies[knot][row] if bodies else rows.rows[row] if len(rows.rows) > 1 else "",
                unit=rows.units[row],
                knot=knot,
                excess=float(excesses[share][knot, row]),
                margin=max(least, 0.0),
                coordinate=rows.coordinates[row] >= 0,
                stages=may_have_stages(problem.running[knot]),
            )
            found.append((each.excess / negligible[knot, row], each))
    return tuple(each for _, each in sorted(found, key=lambda item: -item[0]))


def _apart(problem: ShootingProblem, name: str) -> bool:
    """Whether the rows of a constraint are distances between bodies."""
    constraint = constraint_of(name)
    residuals = [kind.model.constraints[constraint].residual for kind, _ in places_of(problem, name)]
    return all(isinstance(each, _DISTANCES) for each in residuals)


def _is_at_knots(rows: ConstraintRows) -> bool:
    """Whether hard rows have the states of knots; rows of stages have other ones."""
    return not rows.soft and constraint_of(rows.name) == rows.name


def _negligible(rows: ConstraintRows) -> Reals:
    """Excess (T, n) that is not reported: `PART` of half the width of the bounds, or of the size of a single one.

    Symmetric bounds are ± half of their width. Where that is 0, it is `PART` of the largest value of a force; it is
    `LEAST` at least.
    """
    lower, upper = rows.lower[:-1], rows.upper[:-1]
    bounds = np.where(np.isfinite(lower), np.abs(lower), 0.0) + np.where(np.isfinite(upper), np.abs(upper), 0.0)
    size = np.where(np.isfinite(upper - lower), 0.5 * (upper - lower), bounds)
    forces = np.array([unit in FORCES for unit in rows.units])
    largest = np.max(np.abs(rows.values), axis=0, where=np.isfinite(rows.values), initial=0.0)
    return np.asarray(np.maximum(PART * np.where((size == 0.0) & forces, largest, size), LEAST))


def may_have_stages(model: object) -> bool:
    """Whether a model is an integrator with stages at which rows may hold as well, and does not have them there yet."""
    if not isinstance(model, IntegratedActionModelAbstract) or model.rows == "stages":
        return False
    return len(model.stage_times) > 1 and model.stage_nu == model.nu


def _steps(
    rows: ConstraintRows, problem: ShootingProblem, within: WithinSteps, auxiliary: Flags
) -> tuple[Flags, Flags]:
    """Masks (T, n) of the steps on which a row is an inequality on states, and on controls that are held.

    Models whose equations hold at the start of a step only have no row on held controls within it.
    """
    missing = np.isnan(rows.values)
    bounded = (np.isfinite(rows.lower) | np.isfinite(rows.upper)) & (rows.lower < rows.upper) & ~missing
    after = bounded[1:].copy()
    after[-1:] |= missing[-1:]
    held, apart = np.zeros_like(bounded), np.zeros_like(bounded)
    for kind, place in places_of(problem, rows.name):
        knots = list(kind.knots)
        if not kind.terminal:
            slopes = np.where(auxiliary[knots, None], 0.0, within.at_knots.Cu[knots, place])
            held[knots, : place.stop - place.start] = (slopes != 0.0).any(axis=(0, 2))
            apart[knots] = kind.model.stage_nu != kind.model.nu
    of_controls = bounded[:-1] & held[:-1] & ~apart[:-1] & within.timed[:, None]
    return bounded[:-1] & after & ~held[:-1], of_controls


Excess = tuple[Reals, tuple[tuple[str, ...], ...]]


def _excesses(
    problem: ShootingProblem,
    within: WithinSteps,
    share: float,
    auxiliary: Flags,
    constraints: Sequence[ConstraintRows],
) -> list[Excess]:
    """Violation (T, n) of each constraint at a share of the steps, and the bodies of collision rows."""
    us = within.controls(share, 1.0 - share)
    us += np.where(auxiliary, share * (np.concatenate([us[1:], us[-1:]]) - us), 0.0)
    v = problem.calc(np.concatenate([within.states(share), within.xs[-1:]]), us)
    excesses: list[Excess] = []
    for rows in constraints:
        table = np.zeros(rows.values.shape)
        for kind, place in places_of(problem, rows.name):
            at, n = list(kind.knots), place.stop - place.start
            values, lower, upper = v.rows[at, place], _lowest(v.lower[at, place]), -_lowest(-v.upper[at, place])
            table[at, :n] = np.maximum(np.maximum(lower - values, values - upper), 0.0)
            residual = kind.model.constraints[rows.name].residual
            if isinstance(residual, ResidualModelConeAbstract):
                sides = slice(0, residual.cone.facets)
                beyond = np.maximum(beyond_cone(residual.cone, v.rows[at, place]), 0.0)
                table[at, sides] = np.minimum(table[at, sides], beyond[:, None])
        excesses.append((table[:-1], bodies_of(problem, rows.name) if rows.bodies else ()))
    return excesses


def _lowest(bounds: Reals) -> Reals:
    """Lowest of the bounds (knots, n) that are finite (n,); -inf where there is none."""
    lowest = np.min(bounds, axis=0, where=np.isfinite(bounds), initial=np.inf)
    return np.where(np.isfinite(lowest), lowest, -np.inf)
