"""States θ behind x that never change, such as unknown parameters: x⁺ = F (x, u) + E θ and θ⁺ = θ.

With the blocks V, W = Vθx and S = Vθθ of the next value function, and its gradient (v, vθ):

    Y = W + Eᵀ V,  (Qθx, Qθu) = (Hθx, Hθu) + Y F,  Qθθ = Hθθ + S + Y E + (W E)ᵀ,  qθ = gθ + vθ + Eᵀ v

So θ adds a few rows to the products with F, as the gradient does. Memory has Eᵀ.

At the first knot of a program that chooses θ, θ⁺ = θ + u for the first controls u, and E = 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from trajopt.solvers.riccati.recursion.cells import Cells, each
from trajopt.solvers.riccati.recursion.dense import Matrix, Term, add_few_products, add_products, times
from trajopt.solvers.riccati.recursion.knot import Knot, eliminated, m_rows
from trajopt.solvers.riccati.recursion.sizes import Sizes


class ConstantStates:
    """The parts of Q and q that belong to θ.

    Args:
        x: Writer of the instructions.
        sizes: Sizes of the problem.
        knot: Addresses of the knot.
        scratch: Addresses of the scratch.
        Y: Where the rows Y go, of whole cells.
    """

    def __init__(self, x: Cells, sizes: Sizes, knot: Knot, scratch: dict[str, str], Y: Matrix) -> None:
        self._x, self._b, self._sizes, self._knot, self._scratch = x, x.b, sizes, knot, scratch
        self._Y, self._E, self._V = Y, Matrix(knot.E, sizes.nx), Matrix(knot.V, sizes.row_V)
        self._W = Matrix(x.b.at(knot.V, sizes.nx * sizes.row_V), sizes.row_V)

    def rows(self) -> None:
        """Writes the code for Y."""
        s = self._sizes
        product = Term(self._E, self._V, s.nx)
        add_few_products(self._x, s.constant, s.whole(s.nx) // s.width, product, self._Y, self._W)

    def gradient(self, moved: Sequence[str]) -> None:
        """Writes the code for q, from the cells of Fᵀ v."""
        x, b, s, knot = self._x, self._b, self._sizes, self._knot
        own = [
            x.op("fadd", cell, x.load_first(b.at(knot.v, s.nx + first), min(s.width, s.constant - first)))
            for first, cell in times(x, s.constant, s.nx, self._E, knot.v)
        ]
        for c in range(0, s.s, s.width):
            q = x.op("fadd", x.load(b.at(knot.g, c)), spread(x, s, c, moved, own))
            x.store(q, b.at(self._scratch["q"], c))

    def controls(self) -> None:
        """Writes the code for the columns of θ in R, from the rows Y F of M."""
        b, s, knot, M = self._b, self._sizes, self._knot, m_rows(self._sizes, self._scratch)
        with each(b, 0, s.m) as i, each(b, 0, s.constant) as j:
            H = b.load(b.at(knot.H, (i, s.row_H), (j, 1), s.n * s.row_H + s.nx))
            more = b.load(b.at(M.base, (j, M.row), (i, 1), s.h * M.row + s.nx))
            b.store(b.op(f"fadd double {H}, {more}"), b.at(self._scratch["R"], (i, s.pitch), (j, 1), s.left + s.nx))

    def states(self) -> None:
        """Writes the code for the rows of θ in P."""
        x, b, s, H = self._x, self._b, self._sizes, Matrix(self._knot.H, self._sizes.row_H)
        M, P = m_rows(s, self._scratch), Matrix(b.at(self._scratch["P"], s.nx * s.right), s.right)
        with each(b, 0, s.constant) as j:
            products = [x.load(b.at(M.base, (j, M.row), s.h * M.row + c)) for c in range(0, s.nx, s.width)]
            own = self._square(j)
            for c in range(0, s.n, s.width):
                start = x.load(b.at(H.base, (j, H.row), s.nx * H.row + c))
                x.store(x.op("fadd", start, spread(x, s, c, products, own)), b.at(P.base, (j, P.row), c))
        add_products(
            x, s.constant, s.whole(s.n) // s.width, [eliminated(x, s, self._scratch, s.nx)], P, P, diagonal=s.nx
        )

    def _square(self, j: str | int) -> list[str]:
        """Row j of S + Y E + (W E)ᵀ, which is symmetric, in cells."""
        x, b, s = self._x, self._b, self._sizes
        E, W = b.at(self._E.base, (j, s.nx)), b.at(self._W.base, (j, s.row_V))
        Y = b.at(self._Y.base, (j, self._Y.row))
        products = times(x, s.constant, s.nx, self._E, Y, (self._W, E))
        return [x.op("fadd", cell, x.load(b.at(W, s.nx + first))) for first, cell in products]


def add_start(x: Cells, s: Sizes, knot: Knot, scratch: dict[str, str]) -> None:
    """Writes the code that adds the terms of θ⁺ = θ + u to (Quu | Qux) and Qu, with W F in the rows of M."""
    b, R, M, row_V = x.b, scratch["R"], m_rows(s, scratch), s.row_V
    with each(b, 0, s.constant) as j:
        place = b.at(scratch["q"], (j, 1), s.n)
        b.store(b.op(f"fadd double {b.load(place)}, {b.load(b.at(knot.v, (j, 1), s.nx))}"), place)
        W, S = b.at(M.base, (j, M.row), s.h * M.row), b.at(knot.V, (j, row_V), s.nx * (row_V + 1))
        row = b.at(R, (j, s.pitch))
        for first, size, source in ((0, s.constant, S), (s.left, s.nx, W), (s.left + s.nx, s.constant, S)):
            _add(x, b.at(row, first), b.at(source, 0), size)
        _add(x, row, b.at(W, s.nx), s.m)
        with each(b, 0, s.m) as i:
            place = b.at(R, (i, s.pitch), (j, 1))
            b.store(b.op(f"fadd double {b.load(place)}, {b.load(b.at(W, (i, 1), s.nx))}"), place)


def _add(x: Cells, target: str, source: str, count: int) -> None:
    """Writes the code that adds `count` doubles to others."""
    b = x.b
    with each(b, 0, count) as i:
        place = b.at(target, (i, 1))
        b.store(b.op(f"fadd double {b.load(place)}, {b.load(b.at(source, (i, 1)))}"), place)


def spread(x: Cells, s: Sizes, c: int, of_xu: Sequence[str], of_theta: Sequence[str]) -> str:
    """The cell at column c of a row by (x, θ, u), from the cells of a row by (x, u) and those of θ."""
    places: list[tuple[str, int] | None] = []
    for i in range(c, c + x.width):
        cells, j = (of_theta, i - s.nx) if s.nx <= i < s.n else (of_xu, i if i < s.nx else i - s.constant)
        places.append((cells[j // x.width], j % x.width) if j // x.width < len(cells) else None)
    return x.gather(places)
