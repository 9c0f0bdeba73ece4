"""Sequences of calls. A single call from Python takes as long as the work on a few small knots."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from trajopt.kernels import compiler
from trajopt.kernels.builder import Builder
from trajopt.kernels.driver import KernelCall
from trajopt.kernels.reductions import Reduction

Native = KernelCall | Reduction


def call_sequence_text() -> str:
    """LLVM text of `trajopt_call_sequence`, whose argument is the address of the number (>= 1) and table of units.

    A unit is a function `void run(void *call, long first, long end, double *scratch)` with its arguments.
    """
    b = Builder("define void @trajopt_call_sequence(ptr %job)")
    count, units = b.field("%job", 0), b.op("getelementptr i64, ptr %job, i64 1")
    with b.loop(0, count) as i:
        unit = b.op(f"getelementptr [5 x i64], ptr {units}, i64 {i.index}")
        function, call, scratch = (b.field(unit, number, "ptr") for number in (0, 1, 4))
        first, end = b.field(unit, 2), b.field(unit, 3)
        b.do(f"call void {function}(ptr {call}, i64 {first}, i64 {end}, ptr {scratch})")
    return b.text()


@functools.cache
def _native() -> Any:
    addresses = compiler.load([compiler.object_code(call_sequence_text, "calls")], ["trajopt_call_sequence"], {})
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
