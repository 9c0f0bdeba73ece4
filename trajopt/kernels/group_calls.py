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
HEADER = 3
"""Numbers of a stage besides its units."""


def group_calls_text() -> str:
    """LLVM text of `void trajopt_group_calls(i64 *job)`.

    A job is the number of groups, the number of stages, the size of a row, and a row for each group: for each stage an
    address, a number of doubles there, a number of units of `call_sequence_text`, and the units. Groups run one after
    the other; the units of a stage run again as long as any of its doubles is not 0.
    """
    b = Builder("define void @trajopt_group_calls(ptr %job)")
    groups, stages, size = (b.field("%job", number) for number in range(HEADER))
    with b.loop(0, groups, only_if=b.op(f"icmp sgt i64 {groups}, 0")) as group:
        first = b.op(f"mul i64 {group.index}, {size}")
        row = b.op(f"getelementptr i64, ptr %job, i64 {b.op(f'add i64 {first}, {HEADER}')}")
        with b.loop(0, stages, carried=[("ptr", row)]) as stage:
            here = stage.values[0]
            left, count, calls = b.field(here, 0, "ptr"), b.field(here, 1), b.field(here, 2)
            with b.loop(0, PASSES) as turn:
                with b.loop(0, calls) as i:
                    unit = b.op(f"getelementptr i64, ptr {here}, i64 {b.index((i.index, 5), HEADER)}")
                    function, call, scratch = (b.field(unit, number, "ptr") for number in (0, 1, 4))
                    begin, end = b.field(unit, 2), b.field(unit, 3)
                    b.do(f"call void {function}(ptr {call}, i64 {begin}, i64 {end}, ptr {scratch})")
                some = b.op(f"icmp sgt i64 {count}, 0")
                with b.loop(0, count, carried=[("i1", "false")], only_if=some) as each:
                    value = b.load(b.at(left, (each.index, 1)))
                    each.carry(b.op(f"or i1 {each.values[0]}, {b.op(f'fcmp une double {value}, 0.0')}"))
                turn.only_while(each.results[0])
            stage.carry(b.op(f"getelementptr i64, ptr {here}, i64 {b.index((calls, 5), HEADER)}"))
    return b.text()


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
    """

    calls: Sequence[Sequence[KernelCall | LaneChoice]]
    left: Reals | None = None

    def rows(self) -> Ints:
        """Numbers of the stage for each group, without units that are not prepared."""
        rows = np.zeros((len(self.calls), HEADER + 5 * len(self.calls[0])), dtype=np.int64)
        if self.left is not None:
            rows[:, 0] = self.left.ctypes.data + np.arange(len(self.left)) * self.left.strides[0]
            rows[:, 1] = self.left.shape[1]
        rows[:, 2] = len(self.calls[0])
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
        self._job = np.zeros(HEADER + self._rows.size, dtype=np.int64)
        self._job[1:HEADER] = len(stages), size
        self._address = int(self._job.ctypes.data)

    def __call__(self, chosen: Ints) -> None:
        """Runs the stages of chosen groups (m,)."""
        if not len(chosen):
            return
        if not self._settled:
            self._prepare()
        rows = self._rows[chosen]
        self._job[0] = len(rows)
        self._job[HEADER : HEADER + rows.size] = rows.ravel()
        self._run(self._address)

    def _prepare(self) -> None:
        for call in self._calls:
            call.prepare()
        self._rows[:] = np.concatenate([stage.rows() for stage in self._stages], axis=1)
        self._settled = all(call.settled for call in self._calls)
