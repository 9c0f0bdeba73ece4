"""Many steps at once: states are lanes."""

from __future__ import annotations

import sys

import numpy as np

from trajopt.errors import ModelEvaluationError
from trajopt.kernels import LANES, KernelCall, ParallelCalls, Program, Rows, blocks_of, kernel, rows
from trajopt.kernels.precision import HighPrecision, to_float64
from trajopt.types import Reals

_RUNAWAY = 1e4  # speed that no robot reaches [rad/s, m/s]


class Batch:
    """A program of single states bound to arrays of n of them.

    Args:
        program: (qdq, torque, parameters) -> results.
        size: Number n of states [-].

    Results are handed out as they are: copies of thousands of derivatives would take as long as their computation.

    Attributes:
        qdqs: Inputs (n, size of the input), to be filled.
        given: Torques (n, nv), or one row of settings (1, size); to be filled.
        parameters: Run-time parameters of all states, (size,); to be filled.
        results: One array a result, (n, ...).
    """

    def __init__(self, program: Program, size: int, *, shared: bool = False) -> None:
        qdq, given, parameters = program.inputs
        self.qdqs = np.zeros((size, qdq.size))
        self.given = np.zeros((1 if shared else size, given.size))
        self.parameters = np.zeros((1, parameters.size))
        self.results: list[Reals] = [np.zeros((size, *array.shape)) for array in program.outputs]
        inputs = [rows(self.qdqs), Rows(self.given, 0) if shared else rows(self.given), Rows(self.parameters, 0)]
        outputs = [rows(array) for array in self.results]
        blocks = blocks_of(range(size), LANES)
        call = KernelCall([kernel(program, LANES)], np.zeros(len(blocks), dtype=np.int64), blocks, inputs + outputs)
        self._run = ParallelCalls([call])
        self._held = _holders(self.results)

    @property
    def idle(self) -> bool:
        """Whether nobody else holds a result: then its memory may be written again."""
        return _holders(self.results) <= self._held

    def run(self, threads: int | None = None) -> None:
        """Runs all steps, on so many threads at most [-]."""
        self._run(threads)


def _holders(arrays: list[Reals]) -> int:
    """Number of references to arrays, views of them included."""
    return sum([sys.getrefcount(array) for array in arrays])


class PreciseBatch:
    """The same with numbers of more bits, one state after the other; inputs and results are doubles.

    Args:
        program: (qdq, torque, parameters) -> results.
        size: Number n of states [-].
        shared: As in `Batch`.
        bits: Bits of the numbers, more than 53 [-].

    Attributes:
        qdqs: As in `Batch`, like the others.
    """

    def __init__(self, program: Program, size: int, *, shared: bool, bits: int) -> None:
        qdq, given, parameters = program.inputs
        self._program, self._numbers = program, HighPrecision(bits)
        self.qdqs = np.zeros((size, qdq.size))
        self.given = np.zeros((1 if shared else size, given.size))
        self.parameters = np.zeros((1, parameters.size))
        self.results: list[Reals] = [np.zeros((size, *array.shape)) for array in program.outputs]
        self._held = _holders(self.results)

    @property
    def idle(self) -> bool:
        """As in `Batch`."""
        return _holders(self.results) <= self._held

    def run(self, threads: int | None = None) -> None:
        """Runs all steps, in this thread."""
        for i, qdq in enumerate(self.qdqs):
            given = self.given[0 if len(self.given) == 1 else i]
            found = self._program.evaluate(qdq, given, self.parameters[0], numbers=self._numbers)
            for result, value in zip(self.results, found):
                result[i] = to_float64(value)


def check_status(status: Reals, qdqs: Reals, nq: int) -> None:
    """Raises an error, with residual and state, unless the iterations of all steps have converged.

    Args:
        status: 0, or the residual of an iteration that has not converged, (n,).
        qdqs: Inputs (n, size).
        nq: Number of configuration coordinates [-].

    Raises:
        ModelEvaluationError: One has not.
    """
    failed = np.flatnonzero(status != 0)
    if not len(failed):
        return
    i = int(failed[0])
    cure = "take a larger barrier_weight, or smaller strengths"
    if np.abs(qdqs[i][nq:]).max(initial=0.0) > _RUNAWAY or np.isnan(status[i]):
        cure = "the motion grows without bound: take a smaller dt, or smaller gains of the controller"
    raise ModelEvaluationError(
        f"state {i}: the contact forces of maximal dissipation were not found (residual {status[i]:.3g}) at "
        f"qdq = {qdqs[i].tolist()}; {cure}"
    )
