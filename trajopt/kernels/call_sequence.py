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
from trajopt.kernels.rows import Ints, Reals

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


PASSES = 2**40
"""Passes of calls that repeat, beyond any that ends [-]."""


def group_calls_text() -> str:
    """LLVM text of `trajopt_group_calls`, which runs the units of several groups, one group after the other.

    Its argument is the address of the number of groups (>= 1), the number of units of a group, and a row for each group:
    an address, a number of doubles there, and the units. A group's units run again as long as any double is not 0.
    """
    b = Builder("define void @trajopt_group_calls(ptr %job)")
    groups, calls = b.field("%job", 0), b.field("%job", 1)
    size = b.index((calls, 5), 2)
    with b.loop(0, groups) as group:
        first = b.op(f"mul i64 {group.index}, {size}")
        row = b.op(f"getelementptr i64, ptr %job, i64 {b.op(f'add i64 {first}, 2')}")
        left, count = b.field(row, 0, "ptr"), b.field(row, 1)
        with b.loop(0, PASSES) as turn:
            with b.loop(0, calls) as i:
                unit = b.op(f"getelementptr i64, ptr {row}, i64 {b.index((i.index, 5), 2)}")
                function, call, scratch = (b.field(unit, number, "ptr") for number in (0, 1, 4))
                begin, end = b.field(unit, 2), b.field(unit, 3)
                b.do(f"call void {function}(ptr {call}, i64 {begin}, i64 {end}, ptr {scratch})")
            some = b.op(f"icmp sgt i64 {count}, 0")
            with b.loop(0, count, carried=[("i1", "false")], only_if=some) as each:
                value = b.load(b.at(left, (each.index, 1)))
                each.carry(b.op(f"or i1 {each.values[0]}, {b.op(f'fcmp une double {value}, 0.0')}"))
            turn.only_while(each.results[0])
    return b.text()


@functools.cache
def _native_groups() -> Any:
    addresses = compiler.load([compiler.object_code(group_calls_text, "group calls")], ["trajopt_group_calls"], {})
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(addresses["trajopt_group_calls"])


class GroupCalls:
    """Calls of machine code for many groups of lanes; the chosen groups run in one call from Python.

    Args:
        calls: The calls of each group, as many for each.
        left: Numbers (G, W) of each group, which must not move; its calls are repeated until all of them are 0. None
            for calls that run once.
    """

    def __init__(self, calls: Sequence[Sequence[KernelCall]], left: Reals | None = None) -> None:
        self._calls, self._run, self._settled = [list(some) for some in calls], _native_groups(), False
        self._left = left  # keeps the array alive
        self._rows = np.zeros((len(calls), 2 + 5 * len(calls[0])), dtype=np.int64)
        if left is not None:
            self._rows[:, 0] = left.ctypes.data + np.arange(len(left)) * left.strides[0]
            self._rows[:, 1] = left.shape[1]
        self._job = np.zeros(2 + self._rows.size, dtype=np.int64)
        self._job[1] = len(calls[0])
        self._address = int(self._job.ctypes.data)

    def __call__(self, chosen: Ints) -> None:
        """Runs the calls of chosen groups (m,), one group after the other."""
        if not len(chosen):
            return
        if not self._settled:
            self._prepare()
        rows = self._rows[chosen]
        self._job[0] = len(rows)
        self._job[2 : 2 + rows.size] = rows.ravel()
        self._run(self._address)

    def _prepare(self) -> None:
        for call in (call for some in self._calls for call in some):
            call.prepare()
        self._rows[:, 2:] = [[number for call in some for number in call.unit] for some in self._calls]
        self._settled = all(call.settled for some in self._calls for call in some)
