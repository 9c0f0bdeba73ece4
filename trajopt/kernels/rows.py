"""Arrays as the driver sees them: one row for each knot, possibly one trajectory for each lane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trajopt.kernels.products import Ranges
from trajopt.types import Reals

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """An array seen by the driver: row t starts at `offset + t`, lane l at `l * lane_stride` bytes further.

    Attributes:
        array: Doubles; each row lies in one piece. The array must not move while calls that use it live.
        row_stride: Bytes from one row to the next; 0 gives every row the same values.
        lane_stride: Bytes from the trajectory of one lane to that of the next; 0 if lanes share the array.
        offset: Rows to skip at the start.
        runs: What is read of an output's rows: ranges (first, end) of elements; None for whole rows. Several lanes
            write nothing else. One lane works on rows in place and may write the rest too.
        zeroed: Whether an output's array held zeros at first: several lanes leave a kernel's structural zeros out.
    """

    array: Reals
    row_stride: int
    lane_stride: int = 0
    offset: int = 0
    runs: Ranges | None = None
    zeroed: bool = False

    @property
    def address(self) -> int:
        """Address of row 0 of lane 0."""
        return int(self.array.ctypes.data) + self.offset * self.row_stride


def rows(array: Reals, *, offset: int = 0, runs: Ranges | None = None, zeroed: bool = False) -> Rows:
    """An array (T, ...) with one row a knot."""
    return Rows(array, array.strides[0], 0, offset, runs, zeroed)


def lane_rows(array: Reals, *, offset: int = 0) -> Rows:
    """An array (W, T, ...) with one trajectory a lane."""
    return Rows(array, array.strides[1], array.strides[0], offset)
