"""Collision rows of knots: which bodies they measure follows the states."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trajopt.kernels import KernelCall, blocks_of, kernel, lane_count, rows
from trajopt.shooting.collision_slots import CollisionSlots
from trajopt.types import Reals


class SlotFiller:
    """Chooses the bodies of the rows of one `ResidualModelCollisions` at knots.

    A knot is skipped while no body has moved further than `still` since the last choice.

    Args:
        states: States, which begin with q (n, nq or more); the array must not move.
        parameters: Values of the parameters in the same rows (n, size or more); likewise.
        chosen: The rows to fill.
        slots: The slots.
        still: Motion of a body within which it counts as still [m].
    """

    def __init__(
        self, states: Reals, parameters: Reals, chosen: Sequence[int], slots: CollisionSlots, still: float
    ) -> None:
        self._states, self._parameters, self._slots, self._still = states, parameters, slots, still
        self._chosen = np.array(chosen)
        program = slots.residual.points_program
        self._points = np.zeros((len(states), program.outputs[0].size))
        self._before = np.full((len(self._chosen), self._points.shape[1]), np.inf)
        self._read = np.full((len(self._chosen), slots.columns.stop - slots.columns.start), np.nan)
        blocks = blocks_of(chosen, lane_count())
        arguments = [rows(states), rows(self._points)]
        self._call = KernelCall([kernel(program, lane_count())], np.zeros(len(blocks)), blocks, arguments)

    @property
    def calls(self) -> list[KernelCall]:
        """Calls whose code must be compiled before the first choice."""
        return [self._call, *self._slots.distances.calls]

    def __call__(self) -> None:
        """Fills the slots."""
        self._call()
        points, values = self._points[self._chosen], self._parameters[self._chosen, self._slots.columns]
        moved = np.abs(points - self._before).max(axis=1) > self._still
        moved |= (values != self._read).any(axis=1)  # obstacles that moved, or slots that another filler has filled
        if moved.any():
            filled = self._chosen[moved]
            gaps = self._slots.distances(self._states[filled], values[moved])
            self._slots.fill(self._parameters, filled, gaps)
            self._before[moved], self._read[moved] = points[moved], self._parameters[filled, self._slots.columns]
