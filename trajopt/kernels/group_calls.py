"""Calls of machine code for many groups of lanes."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.kernels import compiler
from trajopt.kernels.builder import Builder
from trajopt.kernels.driver import KernelCall
from trajopt.kernels.lane_copies import LaneChoice
from trajopt.kernels.rows import Ints, Reals

PASSES = 2**40
"""Passes of calls that repeat, beyond any that ends [-]."""
JOB = 3
"""Numbers of a job before its rows."""
HEADER = 4
"""Numbers of a stage besides its units."""


def group_calls_text() -> str:
    """LLVM text of `void trajopt_group_calls(i64 *job)`.

    A job is the number of groups, the number of stages, the size of a row, and a row for each group: for each stage two
    addresses or 0, the number of doubles at each of them, a number of units of `call_sequence_text`, and the units.
    Groups run one after the other. The units of a stage run again as long as any double at its first address is not 0;
    if any at its second one is not 0 then, the group ends.
    """
    b = Builder("define void @trajopt_group_calls(ptr %job)")
    groups, stages, size = (b.field("%job", number) for number in range(JOB))
    with b.loop(0, groups, only_if=b.op(f"icmp sgt i64 {groups}, 0")) as group:
        first = b.op(f"mul i64 {group.index}, {size}")
        row = b.op(f"getelementptr i64, ptr %job, i64 {b.op(f'add i64 {first}, {JOB}')}")
        with b.loop(0, stages, carried=[("ptr", row)]) as stage:
            here = stage.values[0]
            left, halts = b.field(here, 0, "ptr"), b.field(here, 1, "ptr")
            count, calls = b.field(here, 2), b.field(here, 3)
            with b.loop(0, PASSES) as turn:
                with b.loop(0, calls) as i:
                    unit = b.op(f"getelementptr i64, ptr {here}, i64 {b.index((i.index, 5), HEADER)}")
                    function, call, scratch = (b.field(unit, number, "ptr") for number in (0, 1, 4))
                    begin, end = b.field(unit, 2), b.field(unit, 3)
                    b.do(f"call void {function}(ptr {call}, i64 {begin}, i64 {end}, ptr {scratch})")
                turn.only_while(_any(b, left, count))
            stage.only_while(b.op(f"xor i1 {_any(b, halts, count)}, true"))
            stage.carry(b.op(f"getelementptr i64, ptr {here}, i64 {b.index((calls, 5), HEADER)}"))
    return b.text()


def _any(b: Builder, address: str, count: str) -> str:
    """Whether any of some doubles is not 0, as an i1; none is at address 0."""
    with b.loop(0, count, carried=[("i1", "false")], only_if=b.op(f"icmp ne ptr {address}, null")) as each:
        value = b.load(b.at(address, (each.index, 1)))
        each.carry(b.op(f"or i1 {each.values[0]}, {b.op(f'fcmp une double {value}, 0.0')}"))
    return each.results[0]


@functools.cache
def _native() -> Any:
    name = "trajopt_group_calls"
    address = compiler.load([compiler.object_code(group_calls_text, "group calls")], [name], {})[name]
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)


@dataclass(frozen=True, eq=False)
class Stage:
    """Calls of many groups of lanes.

    Attributes:
        calls: The calls of each group, as many for each.
        left: Numbers (G, W) of each group, which must not move; its calls are repeated until all of them are 0. None
            for calls that run once.
        halts: Numbers (G, W) of each group, which must not move; if any of them is not 0 after the calls, later stages
            of the group do not run.
    """

    calls: Sequence[Sequence[KernelCall | LaneChoice]]
    left: Reals | None = None
    halts: Reals | None = None

    def rows(self) -> Ints:
        """Numbers of the stage for each group, without units that are not prepared."""
        rows = np.zeros((len(self.calls), HEADER + 5 * len(self.calls[0])), dtype=np.int64)
        for i, numbers in enumerate((self.left, self.halts)):
            if numbers is not None:
                rows[:, i] = numbers.ctypes.data + np.arange(len(numbers)) * numbers.strides[0]
                rows[:, 2] = numbers.shape[1]
        rows[:, 3] = len(self.calls[0])
        rows[:, HEADER:] = [[number for call in some for number in call.unit] for some in self.calls]
        return rows


class GroupCalls:
    """Stages of machine code for many groups of lanes; the chosen groups run in one call from Python.

    Groups run one after the other and may share memory. Other threads of Python run meanwhile.

    Args:
        stages: The stages, which each group runs in order.
    """

    def __init__(self, *stages: Stage) -> None:
        self._stages, self._settled = stages, False
        self._calls = [call for stage in stages for some in stage.calls for call in some]
        self._run = _native()
        size = sum(HEADER + 5 * len(stage.calls[0]) for stage in stages)
        self._rows = np.zeros((len(stages[0].calls), size), dtype=np.int64)
        self._job = np.zeros(JOB + self._rows.size, dtype=np.int64)
        self._job[1:JOB] = len(stages), size
        self._address = int(self._job.ctypes.data)

    def __call__(self, chosen: Ints) -> None:
        """Runs the stages of chosen groups (m,)."""
        if not len(chosen):
            return
        if not self._settled:
            self._prepare()
        rows = self._rows[chosen]
        self._job[0] = len(rows)
        self._job[JOB : JOB + rows.size] = rows.ravel()
        self._run(self._address)

    def _prepare(self) -> None:
        for call in self._calls:
            call.prepare()
        self._rows[:] = np.concatenate([stage.rows() for stage in self._stages], axis=1)
        self._settled = all(call.settled for call in self._calls)
