"""By how much an iterate of a program with rows misses the first-order conditions, in one pass over the knots.

With multipliers λ of the dynamics and y of the rows:

    running = g + H z + Cᵀy + Fᵀ λ' - λ,  end = g_T + H_T dx_T + C_Tᵀ y_T - λ_T,  dynamics = F z + f' - dx'
"""

from __future__ import annotations

from trajopt.solvers.riccati.recursion.cells import ZERO, each
from trajopt.solvers.riccati.recursion.dynamics import add_transposed, apply
from trajopt.solvers.riccati.recursion.frame import Frame
from trajopt.solvers.riccati.recursion.rows import KnotRows
from trajopt.solvers.riccati.recursion.sizes import Sizes

RESIDUAL = "trajopt_residual"


def residual_text(sizes: Sizes) -> str:
    """`i64 trajopt_residual(i64 *table, i64 flags)`: the residuals and values C z of the iterate; returns 0.

    `sizes` gets the largest gradient of the Lagrangian, the largest gap, and the largest part Cᵀy of a gradient.
    """
    return _Residual(sizes).text()


class _Residual:
    """Writes the pass."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes, self.frame = sizes, Frame(sizes, RESIDUAL)
        self.x, self.b, self.scratch = self.frame.x, self.frame.b, self.frame.scratch

    def text(self) -> str:
        """The function."""
        b, x, frame, T = self.b, self.x, self.frame, self.frame.T
        first = self._gap("0", [ZERO] * (self.sizes.whole(self.sizes.n) // x.width), ZERO)
        sizes = [ZERO, first, ZERO]
        some = b.op(f"icmp sgt i64 {T}, 0")
        with b.loop(0, T, carried=[(x.real, size) for size in sizes], only_if=some) as t:
            t.carry(*self._knot(t.index, *t.values))
        stationarity, gap, pull = t.results
        stationarity, pull = self._end(stationarity, pull)
        for i, size in enumerate((stationarity, gap, pull)):
            largest = b.op(f"call double @llvm.vector.reduce.fmaximum.v{x.width}f64({x.real} {size})")
            b.store(largest, b.at(frame.arrays["sizes"], i))
        return frame.text()

    def _knot(self, t: str, stationarity: str, gap: str, pull: str) -> list[str]:
        x, b, s, frame, z = self.x, self.b, self.sizes, self.frame, self.scratch["z"]
        following = b.op(f"add i64 {t}, 1")
        remaining = b.op(f"sub i64 {frame.T}, {following}")
        frame.copy(z, frame.of_knot("at_dx", t), s.n)
        frame.copy(b.at(z, s.n), frame.of_knot("at_du", t), s.m)
        apply(frame, t, remaining)
        gap = self._gap(following, x.load_row(self.scratch["w"], s.n), gap)
        rows, g = KnotRows(frame, t), frame.readable("g", t, remaining)
        rows.evaluate(z, "at_values")
        pull, row = self._pull(rows, [x.load(b.at(g, c)) for c in range(0, s.s, s.width)], s.s, pull)
        self._times_hessian(frame.readable("H", t, remaining), s.s, z)
        row = [x.op("fadd", cell, x.load(b.at(self.scratch["Hz"], c * s.width))) for c, cell in enumerate(row)]
        frame.copy(self.scratch["q"], frame.of_knot("at_lam", following), s.n)  # reads of v may run on by a cell
        row = add_transposed(frame, t, remaining, self.scratch["q"], row)
        for c, cell in enumerate(x.load_row(frame.of_knot("at_lam", t), s.n)):
            row[c] = x.op("fsub", row[c], cell)
        x.store_row(row, frame.of_knot("running", t), s.s)
        return [self._largest(stationarity, row, s.s), gap, pull]

    def _end(self, stationarity: str, pull: str) -> tuple[str, str]:
        x, s, frame, z, P = self.x, self.sizes, self.frame, self.scratch["z"], self.scratch["P"]
        last, n = frame.of_knot("at_dx", frame.T), s.n
        frame.copy(z, last, n)
        rows = KnotRows(frame, frame.T, end=True)
        rows.evaluate(z, "at_values")
        pull, row = self._pull(rows, x.load_row(frame.arrays["terminal_g"], n), n, pull)
        with each(self.b, 0, n) as i:
            frame.copy(self.b.at(P, (i, s.right)), self.b.at(frame.arrays["terminal_H"], (i, n)), n)
        self._times_hessian(P, s.right, z, n)
        lam = x.load_row(frame.of_knot("at_lam", frame.T), n)
        Hz = [x.load(self.b.at(self.scratch["Hz"], c * s.width)) for c in range(len(row))]
        row = [x.op("fsub", x.op("fadd", p, q), r) for p, q, r in zip(row, Hz, lam)]
        x.store_row(row, frame.arrays["end"], n)
        return self._largest(stationarity, row, n), pull

    def _gap(self, t: str, w: list[str], gap: str) -> str:
        """Writes w + f - dx of a knot; returns the largest so far."""
        x, s, frame = self.x, self.sizes, self.frame
        f, dx = (x.load_row(frame.of_knot(name, t), s.n) for name in ("f", "at_dx"))
        row = [x.op("fsub", x.op("fadd", p, q), r) for p, q, r in zip(w, f, dx)]
        x.store_row(row, frame.of_knot("dynamics", t), s.n)
        return self._largest(gap, row, s.n)

    def _pull(self, rows: KnotRows, start: list[str], count: int, pull: str) -> tuple[str, list[str]]:
        """The largest entry of Cᵀy so far, and start + Cᵀy."""
        x, target = self.x, self.scratch["g weighted"]
        rows.add_to_gradient("at_y", [ZERO] * len(start), target)
        row = [x.load(self.b.at(target, c * x.width)) for c in range(len(start))]
        return self._largest(pull, row, count), [x.op("fadd", p, q) for p, q in zip(start, row)]

    def _largest(self, most: str, row: list[str], count: int) -> str:
        for c, cell in enumerate(row):
            most = self.x.largest(most, self.x.first(count - c * self.x.width, cell))
        return most

    def _times_hessian(self, H: str, pitch: int, z: str, size: int | None = None) -> None:
        """H z, of an H of which the lower triangle is read, in panels as high as a cell is wide."""
        x, b, s, out = self.x, self.b, self.sizes, self.scratch["Hz"]
        size = s.s if size is None else size
        for first in range(0, size, s.width):
            height = min(s.width, size - first)
            base, own = b.at(H, first * pitch), x.first(height, x.load(b.at(z, first)))
            factors = [x.lane(own, r) for r in range(height)]
            sums = [ZERO] * height
            if first:
                with b.loop(0, first, s.width, carried=[(x.real, each_sum) for each_sum in sums]) as k:
                    row, place = x.load(b.at(z, (k.index, 1))), b.at(out, (k.index, 1))
                    cells = [x.load(b.at(base, (k.index, 1), r * pitch)) for r in range(height)]
                    k.carry(*[x.add_product(cell, row, total) for cell, total in zip(cells, k.values)])
                    across = [x.load(place), ZERO]
                    for r, cell in enumerate(cells):
                        across[r % 2] = x.add_product(cell, factors[r], across[r % 2])
                    x.store(x.op("fadd", *across), place)
                sums = k.results
            here = ZERO
            for r in range(height):
                row = x.load(b.at(base, first + r * pitch))
                sums[r] = x.add_product(x.first(r + 1, row), own, sums[r])
                here = x.add_product(x.first(r, row), factors[r], here)
            x.store(x.op("fadd", here, x.total(x.transpose(sums))), b.at(out, first))
