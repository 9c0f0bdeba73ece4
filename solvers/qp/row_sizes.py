"""Largest numbers of constraint rows, by machine code: NumPy takes a microsecond for each operation on a few rows."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt import source
from trajopt.kernels import Reduction, compiler
from trajopt.solvers.qp.block import Block
from trajopt.solvers.riccati.recursion import flat
from trajopt.solvers.riccati.recursion.flat import DECLARATIONS, Flat, maximum, minimum, where_equal, where_negative
from trajopt.types import Reals

NAME = "trajopt_row_sizes"
ARRAYS = ("c", "y", "lower", "upper", "hard", "size", "beyond")
NUMBERS = ("violation", "relative", "multiplier", "product")


def row_sizes_text() -> str:
    """`i64 trajopt_row_sizes(block, size, numbers)`: `beyond` of hard rows, and the `NUMBERS` of `RowSizes`."""
    f = Flat(NAME, ARRAYS, NUMBERS)
    with f.cells(**dict.fromkeys(NUMBERS, "max")) as row:
        c, y, lower, upper, hard, size = (row[name] for name in ARRAYS[:-1])
        beyond = where_equal(hard, 1.0, c - minimum(maximum(c, lower), upper), 0.0)
        relative = abs(beyond) / size
        distance = where_negative(-y, upper - c, c - lower)
        kept = where_equal(distance - distance, 0.0, maximum(distance, 0.0), 0.0)  # 0 where it is not finite
        row["beyond"] = relative
        row.most("violation", abs(beyond))
        row.most("relative", relative)
        row.most("multiplier", abs(y) * size)
        row.most("product", abs(y) * kept)
    for name in NUMBERS:
        f.set(name, row.results[name])
    return f.text() + DECLARATIONS


@functools.cache
def _function() -> Any:
    folders = (Path(__file__).parent, Path(flat.__file__).parent)
    image = compiler.object_code(row_sizes_text, NAME, *(source.digest(folder).hex() for folder in folders))
    address = compiler.load([image], [NAME], {})[NAME]
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)(address)


class RowSizes:
    """Violations of hard rows, and products of multipliers y and the distances of rows c from their bounds.

    Args:
        lower: Lower bounds (T + 1, nc), with at least one row.
        upper: Upper bounds.
        soft: Mask of rows that may be beyond their bounds.

    Attributes:
        size: Sizes of the rows (T + 1, nc) that violations and multipliers are relative to, 1 at first.
    """

    def __init__(self, lower: Reals, upper: Reals, soft: npt.NDArray[np.bool_]) -> None:
        block = self._block = Block(dict.fromkeys(ARRAYS, 0.0) | {"size": 1.0}, lower.shape)
        block["lower"][:], block["upper"][:], block["hard"][:] = lower, upper, ~soft
        self._c, self._y, self.size = block["c"], block["y"], block["size"]
        self._numbers = np.zeros(len(NUMBERS))
        self._arguments = block.address, block.size, int(self._numbers.ctypes.data)
        self._measure, self._sum = _function(), Reduction(block["beyond"].reshape(1, -1), "sum of sizes")

    def sum_of_violations(self, c: Reals) -> float:
        """Sum Σ |v| of the relative violations v of hard rows c (T + 1, nc)."""
        self._c[:] = c
        self._measure(*self._arguments)
        self._sum()
        return self._sum.latest()[0]

    def all(self, c: Reals, y: Reals) -> tuple[float, float, float, float, float]:
        """Σ |v| and max |v| of relative violations v, the largest violation, relative multiplier, and product |y| d.

        d is the distance of a row from the bound to which its multiplier belongs.

        Args:
            c: Rows (T + 1, nc).
            y: Multipliers (T + 1, nc): positive at an upper bound, else of a lower one.
        """
        self._y[:] = y
        total = self.sum_of_violations(c)
        violation, relative, multiplier, product = self._numbers.tolist()
        return total, relative, violation, multiplier, product
