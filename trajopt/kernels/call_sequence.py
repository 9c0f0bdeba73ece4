"""Sequences of calls. A single call from Python takes as long as the work on a few small knots."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from trajopt.kernels import compiler
from trajopt.kernels.driver import KernelCall
from trajopt.kernels.reductions import Reduction

Native = KernelCall | Reduction

_TEXT = """
define void @trajopt_call_sequence(ptr %job) nounwind {
entry:
  %units.at = getelementptr i64, ptr %job, i64 1
  %units = load i64, ptr %job
  br label %unit
unit:
  %i = phi i64 [0, %entry], [%i.next, %unit]
  %unit.at = getelementptr [5 x i64], ptr %units.at, i64 %i
  %function = load ptr, ptr %unit.at
  %call.at = getelementptr i64, ptr %unit.at, i64 1
  %call = load ptr, ptr %call.at
  %first.at = getelementptr i64, ptr %unit.at, i64 2
  %first = load i64, ptr %first.at
  %end.at = getelementptr i64, ptr %unit.at, i64 3
  %end = load i64, ptr %end.at
  %scratch.at = getelementptr i64, ptr %unit.at, i64 4
  %scratch = load ptr, ptr %scratch.at
  call void %function(ptr %call, i64 %first, i64 %end, ptr %scratch)
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %units
  br i1 %more, label %unit, label %done
done:
  ret void
}
"""


def call_sequence_text() -> str:
    """LLVM text of `trajopt_call_sequence`, whose argument is the address of the number (>= 1) and table of units.

    A unit is a function `void run(void *call, long first, long end, double *scratch)` with its arguments.
    """
    return _TEXT


@functools.cache
def _native() -> Any:
    addresses = compiler.load([compiler.object_code(call_sequence_text, "in turn")], ["trajopt_call_sequence"], {})
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(addresses["trajopt_call_sequence"])


class CallSequence:
    """Runs calls in order; consecutive calls of machine code run in one call from Python.

    Args:
        calls: `KernelCall`s (all blocks are run), `Reduction`s, and functions without arguments.
    """

    def __init__(self, calls: Sequence[Native | Callable[[], None]]) -> None:
        self._parts: list[Callable[[], None]] = []
        for native, group in groupby(calls, key=lambda call: isinstance(call, Native)):
            some: list[Any] = list(group)
            self._parts += [Together(some)] if native else some

    def __call__(self) -> None:
        """Runs the calls."""
        for part in self._parts:
            part()


class Together:
    """Consecutive calls of machine code that run in one call from Python.

    Args:
        calls: The calls.
    """

    def __init__(self, calls: list[Native]) -> None:
        self._calls, self._settled, self._run = calls, False, _native()
        self._job = np.zeros(1 + 5 * len(calls), dtype=np.int64)
        self._address = int(self._job.ctypes.data)

    def __call__(self) -> None:
        """Runs the calls."""
        if not self._settled:
            self._prepare()
        self._run(self._address)

    def _prepare(self) -> None:
        for call in self._calls:
            call.prepare()
        self._job[:] = len(self._calls), *(number for call in self._calls for number in call.unit)
        self._settled = all(call.settled for call in self._calls)
