"""Weighted rows of a knot: CᵀDC in the Hessian, Cᵀh in the gradient, their values C z.

Each knot has lists of its rows: `dense` ones, padded with their last one to whole cells, and those of a `single`
variable, with its `column`; rows that are switched off are in neither, and cost nothing. `counts` has the lengths.
"""

from __future__ import annotations

from collections.abc import Sequence

from trajopt.solvers.riccati.recursion.cells import ZERO
from trajopt.solvers.riccati.recursion.dense import Matrix, Term, add_products
from trajopt.solvers.riccati.recursion.frame import Frame
from trajopt.solvers.riccati.recursion.sizes import Sizes


class KnotRows:
    """Writes the code for the weighted rows of one knot.

    Args:
        frame: The function.
        t: The knot.
        end: Whether the knot is the terminal one, whose rows depend on dx only.
    """

    def __init__(self, frame: Frame, t: str, *, end: bool = False) -> None:
        self.frame, self.x, self.b, self.sizes, self.t = frame, frame.x, frame.b, frame.sizes, t
        self.columns = self.sizes.n if end else self.sizes.s
        self.pitch = self.sizes.whole(self.sizes.s)
        self.C = frame.arrays["row_end"] if end else frame.of_knot("row_C", t)
        counts = frame.of_knot("counts", t)
        self._dense, self._single = (self._whole(counts, i) for i in range(2))
        self._some_dense, self._some_single = (
            self.b.op(f"icmp sgt i64 {count}, 0") for count in (self._dense, self._single)
        )
        self._numbers = {name: frame.of_knot(name, t) for name in ("dense", "single", "column")}

    def _whole(self, base: str, i: str | int) -> str:
        return self.b.op(f"load i64, ptr {self.b.at(base, (i, 1))}, align 8")

    def add_to_hessian(self, H: str, row: int, target: str, pitch: int) -> None:
        """Writes target = H + CᵀDC on and below the diagonal; H may be the target."""
        x, b, frame, s = self.x, self.b, self.frame, self.sizes
        weights = frame.of_knot("weights", self.t)
        packed, weighted = frame.scratch["packed"], frame.scratch["packed weighted"]
        with b.loop(0, self._dense, only_if=self._some_dense) as k:
            r = self._whole(self._numbers["dense"], k.index)
            weight = x.factor(b.at(weights, (r, 1)))
            for c, cell in enumerate(x.load_row(b.at(self.C, (r, self.columns)), self.columns)):
                there = ((k.index, self.pitch), c * s.width)
                x.store(cell, b.at(packed, *there))
                x.store(x.op("fmul", weight, cell), b.at(weighted, *there))
        term = Term(Matrix(packed, 1, self.pitch), Matrix(weighted, self.pitch), self._dense)
        cells = s.whole(self.columns) // s.width
        add_products(x, self.columns, cells, [term], Matrix(target, pitch), Matrix(H, row), diagonal=0)
        with b.loop(0, self._single, only_if=self._some_single) as k:
            r, j = (self._whole(self._numbers[name], k.index) for name in ("single", "column"))
            factor, weight = b.load(b.at(self.C, (r, self.columns), (j, 1))), b.load(b.at(weights, (r, 1)))
            place = b.at(target, (j, pitch + 1))
            square = b.op(f"fmul double {b.op(f'fmul double {factor}, {factor}')}, {weight}")
            b.store(b.op(f"fadd double {b.load(place)}, {square}"), place)

    def add_to_gradient(self, h: str, start: Sequence[str], target: str) -> None:
        """Writes start + Cᵀ h, with the rows C of the knot and the array h of this name, to the address `target`."""
        x, b, s, h = self.x, self.b, self.sizes, self.frame.of_knot(h, self.t)
        most = x.widest(1)
        for first in range(0, len(start), most):
            held = list(start[first : first + most])
            with b.loop(0, self._dense, carried=[(x.real, c) for c in held], only_if=self._some_dense) as k:
                r = self._whole(self._numbers["dense"], k.index)
                factor, before = x.factor(b.at(h, (r, 1))), first * s.width
                row = x.load_row(b.at(self.C, (r, self.columns), before), self.columns - before)
                k.carry(*[x.add_product(factor, cell, total) for cell, total in zip(row, k.values)])
            for c, cell in enumerate(k.results):
                x.store(cell, b.at(target, (first + c) * s.width))
        with b.loop(0, self._single, only_if=self._some_single) as k:
            r, j = (self._whole(self._numbers[name], k.index) for name in ("single", "column"))
            factor, weight = b.load(b.at(self.C, (r, self.columns), (j, 1))), b.load(b.at(h, (r, 1)))
            place = b.at(target, (j, 1))
            b.store(b.op(f"fadd double {b.load(place)}, {b.op(f'fmul double {factor}, {weight}')}"), place)

    def evaluate(self, z: str, values: str) -> None:
        """Writes the values C z of the listed rows into the array named `values`; other rows stay unchanged."""
        x, b, s, target = self.x, self.b, self.sizes, self.frame.of_knot(values, self.t)
        with b.loop(0, self._dense, s.width, only_if=self._some_dense) as k:
            numbers = [self._whole(self._numbers["dense"], b.index((k.index, 1), lane)) for lane in range(s.width)]
            rows = [b.at(self.C, (r, self.columns)) for r in numbers]
            sums = [ZERO] * s.width
            for c in range(0, self.columns, s.width):
                count = min(s.width, self.columns - c)
                here = x.first(count, x.load(b.at(z, c)))
                cells = [x.load_masked(b.at(row, c), count) for row in rows]
                sums = [x.add_product(cell, here, total) for cell, total in zip(cells, sums)]
            found = x.total(x.transpose(sums))
            for lane, r in enumerate(numbers):
                b.store(x.element(found, lane), b.at(target, (r, 1)))
        with b.loop(0, self._single, only_if=self._some_single) as k:
            r, j = (self._whole(self._numbers[name], k.index) for name in ("single", "column"))
            factor, value = b.load(b.at(self.C, (r, self.columns), (j, 1))), b.load(b.at(z, (j, 1)))
            b.store(b.op(f"fmul double {factor}, {value}"), b.at(target, (r, 1)))


FIND = "trajopt_find_rows"


def find_text(sizes: Sizes) -> str:
    """`i64 trajopt_find_rows(i64 *table, i64 flags)`: writes the lists of all knots; returns 0.

    A row is switched off if both its bounds are infinite or all its factors are zero.
    """
    frame = Frame(sizes, FIND)
    b, T = frame.b, frame.T
    with b.loop(0, T, only_if=b.op(f"icmp sgt i64 {T}, 0")) as t:
        _find(frame, t.index, frame.of_knot("row_C", t.index), sizes.s)
    _find(frame, T, frame.arrays["row_end"], sizes.n)
    return frame.text()


def _find(frame: Frame, t: str, C: str, columns: int) -> None:
    """Writes the lists of a knot."""
    x, b, s, bits = frame.x, frame.b, frame.sizes, f"i{frame.sizes.width}"
    lower, upper, counts = (frame.of_knot(name, t) for name in ("lower", "upper", "counts"))
    dense, single, column = (frame.of_knot(name, t) for name in ("dense", "single", "column"))
    lists = [("i64", "0"), ("i64", "0"), ("i64", "0")]
    with b.loop(0, s.weighted or 0, carried=lists, only_if=str((s.weighted or 0) > 0).lower()) as r:
        some, place = "0", "-1"
        for c in reversed(range(0, columns, s.width)):
            cell = x.load_masked(b.at(C, (r.index, columns), c), columns - c)
            mask = b.op(f"bitcast {x.truth} {b.op(f'fcmp une {x.real} {cell}, {ZERO}')} to {bits}")
            number, first = (
                b.op(f"zext {bits} {b.op(f'call {bits} @llvm.{name}.{bits}({bits} {mask}{more})')} to i64")
                for name, more in (("ctpop", ""), ("cttz", ", i1 false"))
            )
            some = b.op(f"add i64 {some}, {number}")
            there = b.op(f"icmp ne i64 {number}, 0")
            place = b.op(f"select i1 {there}, i64 {b.op(f'add i64 {first}, {c}')}, i64 {place}")
        bounds = [b.load(b.at(of, (r.index, 1))) for of in (lower, upper)]
        free = [b.op(f"fcmp oeq double {v}, {w}") for v, w in zip(bounds, (MINUS_INFINITY, INFINITY))]
        on = b.op(f"xor i1 {b.op(f'and i1 {free[0]}, {free[1]}')}, true")
        is_dense, is_single = (b.op(f"and i1 {on}, {b.op(f'icmp {test} i64 {some}, 1')}") for test in ("sgt", "eq"))
        n_dense, n_single, last = r.values
        for value, of, n in ((r.index, dense, n_dense), (r.index, single, n_single), (place, column, n_single)):
            b.store(value, b.at(of, (n, 1)), "i64")  # what is not counted is overwritten
        n_dense, n_single = (
            b.op(f"add i64 {n}, {b.op(f'zext i1 {is_it} to i64')}")
            for n, is_it in ((n_dense, is_dense), (n_single, is_single))
        )
        r.carry(n_dense, n_single, b.op(f"select i1 {is_dense}, i64 {r.index}, i64 {last}"))
    n_dense, n_single, last = r.results
    for lane in range(s.width if s.weighted else 0):
        place = b.index((n_dense, 1), lane)
        with b.when(b.op(f"icmp slt i64 {place}, {s.knots()['dense']}")):
            b.store(last, b.at(dense, (place, 1)), "i64")
    b.store(n_dense, counts, "i64")
    b.store(n_single, b.at(counts, 1), "i64")


INFINITY, MINUS_INFINITY = "0x7FF0000000000000", "0xFFF0000000000000"
