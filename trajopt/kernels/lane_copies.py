"""Copies of some lanes: of vectors whose elements lie apart, and of chosen lanes of whole arrays."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from trajopt.kernels import compiler
from trajopt.kernels.builder import Builder
from trajopt.kernels.rows import Ints, Reals

COPY = ("source", "target", "count", "source_stride", "target_stride")
"""Numbers of a copy: addresses, number of doubles, and distances from one double to the next [bytes]."""


def copies_text() -> str:
    """LLVM text of `void trajopt_copies(i64 *table, i64 n)`, with the numbers of `COPY` for each of n copies."""
    b = Builder("define void @trajopt_copies(ptr %table, i64 %n)")
    with b.loop(0, "%n", only_if=b.op("icmp sgt i64 %n, 0")) as copy:
        entry = b.op(f"getelementptr [{len(COPY)} x i64], ptr %table, i64 {copy.index}")
        source, target = (b.field(entry, number, "ptr") for number in (0, 1))
        count, apart, aside = (b.field(entry, number) for number in (2, 3, 4))
        with b.loop(0, count, only_if=b.op(f"icmp sgt i64 {count}, 0")) as i:
            here = b.op(f"getelementptr i8, ptr {source}, i64 {b.op(f'mul i64 {i.index}, {apart}')}")
            there = b.op(f"getelementptr i8, ptr {target}, i64 {b.op(f'mul i64 {i.index}, {aside}')}")
            b.store(b.load(here), there)
    return b.text()


@functools.cache
def _native() -> Any:
    addresses = compiler.load([compiler.object_code(copies_text, "copies")], ["trajopt_copies"], {})
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(addresses["trajopt_copies"])


def copy_vectors(table: Ints) -> None:
    """Copies vectors of doubles; `table` (n, 5) has the numbers of `COPY`, whose addresses are not checked."""
    _native()(int(table.ctypes.data), len(table))


CHOICE = ("source", "target", "count", "chosen")
"""Numbers of a choice: addresses, number of vectors of W doubles, and the address of W doubles."""


def choices_text(width: int) -> str:
    """LLVM text of `void trajopt_choices(i64 *table, i64 first, i64 end, double *)`, a unit of `GroupCalls`.

    `table` has the numbers of `CHOICE` for each choice. Lanes whose double under `chosen` is not 0 are copied.
    """
    real = f"<{width} x double>"
    b = Builder("define void @trajopt_choices(ptr %table, i64 %first, i64 %end, ptr %scratch)")
    with b.loop("%first", "%end", only_if=b.op("icmp slt i64 %first, %end")) as choice:
        entry = b.op(f"getelementptr [{len(CHOICE)} x i64], ptr %table, i64 {choice.index}")
        source, target, chosen = (b.field(entry, number, "ptr") for number in (0, 1, 3))
        mask = b.op(f"fcmp une {real} {b.load(chosen, real)}, zeroinitializer")
        count = b.field(entry, 2)
        with b.loop(0, count, only_if=b.op(f"icmp sgt i64 {count}, 0")) as i:
            here, there = (b.at(address, (i.index, width)) for address in (source, target))
            old, new = b.load(there, real), b.load(here, real)
            b.store(b.op(f"select <{width} x i1> {mask}, {real} {new}, {real} {old}"), there, real)
    return b.text()


@functools.cache
def _choices(width: int) -> int:
    image = compiler.object_code(lambda: choices_text(width), "choices", str(width))
    return int(compiler.load([image], ["trajopt_choices"], {})["trajopt_choices"])


class LaneChoice:
    """Copies chosen lanes of arrays (..., W) to other arrays of the same shapes, as a call of `GroupCalls`.

    Args:
        pairs: Arrays from and to, which must not move.
        chosen: Array (W,); lanes where it is not 0 are copied.

    Attributes:
        settled: True: there is only one code.
        unit: See `call_sequence_text`.
    """

    settled = True

    def __init__(self, pairs: Sequence[tuple[Reals, Reals]], chosen: Reals) -> None:
        self._arrays, width = (pairs, chosen), chosen.shape[-1]  # keeps the arrays alive
        choices = [(a.ctypes.data, b.ctypes.data, a.size // width, chosen.ctypes.data) for a, b in pairs]
        self._table = np.array(choices, dtype=np.int64)
        self.unit = (_choices(width), int(self._table.ctypes.data), 0, len(pairs), 0)

    def prepare(self) -> None:
        """Does nothing: the code is ready."""
