"""Operations of a state at many points in parallel lanes."""

from __future__ import annotations

import numpy as np

from trajopt.kernels import KernelCall, Program, kernel, lane_count, rows
from trajopt.states.base import StateAbstract
from trajopt.types import Reals


class StateLanes:
    """Evaluates x ⊕ dx, or x1 ⊖ x0, for up to `size` rows at once.

    Args:
        state: The state.
        name: "integrate" of (x, dx), or "difference" of (x0, x1).
        size: Largest number of rows.
    """

    def __init__(self, state: StateAbstract, name: str, size: int) -> None:
        function = state.functions[name]
        program = Program.of(f"{type(state).__name__}: {name}", function)
        width = lane_count()
        blocks = -(-size // width)
        self._first, self._second, self._results = (
            np.zeros((blocks * width, n)) for n in (function.numel_in(0), function.numel_in(1), function.numel_out(0))
        )
        lanes = np.arange(blocks * width).reshape(blocks, width)
        arguments = [rows(self._first), rows(self._second), rows(self._results)]
        self._call = KernelCall([kernel(program, width)], np.zeros(blocks), lanes, arguments)

    def __call__(self, first: Reals, second: Reals) -> Reals:
        """Returns the results (m, n) for rows of arguments; `first` may be a single row."""
        m = len(second)
        self._first[:m], self._second[:m] = first, second
        self._call(0, -(-m // lane_count()))
        return self._results[:m].copy()
