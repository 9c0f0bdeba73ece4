"""Products of dense matrices: blocks of the result stay in registers over the inner loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trajopt.solvers.riccati.recursion.cells import ZERO, Cells, each, even_strips

FEW = 3  # with fewer rows, the sums of a block wait for one another [-]
BESIDE = 4  # sums of such a row, of which results depend; on all processors the same [-]


@dataclass(frozen=True)
class Matrix:
    """Place of a matrix in memory; strides in doubles.

    Attributes:
        base: Address of its first element.
        row: Stride from row to row.
        column: Stride from column to column; 1 where rows are read or written by cells.
    """

    base: str
    row: int
    column: int = 1


@dataclass(frozen=True)
class Term:
    """Product A B that is added to or subtracted from a result.

    Attributes:
        A: Read element by element.
        B: Read by cells.
        count: Number of columns of A and rows of B; the name of an i64 if that is known when the code runs.
        subtract: Whether the product is subtracted.
    """

    A: Matrix
    B: Matrix
    count: int | str
    subtract: bool = False


def add_products(
    x: Cells,
    rows: int,
    cells: int,
    terms: Sequence[Term],
    target: Matrix,
    initial: Matrix | None = None,
    *,
    diagonal: int | None = None,
    ahead: Matrix | None = None,
) -> None:
    """Writes target = initial + the sum of the terms.

    Blocks of (8, 3) cells with 32 registers, (4, 3) with 16; where there are fewer rows, more cells. All rows come
    before the next columns, so that these few columns of B stay in the first cache.

    Args:
        x: Writer of the instructions.
        rows: Number of rows of the result.
        cells: Number of cells of a row.
        terms: The products; empty ones are left out.
        target: Where the result goes.
        initial: May be the target; zero by default.
        diagonal: Column of row 0 that is on the diagonal, if only cells up to the diagonal are wanted.
        ahead: Matrix that is fetched meanwhile, where a block of this shape would lie a step further down, and a step
            further right; the initial one by default, unless that is the target.
    """
    terms = [term for term in terms if term.count]
    if ahead is None and initial and initial.base != target.base:
        ahead = initial
    height = min(rows, 8 if x.registers >= 32 else 4)
    for first, end, width in even_strips(cells, x.widest(height)):
        if diagonal is None:
            with each(x.b, first, end, width) as j:
                _column(x, j, [(*strip, width) for strip in even_strips(rows, height)], terms, target, initial, ahead)
            continue
        for j in range(first, end, width):
            _column(x, j, _below(x, rows, height, (j, width), diagonal), terms, target, initial, ahead)


def _below(
    x: Cells, rows: int, height: int, columns: tuple[int, int], diagonal: int
) -> list[tuple[int, int, int, int]]:
    """Strips of rows (first, end, step) below the diagonal, and how many of a few cells they need."""
    j, width = columns
    above = min(rows, max(0, j * x.width - diagonal))
    found: list[tuple[int, int, int, int]] = []
    for first, end, step in even_strips(rows - above, height):
        for i in range(above + first, above + end, step):
            count = min(width, -(-(i + step + diagonal) // x.width) - j)
            if found and found[-1][2:] == (step, count):
                found[-1] = (found[-1][0], i + step, step, count)
            else:
                found.append((i, i + step, step, count))
    return found


def _column(
    x: Cells,
    j: str | int,
    strips: Sequence[tuple[int, int, int, int]],
    terms: Sequence[Term],
    target: Matrix,
    initial: Matrix | None,
    ahead: Matrix | None,
) -> None:
    """A few cells of strips of rows."""
    for first, end, step, count in strips:
        with each(x.b, first, end, step) as i:
            _block(x, (i, j), (step, count), terms, target, initial, ahead)


def _block(
    x: Cells,
    at: tuple[str | int, str | int],
    shape: tuple[int, int],
    terms: Sequence[Term],
    target: Matrix,
    initial: Matrix | None,
    ahead: Matrix | None,
) -> None:
    """A few rows and cells of the result."""
    b, width, (i, j) = x.b, x.width, at
    places = [(r, c) for r in range(shape[0]) for c in range(shape[1])]
    sums = [ZERO] * len(places)
    if initial:
        start = b.at(initial.base, (i, initial.row), (j, width))
        sums = [x.load(b.at(start, r * initial.row + c * width)) for r, c in places]
    if ahead:
        here = b.at(ahead.base, (i, ahead.row), (j, width))
        x.fetch(b.at(here, shape[0] * ahead.row), shape, ahead.row)
        x.fetch(b.at(here, shape[1] * width), shape, ahead.row)
    for term in terms:
        A, B = b.at(term.A.base, (i, term.A.row)), b.at(term.B.base, (j, width))
        some = None if isinstance(term.count, int) else b.op(f"icmp sgt i64 {term.count}, 0")
        with b.loop(0, term.count, carried=[(x.real, s) for s in sums], only_if=some) as k:
            row = [x.load(b.at(B, (k.index, term.B.row), c * width)) for c in range(shape[1])]
            column = b.at(A, (k.index, term.A.column))
            factors = [x.factor(b.at(column, r * term.A.row), negative=term.subtract) for r in range(shape[0])]
            k.carry(*[x.add_product(factors[r], row[c], k.values[p]) for p, (r, c) in enumerate(places)])
        sums = k.results
    end = b.at(target.base, (i, target.row), (j, width))
    for total, (r, c) in zip(sums, places):
        x.store(total, b.at(end, r * target.row + c * width))


def add_rows(
    x: Cells,
    start: Sequence[str],
    factors: Matrix,
    rows: Matrix,
    count: int,
    *,
    subtract: bool = False,
    beside: int | None = None,
) -> list[str]:
    """Returns the cells start + Σ factors[k] · rows[k]; the factors are a column of a matrix.

    Several sums run side by side, as an addition waits for the one before; by default as many as fit.
    """
    found, most = list(start), x.widest(1)
    for first in range(0, len(start) if count else 0, most):
        held = range(first, min(len(start), first + most))
        found[held.start : held.stop] = _add_rows(
            x, found[held.start : held.stop], held, factors, rows, count, subtract, beside
        )
    return found


def _add_rows(
    x: Cells,
    start: list[str],
    held: range,
    factors: Matrix,
    rows: Matrix,
    count: int,
    subtract: bool,
    beside: int | None,
) -> list[str]:
    """The same for as many cells as the registers hold."""
    b, size = x.b, len(held)

    def add(sums: list[str], k: str | int, offset: int) -> list[str]:
        factor = x.factor(b.at(factors.base, (k, factors.row), offset * factors.row), negative=subtract)
        row = b.at(rows.base, (k, rows.row), offset * rows.row)
        return [x.add_product(factor, x.load(b.at(row, c * x.width)), s) for c, s in zip(held, sums)]

    beside = min(count, beside or max(1, 10 // size))
    whole = count - count % beside
    sums = [start, *[[ZERO] * size for _ in range(beside - 1)]]
    with b.loop(0, whole, beside, carried=[(x.real, s) for each_sum in sums for s in each_sum]) as k:
        carried = [k.values[i : i + size] for i in range(0, beside * size, size)]
        k.carry(*[s for i, some in enumerate(carried) for s in add(some, k.index, i)])
    sums = [k.results[i : i + size] for i in range(0, beside * size, size)]
    for i in range(count - whole):
        sums[i] = add(sums[i], whole, i)
    return [x.total(cells) for cells in zip(*sums)]


def add_few_products(
    x: Cells, rows: int, cells: int, term: Term, target: Matrix, initial: Matrix | None = None
) -> None:
    """Writes target = initial + the term, as `add_products`, row by row if there are too few for a block."""
    if rows >= FEW or isinstance(term.count, str):
        add_products(x, rows, cells, [term], target, initial)
        return
    with each(x.b, 0, rows) as i:
        A = Matrix(x.b.at(term.A.base, (i, term.A.row)), term.A.column)
        places = range(0, cells * x.width, x.width)
        start = [x.load(x.b.at(initial.base, (i, initial.row), c)) if initial else ZERO for c in places]
        for c, cell in zip(places, add_rows(x, start, A, term.B, term.count, beside=BESIDE)):
            x.store(cell, x.b.at(target.base, (i, target.row), c))


def times(
    x: Cells, rows: int, count: int, A: Matrix, vector: str, *more: tuple[Matrix, str]
) -> Iterator[tuple[int, str]]:
    """Yields A z, plus the same of other pairs, in cells: index of the first row, and the results of a cell of rows."""
    b, full, rest = x.b, count // x.width, count % x.width
    for first in range(0, rows, x.width):
        height = min(x.width, rows - first)
        sums = [ZERO] * height
        pairs = [(b.at(of.base, first * of.row), of.row, z) for of, z in ((A, vector), *more)]
        if full:
            with b.loop(0, full * x.width, x.width, carried=[(x.real, s) for s in sums]) as k:
                sums = list(k.values)
                for base, pitch, z in pairs:
                    cell, row = x.load(b.at(z, (k.index, 1))), b.at(base, (k.index, 1))
                    sums = [x.add_product(x.load(b.at(row, r * pitch)), cell, s) for r, s in enumerate(sums)]
                k.carry(*sums)
            sums = k.results
        if rest:
            for base, pitch, z in pairs:
                cell, tail = x.first(rest, x.load(b.at(z, full * x.width))), b.at(base, full * x.width)
                cells = [x.first(rest, x.load(b.at(tail, r * pitch))) for r in range(height)]
                sums = [x.add_product(own, cell, s) for own, s in zip(cells, sums)]
        yield first, x.total(x.transpose(sums))
