"""Copies of vectors whose elements lie apart, such as one lane of many."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from trajopt.kernels import compiler
from trajopt.kernels.builder import Builder
from trajopt.kernels.rows import Ints

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
