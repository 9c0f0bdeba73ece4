"""Cost terms and constraints of a problem, and references of robot points at each knot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from trajopt.actions.base import ActionModelAbstract
from trajopt.analysis.basics import check_solution
from trajopt.constraints.constraint import Constraint
from trajopt.costs.cost_stack import CostTerm
from trajopt.residuals import (
    ResidualModelCollisions,
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

_TOLERANCE = 0.1  # half widths of bounds up to this are a tolerance around a goal; wider ones a region [m, rad]


Item = CostTerm | Constraint
"""A cost term or a constraint."""

PLACED = (ResidualModelFramePlacement, ResidualModelFrameTranslation)
"""Residuals that ask a frame to be at a place."""


def items_of(model: ActionModelAbstract) -> tuple[Item, ...]:
    """Returns the cost terms and constraints of a running or terminal action model."""
    return (*model.model_parts.terms, *model.constraints.constraints)


def items_of_all(problem: ShootingProblem) -> tuple[Item, ...]:
    """Returns the cost terms and constraints of all knots, costs first, with one item for each name."""
    models = list({id(model): model for model in (*problem.running, problem.terminal)}.values())
    terms = [term for model in models for term in model.model_parts.terms]
    constraints = [constraint for model in models for constraint in model.constraints.constraints]
    return (*_one_of_each_name(terms), *_one_of_each_name(constraints))


def _one_of_each_name(items: Iterable[Item]) -> Iterable[Item]:
    first: dict[str, Item] = {}
    for item in items:
        first.setdefault(item.name, item)
    return first.values()


def distances_of(solution: Solution) -> tuple[list[Item], Mapping[str, Reals]]:
    """Returns costs and constraints on distances, and parameter values; empty for a solution without problem."""
    kinds = (ResidualModelCollisions, ResidualModelObstacleDistance, ResidualModelPairDistance)
    items = [item for item in check_solution(solution).description.items if isinstance(item.residual, kinds)]
    return items, knot_values(solution) if items else {}


def knot_values(solution: Solution) -> Mapping[str, Reals]:
    """Returns the run-time parameters of the solve by name, one row per knot 0..T; NaN at knots without one."""
    problem = solution.problem
    assert problem is not None
    tables = {}
    for name, rows in {**problem.parameter_values(), **solution.parameters}.items():
        if name in problem.parameters:
            values = np.asarray(rows, dtype=np.float64)
            tables[name] = np.full((problem.T + 1, *values.shape[1:]), np.nan)
            tables[name][list(problem.parameters[name].knots)] = values
    return tables


def asked_values(item: Item, values: Mapping[str, Reals]) -> Reals:
    """Returns the target of a residual in a cost term or constraint, shape (T + 1, nr) or (T + 1, 1) [its unit].

    The target of a cost term is 0 where its weight is > 0. The target of a constraint is the middle of its bounds if
    they are equal or at most 0.1 to either side. Otherwise it is NaN.

    Args:
        item: The cost term or constraint.
        values: Parameters of the solution, from `knot_values`.
    """
    if f"{item.name}.weight" in values:
        return np.where(values[f"{item.name}.weight"] > 0, 0.0, np.nan)[:, None]
    lower, upper = (values[f"{item.name}.{key}"] for key in ("lower", "upper"))
    with np.errstate(invalid="ignore"):
        return np.where((upper - lower) / 2 <= _TOLERANCE, (upper + lower) / 2, np.nan)


def frame_points(item: Item, values: Mapping[str, Reals]) -> Reals:
    """Returns target positions of a frame or the centre of mass in a cost term or constraint, shape (T + 1, 3) [m].

    They are NaN at knots without a target. A constraint counts if it fixes all three coordinates; for a placement
    these are in the axes of its reference.

    Args:
        item: The cost term or constraint, with a residual of a translation, a placement, or the centre of mass.
        values: Parameters of the solution, from `knot_values`.
    """
    import pinocchio as pin

    reference, target = values[f"{item.name}.reference"], asked_values(item, values)
    target = np.broadcast_to(target, (len(target), max(target.shape[1], 3)))
    if reference.ndim == 2:
        return np.asarray(reference + target[:, :3])
    points = np.full((len(target), 3), np.nan)
    for t in np.flatnonzero(np.isfinite(target[:, :3]).all(axis=1)):
        turn = target[t, 3:] if target.shape[1] == 6 else np.zeros(3)
        if np.isfinite(turn).all() or not target[t, :3].any():  # an offset needs axes with a fixed rotation
            twist = np.concatenate([target[t, :3], np.nan_to_num(turn)])
            points[t] = reference[t, :, 3] + reference[t, :, :3] @ pin.exp6(twist).translation
    return points


def frame_references(solution: Solution, frame: str, values: Mapping[str, Reals]) -> Reals:
    """Returns reference positions of a frame, shape (T + 1, 3) [m]; NaN at knots without a cost or constraint on it.

    Args:
        solution: The solution.
        frame: Name of the frame.
        values: Parameters of the solution, from `knot_values`.
    """
    items = [i for i in solution.description.items if isinstance(i.residual, PLACED) and i.residual.frame == frame]
    return _asked(len(solution.xs), items, values)


def com_references(solution: Solution, values: Mapping[str, Reals]) -> Reals:
    """Returns reference positions of the centre of mass, shape (T + 1, 3) [m]; NaN at knots without one."""
    items = [item for item in solution.description.items if isinstance(item.residual, ResidualModelCoMPosition)]
    return _asked(len(solution.xs), items, values)


def _asked(knots: int, items: list[Item], values: Mapping[str, Reals]) -> Reals:
    """Target points (knots, 3) [m] of the first item that has one at each knot."""
    targets = np.full((knots, 3), np.nan)
    for item in items:
        points = frame_points(item, values)
        here = np.isfinite(points).all(axis=1) & np.isnan(targets[:, 0])
        targets[here] = points[here]
    return targets
