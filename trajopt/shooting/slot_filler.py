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
        chosen: The rows to fill, in ascending order.
        slots: The slots.
        still: Motion of a body within which it counts as still [m].
    """

    def __init__(
        self, states: Reals, parameters: Reals, chosen: Sequence[int], slots: CollisionSlots, still: float
    ) -> None:
        self._states, self._parameters, self._slots, self._still = states, parameters, slots, still
        self._chosen = np.array(chosen)
        first, end = int(self._chosen[0]), int(self._chosen[-1]) + 1
        self._rows = slice(first, end) if end - first == len(self._chosen) else self._chosen
        program = slots.residual.points_program
        self._points = np.zeros((len(states), program.outputs[0].size))
        self._before = np.full((len(self._chosen), self._points.shape[1]), np.inf)
        self._read = [np.full_like(each, np.nan) for each in self._others()]
        blocks = blocks_of(chosen, lane_count())
        self._nq, self._with_geometry = slots.residual.state.nq, bool(slots.residual.geometry)
        self._read_states = np.zeros((len(states), program.inputs[0].size)) if self._with_geometry else states
        arguments = [rows(self._read_states), rows(self._points)]
        self._call = KernelCall([kernel(program, lane_count())], np.zeros(len(blocks)), blocks, arguments)

    @property
    def calls(self) -> list[KernelCall]:
        """Calls whose code must be compiled before the first choice."""
        return [self._call, *self._slots.distances.calls]

    def __call__(self) -> None:
        """Fills the slots."""
        if self._with_geometry:
            states, parameters = self._states[self._rows], self._parameters[self._rows]
            self._read_states[self._rows, : self._nq] = states[:, : self._nq]
            self._read_states[self._rows, self._nq :] = self._slots.geometry(states, parameters)
        self._call()
        points = self._points[self._rows]
        changes = [np.abs(points - self._before) > self._still, *map(np.not_equal, self._others(), self._read)]
        if not any(each.any() for each in changes):
            return
        moved = np.any([each.any(axis=1) for each in changes], axis=0)
        filled = self._chosen[moved]
        gaps = self._slots.gaps(self._states[filled], self._parameters[filled])
        self._slots.fill(self._parameters, filled, gaps)
        self._before[moved] = points[moved]
        for read, now in zip(self._read, self._others()):
            read[moved] = now[moved]

    def _others(self) -> list[Reals]:
        """Numbers of obstacles, which may have moved, and of the bodies of slots, which another filler may have filled.

        All other numbers of slots follow from these.
        """
        return [self._parameters[self._rows, columns] for columns in self._slots.deciding_columns]
