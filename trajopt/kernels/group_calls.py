"""Calls of machine code for many groups of lanes, on several threads."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from trajopt.kernels import compiler
from trajopt.kernels.builder import Builder
from trajopt.kernels.driver import KernelCall
from trajopt.kernels.parallel import SMALL_WORK, Job
from trajopt.kernels.rows import Ints, Reals

PASSES = 2**40
"""Passes of calls that repeat, beyond any that ends [-]."""


def group_calls_text() -> str:
    """LLVM text of `void trajopt_group_calls(i64 *job, long, double *)`, a unit of the thread pool.

    A job is the number of groups, the number of units of `call_sequence_text` for each, and a row for each group: an
    address, a number of doubles there, and the units. Groups run one after the other; the units of a group run again as
    long as any of its doubles is not 0.
    """
    b = Builder("define void @trajopt_group_calls(ptr %job, i64 %block, ptr %scratch)")
    groups, calls = b.field("%job", 0), b.field("%job", 1)
    size = b.index((calls, 5), 2)
    with b.loop(0, groups, only_if=b.op(f"icmp sgt i64 {groups}, 0")) as group:
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
def _native() -> tuple[Any, int]:
    """The function, and its address."""
    name = "trajopt_group_calls"
    address = compiler.load([compiler.object_code(group_calls_text, "group calls")], [name], {})[name]
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)(address), address


class GroupCalls:
    """Calls of machine code for many groups of lanes; the chosen groups run in one call from Python.

    Args:
        calls: The calls of each group, as many for each.
        left: Numbers (G, W) of each group, which must not move; its calls are repeated until all of them are 0. None
            for calls that run once.
        parts: Number n of threads. Groups g with the same g mod n run one after the other and may share memory.
    """

    def __init__(self, calls: Sequence[Sequence[KernelCall]], left: Reals | None = None, *, parts: int = 1) -> None:
        self._calls, self._settled, self._parts = [list(some) for some in calls], False, parts
        self._run, run = _native()
        self._left = left  # keeps the array alive
        self._rows = np.zeros((len(calls), 2 + 5 * len(calls[0])), dtype=np.int64)
        if left is not None:
            self._rows[:, 0] = left.ctypes.data + np.arange(len(left)) * left.strides[0]
            self._rows[:, 1] = left.shape[1]
        self._jobs = np.zeros((parts, 2 + self._rows.size), dtype=np.int64)
        self._jobs[:, 1] = len(calls[0])
        self._addresses = [int(job.ctypes.data) for job in self._jobs]
        self._shared = Job([(run, address, 0) for address in self._addresses])
        self._work = sum(call.work for call in calls[0])

    def __call__(self, chosen: Ints) -> None:
        """Runs the calls of chosen groups (m,)."""
        if not len(chosen):
            return
        if not self._settled:
            self._prepare()
        if self._parts == 1 or len(chosen) == 1 or self._work * len(chosen) < SMALL_WORK:
            self._fill(0, chosen)
            self._run(self._addresses[0], 0, None)
            return
        for part in range(self._parts):
            self._fill(part, chosen[chosen % self._parts == part])
        self._shared.share(self._parts, 0)

    def _fill(self, part: int, chosen: Ints) -> None:
        """Writes the rows of chosen groups to a job."""
        rows = self._rows[chosen]
        self._jobs[part, 0] = len(rows)
        self._jobs[part, 2 : 2 + rows.size] = rows.ravel()

    def _prepare(self) -> None:
        for call in (call for some in self._calls for call in some):
            call.prepare()
        self._rows[:, 2:] = [[number for call in some for number in call.unit] for some in self._calls]
        self._settled = all(call.settled for some in self._calls for call in some)
