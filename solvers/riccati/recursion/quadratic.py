"""The quadratic model of a knot in (dx, du), from H, g, F and the value function of the next knot.

A writer gives in turn: the rows (Quu | Qux) of R, Quu below the diagonal only, with q = (Qx, Qu); then, when R has been
eliminated, P = Qxx - Zᵀ R on and below the diagonal.
"""

from __future__ import annotations

from trajopt.solvers.riccati.recursion.cells import ZERO, Cells
from trajopt.solvers.riccati.recursion.constant import ConstantStates
from trajopt.solvers.riccati.recursion.dense import Matrix, Term, add_few_products, add_products, add_rows
from trajopt.solvers.riccati.recursion.knot import Knot, add_controls, eliminated, m_rows
from trajopt.solvers.riccati.recursion.sizes import Sizes


class FirstOrder:
    """Q = H + Fᵀ V F and q = g + Fᵀ v, with M = V F.

    Args:
        x: Writer of the instructions.
        sizes: Sizes of the problem.
        knot: Addresses of the knot.
        scratch: Addresses of the scratch.
    """

    def __init__(self, x: Cells, sizes: Sizes, knot: Knot, scratch: dict[str, str]) -> None:
        self._x, self._sizes, self._knot, self._scratch = x, sizes, knot, scratch
        self._F = Matrix(knot.F, sizes.row_F)
        self._Y = Matrix(scratch["Y"], sizes.whole(sizes.nx)) if sizes.constant else None
        self._constant = None if self._Y is None else ConstantStates(x, sizes, knot, scratch, self._Y)

    def controls(self) -> None:
        """Writes the code for the rows of the controls in Q, R = (Quu | Qux | Qu), and for q, into the scratch."""
        x, s, knot, M = self._x, self._sizes, self._knot, m_rows(self._sizes, self._scratch)
        columns = range(0, s.columns, s.width)
        if self._constant:
            self._constant.rows()
        add_products(x, s.nx, len(columns), [Term(Matrix(knot.V, s.row_V), self._F, s.nx)], M)
        if self._constant and self._Y:
            self._constant.gradient(add_rows(x, [ZERO] * len(columns), Matrix(knot.v, 1), self._F, s.nx))
            below = Matrix(x.b.at(M.base, s.nx * M.row), M.row)
            add_few_products(x, s.constant, len(columns), Term(self._Y, self._F, s.nx), below)
        else:
            q = [x.load(x.b.at(knot.g, c)) for c in columns]
            for c, cell in zip(columns, add_rows(x, q, Matrix(knot.v, 1), self._F, s.n)):
                x.store(cell, x.b.at(self._scratch["q"], c))
        add_controls(x, s, knot, self._scratch)
        if self._constant:
            self._constant.controls()

    def states(self) -> None:
        """Writes the code for P (n, n) in the scratch, the states' block Qxx after the elimination of the controls."""
        x, s, scratch = self._x, self._sizes, self._scratch
        square = Term(Matrix(self._knot.F, 1, s.row_F), m_rows(s, scratch), s.nx)
        P, H = Matrix(scratch["P"], s.right), Matrix(self._knot.H, s.row_H)
        add_products(x, s.nx, s.whole(s.nx) // s.width, [square, eliminated(x, s, scratch)], P, H, diagonal=0)
        if self._constant:
            self._constant.states()
