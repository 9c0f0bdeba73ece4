"""Slots of collision rows: which bodies they measure follows the states of their knots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from trajopt.kernels import KernelCall, blocks_of, kernel, lane_count, rows
from trajopt.residuals import ResidualModelCollisions
from trajopt.shooting.arrays import padded
from trajopt.shooting.kinds import Kind
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.shooting.evaluator import Evaluator

STILL = 5e-3  # motion of all bodies of a knot within which it keeps its pairs [m]


class SlotFiller:
    """Chooses the bodies of the collision rows of one constraint, at all knots of one kind.

    A knot is skipped while no body has moved by more than 5 mm since the last choice.

    Args:
        evaluator: Evaluator with the states.
        kind: The kind of knots.
        name: Name of the constraint.
        residual: Its residual.
    """

    def __init__(self, evaluator: Evaluator, kind: Kind, name: str, residual: ResidualModelCollisions) -> None:
        self._residual, self._parameters = residual, evaluator.parameters
        self._knots = np.array(kind.knots)
        self._slices = {key: kind.layout.slices[f"{name}.{key}"] for key in residual.parameters()}
        program = residual.points_program()
        self._points = padded((len(evaluator.xs), program.outputs[0].size))
        self._before = np.full((len(self._knots), self._points.shape[1]), np.inf)
        self._read: dict[str, Reals] = {}
        width = lane_count()
        blocks = blocks_of(kind.knots, width)
        arguments = [rows(evaluator.xs), rows(self._points)]
        self.call = KernelCall([kernel(program, width)], np.zeros(len(blocks), dtype=np.int64), blocks, arguments)

    def __call__(self) -> None:
        """Fills the slots."""
        self.call()
        points = self._points[self._knots]
        values = {key: self._parameters[self._knots, where] for key, where in self._slices.items()}
        moved = np.abs(points - self._before).max(axis=1) > STILL
        for key, before in self._read.items():  # obstacles that moved, or slots that another evaluator has filled
            moved |= (values[key] != before).any(axis=1)
        if not moved.any():
            return
        filled = self._residual.refilled(points[moved], {key: each[moved] for key, each in values.items()})
        for key, each in filled.items():
            values[key][moved] = each
            self._parameters[self._knots[moved], self._slices[key]] = each
        self._before[moved], self._read = points[moved], values


def slot_fillers(evaluator: Evaluator, kinds: Sequence[Kind]) -> list[SlotFiller]:
    """Fillers for all collision rows of these kinds of knots."""
    return [
        SlotFiller(evaluator, kind, constraint.name, constraint.residual)
        for kind in kinds
        for constraint in kind.model.constraints.constraints
        if isinstance(constraint.residual, ResidualModelCollisions)
    ]
