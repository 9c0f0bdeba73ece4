"""Matrix products of fixed sizes as LLVM text: blocks of the result stay in registers over the inner loop.

One writer serves two layouts. In lanes, every element of a matrix is a vector of W lanes. Dense, elements are doubles
and a vector holds neighbours of one row.
"""

from __future__ import annotations

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


def product_text(
    name: str, m: int, k: int, cells: int, layout: Layout, *, initial: bool, subtract: bool, block: tuple[int, int]
) -> str:
    """LLVM text of `void name(double *A, double *B, double *initial, double *C)`: C = initial ± A B.

    Args:
        name: Symbol.
        m: Rows of A and C.
        k: Columns of A, rows of B.
        cells: Cells of a row of B and C.
        layout: How the matrices lie in memory.
        initial: Whether there is an initial value; else it counts as zero. It may be C itself.
        subtract: Whether the product is subtracted.
        block: Rows and cells of a block.
    """
    b = Builder(f"define internal void @{name}(ptr %A, ptr %B, ptr %initial, ptr %C)")
    for i0, i1, rows in _ranges(m, block[0]):
        for j0, j1, columns in _ranges(cells, block[1]):
            with b.loop(i0, i1, rows) as i, b.loop(j0, j1, columns) as j:
                _block(b, k, i.index, j.index, (rows, columns), layout, initial, subtract)
    return b.text()


def _ranges(size: int, block: int) -> list[tuple[int, int, int]]:
    """Ranges (first, end, step) that cover `size` in whole blocks and a smaller last one."""
    whole = size - size % block
    return [r for r in ((0, whole, block), (whole, size, size - whole)) if r[0] < r[1]]


def _block(
    b: Builder, k: int, i: str, j: str, shape: tuple[int, int], layout: Layout, initial: bool, subtract: bool
) -> None:
    """One block of the result."""
    real, align = layout.real, layout.align
    cells = [(r, c) for r in range(shape[0]) for c in range(shape[1])]

    def place(base: str, strides: tuple[int, int], r: int, c: int) -> str:
        return b.at(base, (i, strides[0]), r * strides[0], (j, strides[1]), c * strides[1])

    start = {x: "zeroinitializer" if real.startswith("<") else "0.0" for x in cells}
    if initial:
        start = {(r, c): b.load(place("%initial", layout.initial, r, c), real, align) for r, c in cells}
    if not k:  # a sum of nothing; `loop` makes one pass at least
        for r, c in cells:
            b.store(start[r, c], place("%C", layout.c, r, c), real, align)
        return
    with b.loop(0, k, carried=[(real, start[x]) for x in cells]) as inner:
        a = []
        for r in range(shape[0]):
            address = b.at("%A", (i, layout.a[0]), r * layout.a[0], (inner.index, layout.a[1]))
            a.append(_element(b, address, layout, subtract))
        rows = [
            b.load(b.at("%B", (inner.index, layout.b[0]), (j, layout.b[1]), c * layout.b[1]), real, align)
            for c in range(shape[1])
        ]
        sums = [multiply_add(b, real, a[r], rows[c], inner.values[n]) for n, (r, c) in enumerate(cells)]
        inner.carry(*sums)
    for n, (r, c) in enumerate(cells):
        b.store(inner.results[n], place("%C", layout.c, r, c), real, align)


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
