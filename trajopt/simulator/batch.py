"""Batches: many steps at once, one state in each lane."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod

import numpy as np

from trajopt.errors import ModelEvaluationError, shown_numbers
from trajopt.kernels import KernelCall, ParallelCalls, Program, Rows, blocks_of, kernel, lane_count, rows
from trajopt.kernels.precision import HighPrecision, to_float64
from trajopt.types import Reals

_RUNAWAY = 1e4  # a larger speed means that the motion diverges [rad/s, m/s]


class BatchAbstract(ABC):
    """Program of a single state with arrays of n states.

    Results are not copied: a copy of thousands of derivatives would take as long as their computation.

    Args:
        program: Program (qdq, torque, parameters) -> results.
        size: Number n of states [-].
        shared: Whether `commands` is one row for all states.
        told: Whether each state has run-time parameters of its own.

    Attributes:
        qdqs: Inputs (n, size of the input), to be filled.
        commands: Torques (n, nv), or one row of a controller's settings (1, size); to be filled.
        parameters: Run-time parameters of all states (1, size), or of each (n, size); to be filled.
        results: One array (n, ...) for each result.
    """

    _held: int  # references to the results that the batch itself has

    def __init__(self, program: Program, size: int, *, shared: bool = False, told: bool = False) -> None:
        qdq, second, parameters = program.inputs
        self.qdqs = np.zeros((size, qdq.size))
        self.commands = np.zeros((1 if shared else size, second.size))
        self.parameters = np.zeros((size if told else 1, parameters.size))
        self.results: list[Reals] = [np.zeros((size, *array.shape)) for array in program.outputs]

    @property
    def idle(self) -> bool:
        """Whether the caller has dropped the last result, so that its memory can be reused."""
        return _holders(self.results) <= self._held

    @abstractmethod
    def run(self, threads: int | None = None) -> None:
        """Runs all steps on at most `threads` threads [-]."""


class StateBatch(BatchAbstract):
    """Batch of doubles, compiled.

    Args:
        program: As in `BatchAbstract`.
        size: As in `BatchAbstract`.
        shared: As in `BatchAbstract`.
        told: As in `BatchAbstract`.
        motion: Whether each state is the result of the one before, so that only the first is to be filled.
    """

    def __init__(
        self, program: Program, size: int, *, shared: bool = False, told: bool = False, motion: bool = False
    ) -> None:
        super().__init__(program, size, shared=shared, told=told)
        if motion:
            xs = np.zeros((size + 1, *program.outputs[0].shape))
            self.qdqs, self.results[0] = xs[:-1, :, 0], xs[1:]
        inputs = [rows(self.qdqs), _rows_of(self.commands, alike=shared), _rows_of(self.parameters, alike=not told)]
        outputs = [rows(array) for array in self.results]
        lanes = kernel(program, 1 if motion else lane_count())
        blocks = blocks_of(range(size), lanes.width)
        call = KernelCall([lanes], np.zeros(len(blocks), dtype=np.int64), blocks, inputs + outputs)
        self._run, self._threads = ParallelCalls([call]), 1 if motion else None
        self._held = _holders(self.results)

    def run(self, threads: int | None = None) -> None:
        self._run(self._threads or threads)


def _rows_of(array: Reals, *, alike: bool) -> Rows:
    return Rows(array, 0) if alike else rows(array)


def _holders(arrays: list[Reals]) -> int:
    """Number of references to arrays, including views of them."""
    return sum([sys.getrefcount(array) for array in arrays])


class PreciseBatch(BatchAbstract):
    """Batch with numbers of more bits, which runs one state after the other; inputs and results are doubles.

    Args:
        program: As in `BatchAbstract`.
        size: As in `BatchAbstract`.
        shared: As in `BatchAbstract`.
        told: As in `BatchAbstract`.
        bits: Number of bits, more than 53 [-].
    """

    def __init__(self, program: Program, size: int, *, shared: bool, told: bool, bits: int) -> None:
        super().__init__(program, size, shared=shared, told=told)
        self._program, self._numbers = program, HighPrecision(bits)
        self._held = _holders(self.results)

    def run(self, threads: int | None = None) -> None:
        for i, qdq in enumerate(self.qdqs):
            second, parameters = (array[0 if len(array) == 1 else i] for array in (self.commands, self.parameters))
            values = self._program.evaluate(qdq, second, parameters, numbers=self._numbers)
            for result, value in zip(self.results, values):
                result[i] = to_float64(value)


def check_status(status: Reals, qdqs: Reals, nq: int, *, stepping: bool = False, implicit: bool = False) -> None:
    """Raises an error, with residual and state, unless the iterations of all steps have converged.

    Args:
        status: 0, or the residual of an iteration that has not converged (n,).
        qdqs: Inputs (n, size).
        nq: Number of configuration coordinates [-].
        stepping: Whether they are successive steps of a motion.
        implicit: Whether the steps solve the equation of a backward mode.

    Raises:
        ModelEvaluationError: An iteration has not converged.
    """
    failed = np.flatnonzero(status != 0)
    if not len(failed):
        return
    i = int(failed[0])
    cure = "use a larger barrier_weight, or smaller strengths"
    if np.abs(qdqs[i][nq:]).max(initial=0.0) > _RUNAWAY or np.isnan(status[i]):
        cure = "the motion diverges: use a smaller dt, or smaller gains of the controller"
    what = "the contact forces of maximal dissipation"
    if implicit:
        what, cure = "the implicit step or its contact forces", "use a smaller dt, or a larger barrier_weight"
    which = "step" if stepping else f"state {i}"
    raise ModelEvaluationError(
        f"{which}: {what} did not converge (residual {status[i]:.3g}) at qdq = {shown_numbers(qdqs[i])}; {cure}"
    )
