"""Matrix products of fixed sizes as LLVM text: blocks of the result stay in registers over the inner loop.

One writer serves two layouts. In lanes, every element of a matrix is a vector of W lanes. Dense, elements are doubles
and a vector holds neighbours of one row.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from trajopt.kernels.builder import Builder
from trajopt.kernels.compiler import has_fma


@dataclass(frozen=True)
class Layout:
    """How the three matrices of C = initial ± A B lie in memory; strides in doubles.

    Attributes:
        real: LLVM type of one cell.
        align: Its alignment [bytes].
        splat: Number of doubles that an element of A is repeated to; 0 if it is a cell as it is.
        a: Strides of A along its rows and its columns (of Aᵀ, if A is stored transposed).
        b: Strides of B along its rows and from cell to cell.
        c: Strides of C.
        initial: Strides of the initial value.
    """

    real: str
    align: int
    splat: int
    a: tuple[int, int]
    b: tuple[int, int]
    c: tuple[int, int]
    initial: tuple[int, int]


Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Block:
    """Rows and cells of a product's result that sum over the same inner indices.

    Attributes:
        rows: First row, and the end.
        cells: First cell, and the end.
        inner: Ranges (first, end) of inner indices; none where the sum is empty.
    """

    rows: tuple[int, int]
    cells: tuple[int, int]
    inner: Ranges

    @property
    def multiplications(self) -> int:
        """Number of multiplications of cells."""
        rows, cells = self.rows[1] - self.rows[0], self.cells[1] - self.cells[0]
        return rows * cells * sum(end - first for first, end in self.inner)


def dense(m: int, k: int, cells: int) -> tuple[Block, ...]:
    """The one block of a product without structural zeros."""
    return (Block((0, m), (0, cells), ((0, k),) if k else ()),)


def product_text(
    name: str,
    blocks: tuple[Block, ...],
    layout: Layout,
    *,
    initial: bool,
    subtract: bool,
    size: tuple[int, int],
    mirrored: int = 0,
    rows: Ranges = (),
    inner: Ranges = (),
) -> str:
    """LLVM text of `void name(double *A, double *B, double *initial, double *C, ...)`: C = initial ± A B.

    For each of `rows` and then of `inner` follows an i1: without it these rows of C are not computed, or these inner
    indices are left out of the sums.

    Args:
        name: Symbol.
        blocks: They cover C.
        layout: How the matrices lie in memory.
        initial: Whether there is an initial value; else it counts as zero. It may be C itself.
        subtract: Whether the product is subtracted.
        size: Rows and cells that are summed at once in registers.
        mirrored: Rows of a symmetric C, of which the blocks cover the upper triangle: the rest is a copy of that.
        rows: Ranges of rows that may be left out; each block lies in one of them.
        inner: Ranges of inner indices that may be left out.
    """
    switches = [f"i1 %row{i}" for i in range(len(rows))] + [f"i1 %inner{i}" for i in range(len(inner))]
    b = Builder(f"define internal void @{name}({', '.join(['ptr %A', 'ptr %B', 'ptr %initial', 'ptr %C', *switches])})")
    for block in blocks:
        with b.when(f"%row{_holder(rows, block.rows)}") if rows else contextlib.nullcontext():
            sums = _cut(block.inner, inner)
            for i0, i1, height in _ranges(*block.rows, size[0]):
                for j0, j1, columns in _ranges(*block.cells, size[1]):
                    with b.loop(i0, i1, height) as i, b.loop(j0, j1, columns) as j:
                        _sum(b, sums, i.index, j.index, (height, columns), layout, initial, subtract)
    if mirrored > 1:
        _mirror(b, mirrored, layout)
    return b.text()


def _holder(ranges: Ranges, part: tuple[int, int]) -> int:
    """Which range holds this part."""
    return next(i for i, (first, end) in enumerate(ranges) if first <= part[0] and part[1] <= end)


def _cut(inner: Ranges, ranges: Ranges) -> list[tuple[int, int, str | None]]:
    """Inner indices, cut where a range ends, and the switch of each part."""
    if not ranges:
        return [(first, end, None) for first, end in inner]
    parts = [
        (max(first, low), min(end, high), f"%inner{i}") for first, end in inner for i, (low, high) in enumerate(ranges)
    ]
    return [(first, end, switch) for first, end, switch in parts if first < end]


def _mirror(b: Builder, n: int, layout: Layout) -> None:
    """Copies the upper triangle of C to the lower one."""
    with b.loop(1, n) as i, b.loop(0, i.index) as j:
        value = b.load(b.at("%C", (j.index, layout.c[0]), (i.index, layout.c[1])), layout.real, layout.align)
        b.store(value, b.at("%C", (i.index, layout.c[0]), (j.index, layout.c[1])), layout.real, layout.align)


def _ranges(first: int, end: int, step: int) -> list[tuple[int, int, int]]:
    """Ranges (first, end, step) that cover [first, end) in whole steps and a smaller last one."""
    whole = end - (end - first) % step
    return [r for r in ((first, whole, step), (whole, end, end - whole)) if r[0] < r[1]]


def _sum(
    b: Builder,
    inner: list[tuple[int, int, str | None]],
    i: str,
    j: str,
    shape: tuple[int, int],
    layout: Layout,
    initial: bool,
    subtract: bool,
) -> None:
    """Sums a few rows and cells of the result in registers."""
    real, align = layout.real, layout.align
    cells = [(r, c) for r in range(shape[0]) for c in range(shape[1])]

    def place(base: str, strides: tuple[int, int], r: int, c: int) -> str:
        return b.at(base, (i, strides[0]), r * strides[0], (j, strides[1]), c * strides[1])

    sums = ["zeroinitializer" if real.startswith("<") else "0.0" for _ in cells]
    if initial:
        sums = [b.load(place("%initial", layout.initial, r, c), real, align) for r, c in cells]
    for first, end, switch in inner:
        with b.loop(first, end, carried=[(real, s) for s in sums], only_if=switch) as loop:
            k = loop.index
            a = [
                _element(b, b.at("%A", (i, layout.a[0]), r * layout.a[0], (k, layout.a[1])), layout, subtract)
                for r in range(shape[0])
            ]
            rows = [
                b.load(b.at("%B", (k, layout.b[0]), (j, layout.b[1]), c * layout.b[1]), real, align)
                for c in range(shape[1])
            ]
            loop.carry(*[multiply_add(b, real, a[r], rows[c], loop.values[n]) for n, (r, c) in enumerate(cells)])
        sums = loop.results
    for total, (r, c) in zip(sums, cells):
        b.store(total, place("%C", layout.c, r, c), real, align)


def _element(b: Builder, address: str, layout: Layout, negate: bool) -> str:
    """An element of A, in every place of a cell."""
    if not layout.splat:
        value = b.load(address, layout.real, layout.align)
        return b.op(f"fneg {layout.real} {value}") if negate else value
    value = b.load(address)
    return splat(b, b.op(f"fneg double {value}") if negate else value, layout.splat)


def splat(b: Builder, value: str, width: int) -> str:
    """A double in all places of a vector."""
    first = b.op(f"insertelement <{width} x double> poison, double {value}, i32 0")
    return b.op(f"shufflevector <{width} x double> {first}, <{width} x double> poison, <{width} x i32> zeroinitializer")


def multiply_add(b: Builder, real: str, x: str, y: str, z: str) -> str:
    """x y + z."""
    if has_fma():
        suffix = "f64" if real == "double" else f"v{real.split()[0][1:]}f64"
        return b.op(f"call {real} @llvm.fma.{suffix}({real} {x}, {real} {y}, {real} {z})")
    return b.op(f"fadd {real} {b.op(f'fmul {real} {x}, {y}')}, {z}")


def declarations(*reals: str) -> str:
    """What products of these cell types call."""
    lines = []
    for real in sorted(set(reals)):
        suffix = "f64" if real == "double" else f"v{real.split()[0][1:]}f64"
        lines.append(f"declare {real} @llvm.fma.{suffix}({real}, {real}, {real})")
    return "\n".join(lines) + "\n"
