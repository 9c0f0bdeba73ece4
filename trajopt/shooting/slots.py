"""Slots of collision rows: which bodies they measure follows the states of their knots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from trajopt.kernels import KernelCall, blocks_of, kernel, lane_count, rows
from trajopt.residuals import ResidualModelCollisions
from trajopt.shooting.arrays import padded
from trajopt.shooting.kinds import Kind

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
        slices = {key: kind.layout.slices[f"{name}.{key}"] for key in residual.parameters()}
        first, end = min(each.start for each in slices.values()), max(each.stop for each in slices.values())
        self._columns = slice(first, end)  # those of a residual follow one another
        self._slices = {key: slice(each.start - first, each.stop - first) for key, each in slices.items()}
        program = residual.points_program()
        self._points = padded((len(evaluator.xs), program.outputs[0].size))
        self._before = np.full((len(self._knots), self._points.shape[1]), np.inf)
        self._read = np.full((len(self._knots), end - first), np.nan)
        width = lane_count()
        blocks = blocks_of(kind.knots, width)
        arguments = [rows(evaluator.xs), rows(self._points)]
        self.call = KernelCall([kernel(program, width)], np.zeros(len(blocks), dtype=np.int64), blocks, arguments)

    def __call__(self) -> None:
        """Fills the slots."""
        self.call()
        points, values = self._points[self._knots], self._parameters[self._knots, self._columns]
        moved = np.abs(points - self._before).max(axis=1) > STILL
        moved |= (values != self._read).any(axis=1)  # obstacles that moved, or slots that another evaluator has filled
        if not moved.any():
            return
        named = {key: values[moved, where] for key, where in self._slices.items()}
        for key, filled in self._residual.refilled(points[moved], named).items():
            values[moved, self._slices[key]] = filled
        self._parameters[self._knots[moved], self._columns] = values[moved]
        self._before[moved], self._read = points[moved], values


def slot_fillers(evaluator: Evaluator, kinds: Sequence[Kind]) -> list[SlotFiller]:
    """Fillers for all collision rows of these kinds of knots."""
    return [
        SlotFiller(evaluator, kind, constraint.name, constraint.residual)
        for kind in kinds
        for constraint in kind.model.constraints.constraints
        if isinstance(constraint.residual, ResidualModelCollisions)
    ]
