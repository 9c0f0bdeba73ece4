"""Slots of collision rows: which bodies they measure follows the configurations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from trajopt.kernels import KernelCall, blocks_of, kernel, lane_count, rows
from trajopt.model.parameters import ParameterLayout
from trajopt.residuals.collisions import ResidualModelCollisions
from trajopt.types import Reals


class SlotFiller:
    """Chooses the bodies of the rows of one `ResidualModelCollisions` at many configurations.

    A configuration is skipped while no body has moved further than `still` since the last choice.

    Args:
        states: States or configurations, which begin with q (n, nq or more); the array must not move.
        parameters: Values of the parameters in the same rows (n, size or more); likewise.
        chosen: The rows to fill.
        layout: Layout of the parameters.
        name: Name of the constraint with the residual.
        residual: The residual.
        still: Motion of a body within which it counts as still [m].
    """

    def __init__(
        self,
        states: Reals,
        parameters: Reals,
        chosen: Sequence[int],
        layout: ParameterLayout,
        name: str,
        residual: ResidualModelCollisions,
        still: float,
    ) -> None:
        self._residual, self._parameters, self._still = residual, parameters, still
        self._chosen = np.array(chosen)
        slices = {key: layout.slices[f"{name}.{key}"] for key in residual.parameters()}
        first, end = min(each.start for each in slices.values()), max(each.stop for each in slices.values())
        self._columns = slice(first, end)  # those of a residual follow one another
        self._slices = {key: slice(each.start - first, each.stop - first) for key, each in slices.items()}
        program = residual.points_program
        self._points = np.zeros((len(states), program.outputs[0].size))
        self._before = np.full((len(self._chosen), self._points.shape[1]), np.inf)
        self._read = np.full((len(self._chosen), end - first), np.nan)
        width = lane_count()
        blocks = blocks_of(chosen, width)
        arguments = [rows(states), rows(self._points)]
        self.call = KernelCall([kernel(program, width)], np.zeros(len(blocks), dtype=np.int64), blocks, arguments)

    def switch_off(self) -> None:
        """Makes the slots of all chosen rows measure nothing."""
        for key, numbers in self._residual.off().items():
            where = self._slices[key]
            columns = slice(self._columns.start + where.start, self._columns.start + where.stop)
            self._parameters[self._chosen, columns] = numbers

    def __call__(self, these: npt.NDArray[np.bool_] | None = None) -> npt.NDArray[np.bool_]:
        """Fills the slots; returns a mask of the chosen rows that have other bodies or obstacles than before.

        Args:
            these: Mask of the chosen rows to fill; None for all.
        """
        self.call()
        points, values = self._points[self._chosen], self._parameters[self._chosen, self._columns]
        moved = np.abs(points - self._before).max(axis=1) > self._still
        moved |= (values != self._read).any(axis=1)  # obstacles that moved, or slots that another filler has filled
        if these is not None:
            moved &= these
        if moved.any():
            before = values.copy()
            named = {key: values[moved, where] for key, where in self._slices.items()}
            for key, filled in self._residual.refilled(points[moved], named).items():
                values[moved, self._slices[key]] = filled
            self._parameters[self._chosen[moved], self._columns] = values[moved]
            self._before[moved], self._read[moved] = points[moved], values[moved]
            moved = (values != before).any(axis=1)
        return moved
