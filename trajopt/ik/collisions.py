"""Collision rows of inverse kinematics."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.checks import check_finite
from trajopt.constraints import ConstraintStack
from trajopt.constraints.collisions import collision_rows
from trajopt.ik.tasks import TaskModel
from trajopt.residuals import ResidualModelCollisions
from trajopt.residuals.slot_filler import SlotFiller
from trajopt.robots import Robot, Scene
from trajopt.types import Reals

STILL = 1e-3  # motion of a body within which a descent keeps the bodies of its rows [m]


def with_collisions(robot: Robot, tasks: Any, collisions: bool | Scene, margin: float) -> Any:
    """The tasks with a constraint "collisions" that keeps links apart, and from a scene.

    Args:
        robot: The robot.
        tasks: A ConstraintStack, a CostStack, or a tuple of both.
        collisions: Whether to keep links apart from each other, or obstacles as well.
        margin: Least distance [m].
    """
    least = check_finite("margin", margin)
    if collisions is False:
        return tasks
    model = TaskModel.of(robot, tasks)
    stack = ConstraintStack(model.state)
    for item in model.constraints.items:
        positional, options = model.constraints.arguments_of(item)
        stack.add(*positional, **options)
    rows = collision_rows(model.state, collisions=collisions, margin=least)
    for name, (residual, lower, upper) in rows.items():
        stack.add(name, residual, lower=lower, upper=upper)
    return (stack, model.costs) if model.costs.names else stack


def fillers_of(model: TaskModel, q: Reals, p: Reals) -> list[SlotFiller]:
    """Fillers of all collision rows, for configurations q (n, nq) with parameters p (n, np), which must not move."""
    return [
        SlotFiller(q, p, range(len(q)), model.layout, item.name, item.residual, STILL)
        for item in model.constraints.constraints
        if isinstance(item.residual, ResidualModelCollisions)
    ]


def has_collisions(model: TaskModel) -> bool:
    """Whether tasks have collision rows."""
    return any(isinstance(item.residual, ResidualModelCollisions) for item in model.constraints.constraints)


def filled(model: TaskModel, q: Reals, p: Reals) -> Reals:
    """Parameters (n, np) with the bodies that are nearest at configurations q (n, nq)."""
    p = np.array(p)
    for fill in fillers_of(model, np.ascontiguousarray(q), p):
        fill()
    return p
