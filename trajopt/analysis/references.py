"""Cost terms and constraints of a problem, and references for points of the robot, knot by knot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from trajopt.actions.base import ActionModelAbstract
from trajopt.analysis.basics import check_solution
from trajopt.constraints.constraint import Constraint
from trajopt.costs.cost_stack import CostTerm
from trajopt.residuals import (
    ResidualModelCoMPosition,
    ResidualModelFramePlacement,
    ResidualModelFrameTranslation,
    ResidualModelObstacleDistance,
    ResidualModelPairDistance,
)
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.shooting import ShootingProblem
    from trajopt.solution import Solution

_TOLERANCE = 0.1  # bounds this close to the middle are a tolerance around a goal; wider ones a region [m, rad]


Item = CostTerm | Constraint
"""What asks something of a knot."""

PLACED = (ResidualModelFramePlacement, ResidualModelFrameTranslation)
"""Residuals that ask a frame to be at a place."""


def items_of(model: ActionModelAbstract) -> tuple[Item, ...]:
    """Cost terms and constraints of an action model, running or terminal."""
    return (*model.model_parts.terms, *model.constraints.constraints)


def items_of_all(problem: ShootingProblem) -> tuple[Item, ...]:
    """Those of all knots, costs before constraints, one for each name of either."""
    models = list({id(model): model for model in (*problem.running, problem.terminal)}.values())
    terms = [term for model in models for term in model.model_parts.terms]
    constraints = [constraint for model in models for constraint in model.constraints.constraints]
    return (*_one_of_each_name(terms), *_one_of_each_name(constraints))


def _one_of_each_name(items: Iterable[Item]) -> Iterable[Item]:
    found: dict[str, Item] = {}
    for item in items:
        found.setdefault(item.name, item)
    return found.values()


def distances_of(solution: Solution) -> tuple[list[Item], Mapping[str, Reals]]:
    """Costs and constraints of distances between bodies, and the values of parameters; none without its problem."""
    kinds = (ResidualModelObstacleDistance, ResidualModelPairDistance)
    found = [item for item in check_solution(solution).description.items if isinstance(item.residual, kinds)]
    return found, knot_values(solution) if found else {}


def knot_values(solution: Solution) -> Mapping[str, Reals]:
    """Run-time parameters of the solve by name, one row per knot 0..T; NaN at knots without the parameter."""
    problem = solution.problem
    assert problem is not None
    found = {}
    for name, rows in {**problem.parameter_values(), **solution.parameters}.items():
        if name in problem.parameters:
            values = np.asarray(rows, dtype=np.float64)
            found[name] = np.full((problem.T + 1, *values.shape[1:]), np.nan)
            found[name][list(problem.parameters[name].knots)] = values
    return found


def asked_values(item: Item, values: Mapping[str, Reals]) -> Reals:
    """Value that a cost term or a constraint asks its residual to have, shape (T + 1, nr) or (T + 1, 1) [its unit].

    A term asks for 0 where its weight is > 0. A constraint asks for the middle of its bounds where they are equal, or
    a tolerance: at most 0.1 to either side. NaN elsewhere.

    Args:
        item: The term or the constraint.
        values: Parameters of the solution, from `knot_values`.
    """
    if f"{item.name}.weight" in values:
        return np.where(values[f"{item.name}.weight"] > 0, 0.0, np.nan)[:, None]
    lower, upper = (values[f"{item.name}.{key}"] for key in ("lower", "upper"))
    with np.errstate(invalid="ignore"):
        return np.where((upper - lower) / 2 <= _TOLERANCE, (upper + lower) / 2, np.nan)


def frame_points(item: Item, values: Mapping[str, Reals]) -> Reals:
    """Points that a cost term or a constraint asks a frame, or the centre of mass, to be at, shape (T + 1, 3) [m].

    NaN at knots without one. A constraint counts where it asks for all three coordinates, in the axes of its reference
    for a placement.

    Args:
        item: The term or the constraint; its residual is of a translation, a placement, or the centre of mass.
        values: Parameters of the solution, from `knot_values`.
    """
    import pinocchio as pin

    reference, asked = values[f"{item.name}.reference"], asked_values(item, values)
    asked = np.broadcast_to(asked, (len(asked), max(asked.shape[1], 3)))
    if reference.ndim == 2:
        return np.asarray(reference + asked[:, :3])
    points = np.full((len(asked), 3), np.nan)
    for t in np.flatnonzero(np.isfinite(asked[:, :3]).all(axis=1)):
        turn = asked[t, 3:] if asked.shape[1] == 6 else np.zeros(3)
        if np.isfinite(turn).all() or not asked[t, :3].any():  # without a turn the frame's axes are free
            twist = np.concatenate([asked[t, :3], np.nan_to_num(turn)])
            points[t] = reference[t, :, 3] + reference[t, :, :3] @ pin.exp6(twist).translation
    return points


def frame_references(solution: Solution, frame: str, values: Mapping[str, Reals]) -> Reals:
    """Reference positions of a frame, shape (T + 1, 3) [m]; NaN at knots where no term or constraint asks for one.

    Args:
        solution: The solution.
        frame: Name of the frame.
        values: Parameters of the solution, from `knot_values`.
    """
    items = [i for i in solution.description.items if isinstance(i.residual, PLACED) and i.residual.frame == frame]
    return _asked(len(solution.xs), items, values)


def com_references(solution: Solution, values: Mapping[str, Reals]) -> Reals:
    """Reference positions of the centre of mass, shape (T + 1, 3) [m]; NaN as in `frame_references`."""
    items = [item for item in solution.description.items if isinstance(item.residual, ResidualModelCoMPosition)]
    return _asked(len(solution.xs), items, values)


def _asked(knots: int, items: list[Item], values: Mapping[str, Reals]) -> Reals:
    """Points (knots, 3) that the first item which asks for one asks for."""
    asked = np.full((knots, 3), np.nan)
    for item in items:
        points = frame_points(item, values)
        here = np.isfinite(points).all(axis=1) & np.isnan(asked[:, 0])
        asked[here] = points[here]
    return asked
