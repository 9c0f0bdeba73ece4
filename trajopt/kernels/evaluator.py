"""CasADi's evaluator of a function with arrays of its own, so that a call only copies numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from trajopt.kernels.patterns import Pattern

Reals = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]


class FunctionEvaluator:
    """Evaluates a CasADi function; used by one thread at a time.

    A call of a small function takes 3 µs; with new buffers each time it took 15 µs, with CasADi's matrices 185 µs.

    Args:
        function: The function.
        inputs: Mask of the elements of each input that CasADi stores.
        outputs: The same for each output.
    """

    def __init__(self, function: ca.Function, inputs: Sequence[Pattern], outputs: Sequence[Pattern]) -> None:
        self._buffer: Any  # CasADi's stubs have one argument too many; `_run` does not keep it alive
        self._buffer, self._run = function.buffer()
        self._inputs = [(np.zeros(np.count_nonzero(mask)), _places(mask)) for mask in inputs]
        self._outputs = [(np.zeros(np.count_nonzero(mask)), _places(mask), mask.shape) for mask in outputs]
        for i, (stored, _) in enumerate(self._inputs):
            self._buffer.set_arg(i, stored.data)
        for i, (stored, _, _) in enumerate(self._outputs):
            self._buffer.set_res(i, stored.data)

    def __call__(self, arrays: Sequence[Reals]) -> list[Reals]:
        """Outputs (rows, columns), from one array of matching size per input, row-major."""
        for array, (stored, places) in zip(arrays, self._inputs, strict=True):
            stored[:] = array.reshape(-1) if places is None else array.reshape(-1)[places]
        self._run()
        return [_whole(*output) for output in self._outputs]


def _places(mask: Pattern) -> Places | None:
    """Position in the row-major matrix of each element that CasADi stores, column by column; None if all follow."""
    if mask.all() and min(mask.shape) <= 1:
        return None
    columns, rows = np.nonzero(mask.T)
    return rows * mask.shape[1] + columns


def _whole(stored: Reals, places: Places | None, shape: tuple[int, int]) -> Reals:
    """Matrix with the elements that CasADi stores."""
    if places is None:
        return stored.copy().reshape(shape)
    whole = np.zeros(shape[0] * shape[1])
    whole[places] = stored
    return whole.reshape(shape)
