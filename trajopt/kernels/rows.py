"""Arrays as the driver uses them: one row per knot, possibly one trajectory per lane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trajopt.kernels.products import Ranges
from trajopt.types import Reals

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """An array for the driver: row t starts at `offset + t`, and lane l is `l * lane_stride` bytes further.

    Attributes:
        array: Doubles with contiguous rows. The array must not move while calls use it.
        row_stride: Distance from one row to the next [bytes]; 0 gives every row the same values.
        lane_stride: Distance from the trajectory of one lane to the next [bytes]; 0 if lanes share the array.
        offset: Number of rows to skip at the start.
        runs: Ranges (first, end) of elements of an output's rows that are read; None for whole rows. Several lanes
            write only these. One lane works on rows in place and may write the rest too.
        zeroed: Whether an output's array initially holds zeros; several lanes then skip structural zeros.
    """

    array: Reals
    row_stride: int
    lane_stride: int = 0
    offset: int = 0
    runs: Ranges | None = None
    zeroed: bool = False

    @property
    def address(self) -> int:
        """Address of row 0 of lane 0 in memory."""
        return int(self.array.ctypes.data) + self.offset * self.row_stride


def rows(array: Reals, *, offset: int = 0, runs: Ranges | None = None, zeroed: bool = False) -> Rows:
    """Rows of an array (T, ...) with one row per knot."""
    return Rows(array, array.strides[0], 0, offset, runs, zeroed)


def lane_rows(array: Reals, *, offset: int = 0) -> Rows:
    """Rows of an array (W, T, ...) with one trajectory per lane."""
    return Rows(array, array.strides[1], array.strides[0], offset)
