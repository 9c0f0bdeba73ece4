"""LLVM text of matrix products in lanes: an element is a vector of W lanes, and blocks of them stay in registers."""

from __future__ import annotations

from dataclasses import dataclass

from trajopt.kernels.builder import Builder
from trajopt.kernels.compiler import has_fma


@dataclass(frozen=True)
class MatrixLayout:
    """Memory layout of the three matrices of C = initial ± A B; strides in doubles.

    Attributes:
        real: LLVM type of one cell.
        align: Its alignment [bytes].
        a: Strides of A along its rows and its columns (of Aᵀ, if A is stored transposed).
        b: Strides of B along its rows and from cell to cell.
        c: Strides of C.
        initial: Strides of the initial value.
    """

    real: str
    align: int
    a: tuple[int, int]
    b: tuple[int, int]
    c: tuple[int, int]
    initial: tuple[int, int]


Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class ProductBlock:
    """Rows and cells of a product's result that sum over the same inner indices.

    Attributes:
        rows: First row, and the end.
        cells: First cell, and the end.
        inner: Ranges (first, end) of inner indices; empty for an empty sum.
    """

    rows: tuple[int, int]
    cells: tuple[int, int]
    inner: Ranges

    @property
    def multiplications(self) -> int:
        """Number of multiplications of cells in the block [-]."""
        rows, cells = self.rows[1] - self.rows[0], self.cells[1] - self.cells[0]
        return rows * cells * sum(end - first for first, end in self.inner)


@dataclass(frozen=True)
class IndexRanges:
    """Inner indices of a sum: `count` ranges of equal length, each of which counts only if its bit is set.

    Attributes:
        first: First index.
        length: Length of a range.
        count: Number of ranges.
        number: Bit of the first range; None for a single range, which always counts.
    """

    first: int
    length: int
    count: int
    number: int | None

    def follows(self, first: int, length: int, number: int) -> bool:
        """Whether the range of `length` indices from `first`, with bit `number`, directly continues these ranges."""
        end = self.first + self.length * self.count
        return self.number is not None and (end, self.length, self.number + self.count) == (first, length, number)


def product_text(
    name: str,
    blocks: tuple[ProductBlock, ...],
    layout: MatrixLayout,
    *,
    initial: bool,
    subtract: bool,
    size: tuple[int, int],
    mirrored: int = 0,
    rows: Ranges = (),
    inner: Ranges = (),
) -> str:
    """LLVM text of `void name(double *A, double *B, double *initial, double *C, ...)`: C = initial ± A B.

    With `rows` an i64 argument follows whose bit i selects the i-th of these ranges of C, and with `inner` one whose
    bits select the ranges of inner indices to sum over.

    Args:
        name: Symbol.
        blocks: Blocks that cover C.
        layout: Memory layout of the matrices.
        initial: Whether there is an initial value, which may be C itself; otherwise it is zero.
        subtract: Whether the product is subtracted.
        size: Rows and cells that are summed at once in registers.
        mirrored: Number of rows of a symmetric C. The blocks then cover the upper triangle, which is copied.
        rows: Ranges of rows that may be left out; each block lies in one of them.
        inner: Ranges of inner indices that may be left out.
    """
    masks = [f"i64 %{axis}" for axis, ranges in (("rows", rows), ("inner", inner)) if ranges]
    b = Builder(f"define void @{name}({', '.join(['ptr %A', 'ptr %B', 'ptr %initial', 'ptr %C', *masks])})")

    def write(some: tuple[ProductBlock, ...], base: str) -> None:
        for block in some:
            sums = _parts(block.inner, inner)
            for i0, i1, height in strips(*block.rows, size[0]):
                for j0, j1, columns in strips(*block.cells, size[1]):
                    with b.loop(i0, i1, height) as i, b.loop(j0, j1, columns) as j:
                        place = i.index if base == "0" else b.op(f"add i64 {base}, {i.index}")
                        _sum(b, sums, place, j.index, (height, columns), layout, initial, subtract)

    for number, count, first, length, some in _alike(blocks, rows) if rows else []:
        with b.loop(number, number + count) as group, b.when(bit(b, "%rows", group.index)):
            write(some, b.index((group.index, length), first - number * length))
    if not rows:
        write(blocks, "0")
    if mirrored > 1:
        _mirror(b, mirrored, layout)
    return b.text()


def _alike(blocks: tuple[ProductBlock, ...], rows: Ranges) -> list[tuple[int, int, int, int, tuple[ProductBlock, ...]]]:
    """Adjacent ranges of rows with equal blocks: first range, number of ranges, first row, length, blocks.

    Rows of blocks count from the first row of their range.
    """
    groups: list[tuple[int, int, int, int, tuple[ProductBlock, ...]]] = []
    for number, (first, end) in enumerate(rows):
        held = [block for block in blocks if first <= block.rows[0] and block.rows[1] <= end]
        own = tuple(ProductBlock((b.rows[0] - first, b.rows[1] - first), b.cells, b.inner) for b in held)
        if groups and groups[-1][3:] == (end - first, own):
            before = groups[-1]
            groups[-1] = (before[0], before[1] + 1, *before[2:])
        else:
            groups.append((number, 1, first, end - first, own))
    return groups


def _parts(inner: Ranges, ranges: Ranges) -> list[IndexRanges]:
    """Inner indices, split at the ends of ranges; adjacent complete ranges of equal length form one part."""
    if not ranges:
        return [IndexRanges(first, end - first, 1, None) for first, end in inner]
    parts: list[IndexRanges] = []
    for first, end in inner:
        for number, (low, high) in enumerate(ranges):
            start, length = max(first, low), min(end, high) - max(first, low)
            if length <= 0:
                continue
            before = parts[-1] if parts else None
            if before and before.follows(start, length, number):
                parts[-1] = IndexRanges(before.first, length, before.count + 1, before.number)
            else:
                parts.append(IndexRanges(start, length, 1, number))
    return parts


def bit(b: Builder, mask: str, index: str | int) -> str:
    """Writes the code that reads bit `index` of the i64 `mask`; returns the name of an i1."""
    return b.op(f"trunc i64 {b.op(f'lshr i64 {mask}, {index}')} to i1")


def _mirror(b: Builder, n: int, layout: MatrixLayout) -> None:
    """Copies the upper triangle of C to the lower one."""
    with b.loop(1, n) as i, b.loop(0, i.index) as j:
        value = b.load(b.at("%C", (j.index, layout.c[0]), (i.index, layout.c[1])), layout.real, layout.align)
        b.store(value, b.at("%C", (i.index, layout.c[0]), (j.index, layout.c[1])), layout.real, layout.align)


def strips(first: int, end: int, step: int) -> list[tuple[int, int, int]]:
    """Ranges (first, end, step) that cover [first, end) in full steps and a shorter last one."""
    whole = end - (end - first) % step
    return [r for r in ((first, whole, step), (whole, end, end - whole)) if r[0] < r[1]]


def _sum(
    b: Builder,
    inner: list[IndexRanges],
    i: str,
    j: str,
    shape: tuple[int, int],
    layout: MatrixLayout,
    initial: bool,
    subtract: bool,
) -> None:
    """Sums a block of rows and cells of the result in registers."""
    real, align = layout.real, layout.align
    cells = [(r, c) for r in range(shape[0]) for c in range(shape[1])]

    def place(base: str, strides: tuple[int, int], r: int, c: int) -> str:
        return b.at(base, (i, strides[0]), r * strides[0], (j, strides[1]), c * strides[1])

    sums = ["zeroinitializer" if real.startswith("<") else "0.0" for _ in cells]
    if initial:
        sums = [b.load(place("%initial", layout.initial, r, c), real, align) for r, c in cells]

    def add(first: str | int, end: str | int, start: list[str], only_if: str | None = None) -> list[str]:
        with b.loop(first, end, carried=[(real, s) for s in start], only_if=only_if) as loop:
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
        return loop.results

    for part in inner:
        if part.number is None:
            sums = add(part.first, part.first + part.length, sums)
            continue
        with b.loop(part.number, part.number + part.count, carried=[(real, s) for s in sums]) as group:
            first = b.index((group.index, part.length), part.first - part.number * part.length)
            end = b.op(f"add i64 {first}, {part.length}")
            group.carry(*add(first, end, group.values, bit(b, "%inner", group.index)))
        sums = group.results
    for total, (r, c) in zip(sums, cells):
        b.store(total, place("%C", layout.c, r, c), real, align)


def _element(b: Builder, address: str, layout: MatrixLayout, negate: bool) -> str:
    """Element of A, or its negative."""
    value = b.load(address, layout.real, layout.align)
    return b.op(f"fneg {layout.real} {value}") if negate else value


def multiply_add(b: Builder, real: str, x: str, y: str, z: str) -> str:
    """Writes x y + z for scalars or vectors of type `real`, fused if the processor can; returns its name."""
    if has_fma():
        suffix = "f64" if real == "double" else f"v{real.split()[0][1:]}f64"
        return b.op(f"call {real} @llvm.fma.{suffix}({real} {x}, {real} {y}, {real} {z})")
    return b.op(f"fadd {real} {b.op(f'fmul {real} {x}, {y}')}, {z}")
