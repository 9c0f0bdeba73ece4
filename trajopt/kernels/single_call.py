"""Compiled programs of a single knot, called from Python one knot after the other."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from trajopt.kernels.driver import KernelCall, blocks_of, rows
from trajopt.kernels.machine import kernel, lane_count
from trajopt.kernels.program import Program
from trajopt.types import Reals


class SingleCall:
    """Compiled counterpart of `Program.evaluate`; threads may share it, and take turns.

    Its code is that of solvers, which works on several knots at once, so that a model is compiled once for both.

    Args:
        program: The program.
    """

    def __init__(self, program: Program) -> None:
        self._inputs = [np.zeros((1, *array.shape)) for array in program.inputs]
        self._outputs = [np.zeros((1, *array.shape)) for array in program.outputs]
        wide = kernel(program, lane_count())
        arguments = [rows(array) for array in (*self._inputs, *self._outputs)]
        self._call = KernelCall([wide], np.zeros(1, dtype=np.int64), blocks_of(range(1), wide.width), arguments)
        self._turn = threading.Lock()

    def __call__(self, *values: Any) -> tuple[Reals, ...]:
        """Outputs (rows, columns) of the program for one array of each input's size."""
        with self._turn:
            for array, value in zip(self._inputs, values, strict=True):
                array.ravel()[:] = np.ravel(value)
            self._call()
            return tuple(array[0].copy() for array in self._outputs)
