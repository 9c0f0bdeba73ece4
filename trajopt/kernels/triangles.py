"""LLVM text of factorisations of symmetric matrices in lanes, and of solves with them: blocks stay in registers.

For each block, products of known rows and columns are subtracted term by term, then those of the block's own triangle.
The order of an element's terms does not depend on the size of blocks.
"""

from __future__ import annotations

from collections.abc import Callable

from trajopt.kernels.builder import Builder
from trajopt.kernels.compiler import has_wide_registers
from trajopt.kernels.operations import LaneType
from trajopt.kernels.products import multiply_add, strips

Place = tuple[str | int, int]
"""Index of a row or a column: a variable (0 for none) and an added constant."""

START: Place = (0, 0)

Sums = dict[tuple[int, int], str]
"""Values of a block, by row and column."""

# Measured with 24 rows in GFlop/s, AVX-512 and AVX2: factors in blocks of 2, 3, 4, 6 reach 36, 38, 45, 34 and 29, 22,
# 11, 13; solving for 48 columns in blocks of 2 x 3, 4 x 4, 4 x 6, 6 x 4 reaches 55, 67, 71, 69 and 42, 27, 23, 27.
WIDE, NARROW, COLUMN = (4, 6), (2, 3), (6, 1)


def factor_text(name: str, n: int, lanes: LaneType) -> str:
    """LLVM text of `void name(double *A, double *F)`: the factors of A (n, n), see `steps.Factorisation`."""
    b = Builder(f"define void @{name}(ptr %A, ptr %F)")
    a, f = _Matrix(b, lanes, "%A", n), _Matrix(b, lanes, "%F", n)
    size = min((WIDE if has_wide_registers() else NARROW)[0], n)
    whole = n - n % size if n else 0
    if whole:
        with b.loop(0, whole, size) as j:
            _factor_diagonal(a, f, (j.index, 0), size)
            below = b.op(f"add i64 {j.index}, {size}")
            with b.loop(below, whole, size, only_if=b.op(f"icmp slt i64 {below}, {whole}")) as i:
                _factor_below(a, f, (i.index, 0), (j.index, 0), (size, size))
            if whole < n:
                _factor_below(a, f, (0, whole), (j.index, 0), (n - whole, size))
    if whole < n:
        _factor_diagonal(a, f, (0, whole), n - whole)
    return b.text()


def solve_text(name: str, n: int, m: int, lanes: LaneType) -> str:
    """LLVM text of `void name(double *F, double *B, double *X, double *room)`: A X = B (n, m), with factors F of A.

    Columns that are solved at once are kept next to each other in `room`, since rows of X may be so far apart that the
    cache maps them to the same place.
    """
    b = Builder(f"define void @{name}(ptr %F, ptr %B, ptr %X, ptr %room)")
    f, right, x = _Matrix(b, lanes, "%F", n), _Matrix(b, lanes, "%B", m), _Matrix(b, lanes, "%X", m)
    size, width = solve_block(n, m)
    whole = n - n % size if n else 0
    for first, end, columns in strips(0, m, width) if n and m else []:
        y = _Matrix(b, lanes, "%room", columns)
        with b.loop(first, end, columns) as loop:
            j = (loop.index, 0)
            with b.loop(0, whole, size) as i:
                _forward(f, right, y, (i.index, 0), j, (size, columns))
            if whole < n:
                _forward(f, right, y, (0, whole), j, (n - whole, columns))
                _backward(f, y, x, (0, whole), j, (n - whole, columns))
            with b.loop(0, whole, size) as done:
                row = b.op(f"sub i64 {whole - size}, {done.index}")
                _backward(f, y, x, (row, 0), j, (size, columns))
    return b.text()


def solve_block(n: int, m: int) -> tuple[int, int]:
    """Returns the numbers of rows and of columns that a triangular solve treats at once."""
    rows, columns = COLUMN if m == 1 else WIDE if has_wide_registers() else NARROW
    return min(rows, n), min(columns, m)


class _Matrix:
    """A row-major matrix in memory, with W lanes per element.

    Args:
        b: Builder of the function.
        lanes: Type of an element.
        base: Address of the matrix.
        columns: Number of columns.
    """

    def __init__(self, b: Builder, lanes: LaneType, base: str, columns: int) -> None:
        self.b, self.lanes, self.columns, self._base = b, lanes, columns, base

    def _at(self, row: Place, column: Place, r: int, c: int) -> str:
        along, width = self.columns * self.lanes.width, self.lanes.width
        constant = (row[1] + r) * along + (column[1] + c) * width
        return self.b.at(self._base, (row[0], along), (column[0], width), constant)

    def load(self, row: Place, column: Place, r: int = 0, c: int = 0) -> str:
        """Loads the element r rows and c columns after a place."""
        return self.b.load(self._at(row, column, r, c), self.lanes.real, self.lanes.align)

    def store(self, value: str, row: Place, column: Place, r: int = 0, c: int = 0) -> None:
        """Stores the element r rows and c columns after a place."""
        self.b.store(value, self._at(row, column, r, c), self.lanes.real, self.lanes.align)


def _minus(b: Builder, lanes: LaneType, total: str, x: str, y: str) -> str:
    """Difference total - x y, fused if the processor can."""
    return multiply_add(b, lanes.real, b.op(f"fneg {lanes.real} {x}"), y, total)


def _times(b: Builder, lanes: LaneType, x: str, y: str) -> str:
    return b.op(f"fmul {lanes.real} {x}, {y}")


def _subtract(
    b: Builder,
    lanes: LaneType,
    sums: Sums,
    count: str,
    left: Callable[[str, int], str],
    right: Callable[[str, int], str],
) -> Sums:
    """Subtracts `count` products left(k, row) right(k, column), k = 0, 1, ..., from a block."""
    carried = [(lanes.real, value) for value in sums.values()]
    with b.loop(0, count, carried=carried, only_if=b.op(f"icmp sgt i64 {count}, 0")) as loop:
        x = {r: left(loop.index, r) for r in sorted({r for r, _ in sums})}
        y = {c: right(loop.index, c) for c in sorted({c for _, c in sums})}
        loop.carry(*[_minus(b, lanes, total, x[r], y[c]) for (r, c), total in zip(sums, loop.values)])
    return dict(zip(sums, loop.results))


def _factor_diagonal(a: _Matrix, f: _Matrix, j: Place, size: int) -> None:
    """Factors of a diagonal block, once those of all earlier columns are known."""
    b, lanes = f.b, f.lanes
    sums = {(r, c): a.load(j, j, r, c) for r in range(size) for c in range(r + 1)}
    sums = _subtract_columns(f, sums, j, j)
    one, nan = lanes.constant(1.0), lanes.constant(float("nan"))
    for c in range(size):
        positive = b.op(f"fcmp ogt {lanes.real} {sums[c, c]}, {lanes.constant(0.0)}")
        inverse = b.op(f"fdiv {lanes.real} {one}, {sums[c, c]}")
        inverse = b.op(f"select {lanes.mask} {positive}, {lanes.real} {inverse}, {lanes.real} {nan}")
        f.store(inverse, j, j, c, c)
        for r in range(c + 1, size):
            lower = _times(b, lanes, sums[r, c], inverse)
            f.store(sums[r, c], j, j, c, r)
            f.store(lower, j, j, r, c)
            for s in range(c + 1, r + 1):
                sums[r, s] = _minus(b, lanes, sums[r, s], lower, sums[s, c])


def _factor_below(a: _Matrix, f: _Matrix, i: Place, j: Place, size: tuple[int, int]) -> None:
    """Factors of a block below the diagonal, once those above it and to its left are known."""
    b, lanes = f.b, f.lanes
    sums = {(r, c): a.load(i, j, r, c) for r in range(size[0]) for c in range(size[1])}
    sums = _subtract_columns(f, sums, i, j)
    for c in range(size[1]):
        inverse, upper = f.load(j, j, c, c), [f.load(j, j, c, s) for s in range(c + 1, size[1])]
        for r in range(size[0]):
            lower = _times(b, lanes, sums[r, c], inverse)
            f.store(sums[r, c], j, i, c, r)
            f.store(lower, i, j, r, c)
            for s, above in enumerate(upper, c + 1):
                sums[r, s] = _minus(b, lanes, sums[r, s], lower, above)


def _subtract_columns(f: _Matrix, sums: Sums, i: Place, j: Place) -> Sums:
    """Subtracts L D Lᵀ of the columns before j from the block at (i, j)."""
    count = f.b.index((j[0], 1), j[1])
    return _subtract(
        f.b, f.lanes, sums, count, lambda k, r: f.load(i, (k, 0), r, 0), lambda k, c: f.load((k, 0), j, 0, c)
    )


def _forward(f: _Matrix, right: _Matrix, y: _Matrix, i: Place, j: Place, size: tuple[int, int]) -> None:
    """Rows i of Y = L⁻¹ B for columns j of B, once all earlier rows are known."""
    b, lanes = f.b, f.lanes
    sums = {(r, c): right.load(i, j, r, c) for r in range(size[0]) for c in range(size[1])}
    count = b.index((i[0], 1), i[1])
    sums = _subtract(
        b, lanes, sums, count, lambda k, r: f.load(i, (k, 0), r, 0), lambda k, c: y.load((k, 0), START, 0, c)
    )
    for s in range(size[0]):
        for r in range(s + 1, size[0]):
            lower = f.load(i, i, r, s)
            for c in range(size[1]):
                sums[r, c] = _minus(b, lanes, sums[r, c], lower, sums[s, c])
    for (r, c), value in sums.items():
        y.store(value, i, START, r, c)


def _backward(f: _Matrix, y: _Matrix, x: _Matrix, i: Place, j: Place, size: tuple[int, int]) -> None:
    """Rows i of (D Lᵀ)⁻¹ Y, written to Y and to columns j of X, once all later rows are known."""
    b, lanes, n = f.b, f.lanes, f.columns
    sums = {(r, c): y.load(i, START, r, c) for r in range(size[0]) for c in range(size[1])}
    behind = n - size[0] - i[1]
    count = str(behind) if i[0] == 0 else b.op(f"sub i64 {behind}, {i[0]}")

    def row(k: str) -> Place:
        return (b.op(f"sub i64 {n - 1}, {k}"), 0)

    sums = _subtract(
        b, lanes, sums, count, lambda k, r: f.load(i, row(k), r, 0), lambda k, c: y.load(row(k), START, 0, c)
    )
    for s in reversed(range(size[0])):
        inverse = f.load(i, i, s, s)
        for c in range(size[1]):
            sums[s, c] = _times(b, lanes, sums[s, c], inverse)
        for r in range(s):
            upper = f.load(i, i, r, s)
            for c in range(size[1]):
                sums[r, c] = _minus(b, lanes, sums[r, c], upper, sums[s, c])
    for (r, c), value in sums.items():
        y.store(value, i, START, r, c)
        x.store(value, i, j, r, c)
