"""The value function of a knot: its Hessian V from a lower triangle, its gradient v, and V f."""

from __future__ import annotations

from trajopt.kernels.builder import Builder
from trajopt.solvers.riccati.recursion.cells import ZERO, Cells
from trajopt.solvers.riccati.recursion.dense import Matrix, add_rows
from trajopt.solvers.riccati.recursion.frame import SHORT, Frame
from trajopt.solvers.riccati.recursion.sizes import Sizes

VALUE, GRADIENT = "value", "gradient"
NOT_FINITE = 3
FINE = "splat (i1 true)"


def value_text(sizes: Sizes) -> str:
    """`i1 value(P, V, reg)`: V = P + reg I; whether all is below 1e30.

    P has rows of `sizes.right`, of which the lower triangle is read; V is dense.
    """
    b = Builder(f"define internal i1 @{VALUE}(ptr %P, ptr %V, double %reg)")
    return _Mirror(Cells(b, sizes.width, sizes.registers), sizes).text()


def gradient_text(sizes: Sizes) -> str:
    """`i1 gradient(q, V, v, gap, Vf, with_gaps)`: v = q, with gaps q + V f, and Vf; whether all of q is below 1e30.

    With weighted rows, `short` follows: whether Vf is that of another pass of the same V and gaps.
    """
    pointers = ", ".join(f"ptr %{name}" for name in ("q", "V", "v", "gap", "Vf"))
    more = "" if sizes.weighted is None else ", i1 %short"
    b = Builder(f"define internal i1 @{GRADIENT}({pointers}, i1 %with_gaps{more})")
    x, n, fine = Cells(b, sizes.width, sizes.registers), sizes.n, FINE
    row = [x.first(n - c, x.load(b.at("%q", c))) for c in range(0, n, sizes.width)]
    for cell in row:
        fine = x.bounded(cell, fine)
    x.store_row(row, "%v", n)
    with_gaps = "%with_gaps"
    if sizes.weighted is not None:
        with b.when(b.op("and i1 %with_gaps, %short")):
            x.store_row([x.op("fadd", p, q) for p, q in zip(row, x.load_row("%Vf", n))], "%v", n)
        with_gaps = b.op(f"and i1 %with_gaps, {b.op('xor i1 %short, true')}")
    with b.when(with_gaps):
        Vf = add_rows(x, [ZERO] * len(row), Matrix("%gap", 1), Matrix("%V", sizes.row_V), n)
        x.store_row(Vf, "%Vf", n)
        x.store_row([x.op("fadd", p, q) for p, q in zip(row, Vf)], "%v", n)
    return b.text(f"ret i1 {x.all(fine)}")


def gradient(frame: Frame, t: str) -> str:
    """Writes the call of the function of `gradient_text` for knot t, with the q in the scratch."""
    names = [frame.scratch["q"], *(frame.of_knot(name, t) for name in ("V", "v", "f", "Vf"))]
    arguments = ", ".join(f"ptr {name}" for name in names)
    more = "" if frame.sizes.weighted is None else f", i1 {frame.flag(SHORT)}"
    return frame.b.op(f"call i1 @{GRADIENT}({arguments}, i1 {frame.with_gaps}{more})")


class _Mirror:
    """Writes V, in blocks that are transposed in registers."""

    def __init__(self, x: Cells, sizes: Sizes) -> None:
        self.x, self.b, self.n, self.pitch, self.row = x, x.b, sizes.n, sizes.right, sizes.row_V
        self.reg = x.splat("%reg")

    def text(self) -> str:
        """The function."""
        x, b, width = self.x, self.b, self.x.width
        rest, fine = self.n % width, FINE
        full = self.n - rest
        if full:
            with b.loop(0, full, width, carried=[(x.truth, fine)]) as i:
                below = b.op(f"icmp sgt i64 {i.index}, 0")
                with b.loop(0, i.index, width, carried=[(x.truth, i.values[0])], only_if=below) as j:
                    j.carry(self._below(i.index, j.index, width, j.values[0]))
                i.carry(self._on(i.index, width, j.results[0]))
            fine = i.results[0]
        if full and rest:
            with b.loop(0, full, width, carried=[(x.truth, fine)]) as j:
                j.carry(self._below(full, j.index, rest, j.values[0]))
            fine = j.results[0]
        if rest:
            fine = self._on(full, rest, fine)
        return b.text(f"ret i1 {x.all(fine)}")

    def written(self, count: int) -> int:
        """Doubles of a cell that are stored for `count` of V: all where there is room, as loads wait for pieces."""
        return self.x.width if self.row % self.x.width == 0 else count

    def _below(self, i: str | int, j: str | int, rows: int, fine: str) -> str:
        """A block below the diagonal, of some rows, and its transpose."""
        x, b, n = self.x, self.b, self.row
        P, V = b.at("%P", (i, self.pitch), (j, 1)), b.at("%V", (i, n), (j, 1))
        block = [x.load(b.at(P, r * self.pitch)) for r in range(rows)]
        for r, row in enumerate(block):
            x.store(row, b.at(V, r * n))
            fine = x.bounded(row, fine)
        across = b.at("%V", (j, n), (i, 1))
        for r, row in enumerate(x.transpose(block)):
            x.store_first(row, b.at(across, r * n), self.written(rows))
        return fine

    def _on(self, i: str | int, rows: int, fine: str) -> str:
        """A block on the diagonal."""
        x, b, n = self.x, self.b, self.row
        P, V = b.at("%P", (i, self.pitch + 1)), b.at("%V", (i, n + 1))
        block = [x.load(b.at(P, r * self.pitch)) for r in range(rows)]
        for r, (row, across) in enumerate(zip(block, x.transpose(block))):
            here = [lane == r for lane in range(x.width)]
            both = x.op("fadd", x.first(r + 1, row, across), x.select(here, self.reg, ZERO))
            x.store_first(both, b.at(V, r * n), self.written(rows))
            fine = x.bounded(both, fine)
        return fine
