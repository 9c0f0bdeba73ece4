"""Collision rows of inverse kinematics."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.checks import check_non_negative
from trajopt.constraints import ConstraintStack
from trajopt.constraints.collisions import collision_rows
from trajopt.ik.tasks import TaskModel
from trajopt.robots import Robot, Scene
from trajopt.shooting.slot_filler import SlotFiller
from trajopt.types import Reals

STILL = 1e-3  # motion of a body within which steps keep the bodies of their rows [m]


def with_collisions(robot: Robot, tasks: Any, collisions: bool | Scene, margin: float) -> Any:
    """The tasks with a constraint "collisions" that keeps links apart, and from a scene.

    Args:
        robot: The robot.
        tasks: A ConstraintStack, a CostStack, or a tuple of both.
        collisions: Whether to keep links apart from each other, or obstacles as well.
        margin: Least distance [m].
    """
    least = check_non_negative("margin", margin, unit="m")
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


def filled(model: TaskModel, q: Reals, p: Reals) -> Reals:
    """Parameters (n, np) with the bodies that are nearest at configurations q (n, nq)."""
    p = np.array(p)
    for slots in model.collisions:
        slots.fill(p, np.arange(len(p)), slots.gaps(q, p))
    return p


def refilled(model: TaskModel, q: Reals, p: Reals, tolerance: float) -> npt.NDArray[np.bool_]:
    """Fills the slots of configurations q (n, nq) in which bodies are too near; returns a mask of those that change.

    Args:
        model: The tasks.
        q: The configurations.
        p: Their parameters (n, np), which change.
        tolerance: Violation of a row that counts as zero [m].
    """
    changed = np.zeros(len(q), np.bool_)
    for slots in model.collisions:
        gaps = slots.gaps(q, p)
        near = np.flatnonzero(slots.too_near(p, gaps, tolerance))
        changed[near] |= slots.fill(p, near, [each[near] for each in gaps])
    return changed


class NearestBodies:
    """Slots of one configuration that moves on: they measure the bodies that are nearest to it.

    Args:
        model: The tasks.
    """

    def __init__(self, model: TaskModel) -> None:
        self._slots, self._q, self._p = (
            model.collisions,
            np.zeros((1, model.state.nq)),
            np.zeros((1, model.layout.size)),
        )
        for slots in self._slots:
            slots.switch_off(self._p)
        self._fillers = [SlotFiller(self._q, self._p, [0], slots, STILL) for slots in self._slots]

    def __call__(self, q: Reals, p: Reals) -> None:
        """Fills the slots of q (nq,) in parameters p (2, np) now and at the end of a step, by obstacles at its end.

        Slots of now that measure other bodies become those of the end, with obstacles at the end.
        """
        kept = [self._p[0, slots.filled_columns].copy() for slots in self._slots]
        self._q[0], self._p[0] = q, p[1]
        for slots, fill, before in zip(self._slots, self._fillers, kept):
            self._p[0, slots.filled_columns] = before
            fill()
            p[1, slots.filled_columns] = self._p[0, slots.filled_columns]
            slots.copy_other_bodies(p[1], p[0])


def farthest_apart(model: TaskModel) -> Reals:
    """The neutral configuration (nq,), or a reference one with fewer overlaps of bodies that collision rows measure."""
    state = model.state
    choices = np.array([state.zero()[: state.nq], *state.robot.configurations.values()])
    p = np.tile(model.layout.column(), (len(choices), 1))
    least = np.zeros(len(choices))
    for slots in model.collisions:
        gaps = slots.gaps(choices, p)
        least = np.min([least, *(each.min(axis=1) for each in gaps)], axis=0)
    return np.asarray(choices[least.argmax()])
