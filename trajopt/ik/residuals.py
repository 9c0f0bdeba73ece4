"""Residuals of tasks at configurations, by the tasks' names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from trajopt.analysis.reach import farther, farthest
from trajopt.analysis.references import PLACED
from trajopt.checks import as_numbers
from trajopt.errors import InvalidArgumentError
from trajopt.ik.collisions import filled
from trajopt.ik.result import TaskResidual
from trajopt.ik.tasks import TaskModel
from trajopt.residuals import ResidualModelCollisions
from trajopt.types import Reals

TOUCHING = 1e-4
"""Distance from their margin below which bodies are in the way of a descent [m]."""


@dataclass(frozen=True)
class Judge:
    """Computes the residual of each task at a configuration, for fixed parameters; it can be pickled with a result.

    Attributes:
        function: Function of (q, parameters) that returns the rows of the constraints, their bounds, and the residual
            of each cost.
        constraints: Name, number of rows and unit of each constraint.
        costs: Name and unit of each cost.
        p: Parameters (np,), or one row for each configuration (n, np).
        soft: Names of the constraints with soft rows.
        colliding: The tasks, if they have collision rows, which measure the bodies that are nearest; else None.
        arms: Place of the target's point in p, position of the first joint (3,) [m], and reach [m] of each hard
            constraint on a frame that an arm moves.
    """

    function: ca.Function
    constraints: tuple[tuple[str, int, str], ...]
    costs: tuple[tuple[str, str], ...]
    p: Reals
    soft: tuple[str, ...] = ()
    colliding: TaskModel | None = None
    arms: Mapping[str, tuple[slice, Reals, float]] | None = None  # results of old files have none

    @staticmethod
    def of(model: TaskModel, function: ca.Function, p: Reals) -> Judge:
        """Builds the judge of a model, from its compiled `residuals`."""
        constraints = tuple((c.name, c.residual.size(0), c.residual.unit) for c in model.constraints.constraints)
        costs = tuple((c.name, c.residual.unit) for c in model.costs.terms)
        soft = tuple(c.name for c in model.constraints.constraints if c.soft is not None)
        return Judge(function, constraints, costs, p, soft, model if model.collisions else None, _arms(model))

    def __call__(self, q: Reals) -> dict[str, TaskResidual]:
        """Residuals at a configuration (nq,), arrays (nr,); at configurations (n, nq), arrays (n, nr)."""
        nq = self.function.size1_in(0)
        q = as_numbers("q", q, f"a configuration ({nq},) or configurations (n, {nq})")
        if q.ndim not in (1, 2) or q.shape[-1] != nq:
            raise InvalidArgumentError(f"q: expected shape ({nq},) or (n, {nq}), got {q.shape}")
        rows_of_q, p = np.atleast_2d(q), np.atleast_2d(self.p)
        if self.colliding is not None:
            p = filled(self.colliding, rows_of_q, np.broadcast_to(p, (len(rows_of_q), p.shape[1])))
        values = [np.array(each).T for each in self.function(rows_of_q.T, p.T)]
        rows, lower, upper = (each.reshape(np.size(q) // np.shape(q)[-1], -1) for each in values[:3])
        beyond, residuals, end = rows - np.clip(rows, lower, upper), {}, 0
        for name, size, unit in self.constraints:
            part = slice(end, end := end + size)
            residuals[name] = _residual(q, rows[:, part], beyond[:, part], unit, name in self.soft)
            if name in (arms := self.arms or {}) and not (lower[:, part].any() or upper[:, part].any()):
                residuals[name] = replace(residuals[name], far=_far(p, *arms[name]))
            if self.colliding is not None and len(rows):
                residuals[name] = _with_bodies(residuals[name], self.colliding, name, p, lower[:, part])
        for (name, unit), value in zip(self.costs, values[3:], strict=True):
            residuals[name] = replace(_residual(q, value, np.zeros_like(value), unit), is_cost=True)
        return residuals


def _arms(model: TaskModel) -> dict[str, tuple[slice, Reals, float]]:
    """Targets of frames that arms move; see `Judge.arms`."""
    arms = {}
    for each in model.constraints.constraints:
        residual = each.residual
        if isinstance(residual, PLACED) and each.soft is None and not model.state.parameters():
            reach = farthest(model.state.model, str(residual.frame))
            end = model.layout.slices[f"{each.name}.reference"].stop
            if reach is not None:
                arms[each.name] = (slice(end - 3, end), *reach)
    return arms


def _far(p: Reals, place: slice, first: Reals, most: float) -> tuple[str, ...]:
    """Text on each target (n,) out of reach, empty for others, from parameters (n, np)."""
    away = np.linalg.norm(p[:, place] - first, axis=1)
    return tuple(farther(row[place], first, most) if far else "" for row, far in zip(p, away > most))


def _with_bodies(result: TaskResidual, model: TaskModel, name: str, p: Reals, margins: Reals) -> TaskResidual:
    """Residual with what the rows of a collision task measure; others unchanged.

    Args:
        result: The residual.
        model: The tasks.
        name: Name of the task.
        p: Parameters of each configuration (n, np).
        margins: Lower bound of each row (n, nr) [m].
    """
    residual = model.constraints[name].residual
    if not isinstance(residual, ResidualModelCollisions):
        return result
    values = {key: p[:, model.layout.slices[f"{name}.{key}"]] for key in residual.parameters()}
    unchecked = model.state.robot.collision_shapes.unchecked
    rows = np.atleast_2d(result.value)
    room, least = rows - margins, int(rows.min(axis=1).argmin())
    named = np.union1d(np.flatnonzero(room.min(axis=1) <= TOUCHING), least)  # of others nobody asks
    words = residual.bodies_of_rows({key: each[named] for key, each in values.items()})
    bodies = dict(zip(named.tolist(), words))
    touching = tuple(
        (bodies[i][k] if room[i, k] <= TOUCHING else "", float(margins[i, k]))
        for i, k in enumerate(room.argmin(axis=1))
    )
    return replace(result, bodies=tuple(bodies[least]), touching=touching, unchecked=unchecked)


def _residual(q: Reals, value: Reals, violation: Reals, unit: str, soft: bool = False) -> TaskResidual:
    one = np.ndim(q) == 1
    return TaskResidual(value[0] if one else value, violation[0] if one else violation, unit, soft)
