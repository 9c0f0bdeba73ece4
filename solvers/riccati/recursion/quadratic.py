"""The quadratic model of a knot in (dx, du), from H, g, F and the value function of the next knot.

A writer gives in turn: the rows (Quu | Qux) of R, Quu below the diagonal only, with q = (Qx, Qu); then, when R has been
eliminated, P = Qxx - Zᵀ R on and below the diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass

from trajopt.solvers.riccati.recursion.cells import Cells
from trajopt.solvers.riccati.recursion.dense import Matrix, Term, add_products, add_rows
from trajopt.solvers.riccati.recursion.sizes import Sizes


@dataclass(frozen=True)
class Knot:
    """Addresses of the arrays of a knot, and of the value function of the next knot.

    Attributes:
        F: Jacobian of the dynamics.
        g: Gradient.
        H: Hessian.
        V: Hessian of the next value function.
        v: Gradient of the next value function, behind the gap.
        dt: The time step itself; only second-order systems have it and what follows.
        J0: Jacobian of q ⊕ w by q.
        J1dt: By w, times dt.
    """

    F: str
    g: str
    H: str
    V: str
    v: str
    dt: str = ""
    J0: str = ""
    J1dt: str = ""


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

    def controls(self) -> None:
        """Writes the code for the rows of the controls in Q, R = (Quu | Qux | Qu), and for q, into the scratch."""
        x, s, knot = self._x, self._sizes, self._knot
        columns = range(0, s.s, s.width)
        add_products(x, s.n, len(columns), [Term(Matrix(knot.V, s.n), self._F, s.n)], m_rows(s, self._scratch))
        q = [x.load(x.b.at(knot.g, c)) for c in columns]
        for c, cell in zip(columns, add_rows(x, q, Matrix(knot.v, 1), self._F, s.n)):
            x.store(cell, x.b.at(self._scratch["q"], c))
        add_controls(x, s, knot, self._scratch)

    def states(self) -> None:
        """Writes the code for P (n, n) in the scratch, the states' block Qxx after the elimination of the controls."""
        x, s, scratch = self._x, self._sizes, self._scratch
        square = Term(Matrix(self._knot.F, 1, s.row_F), m_rows(s, scratch), s.n)
        P, H = Matrix(scratch["P"], s.right), Matrix(self._knot.H, s.row_H)
        add_products(x, s.n, s.whole(s.n) // s.width, [square, eliminated(x, s, scratch)], P, H, diagonal=0)


def m_rows(s: Sizes, scratch: dict[str, str], column: str | None = None) -> Matrix:
    """Returns the matrix M in the scratch, with Fᵀ M = Fᵀ V F in the blocks that are used."""
    return Matrix(column or scratch["M"], s.whole(s.s))


def add_controls(x: Cells, s: Sizes, knot: Knot, scratch: dict[str, str]) -> None:
    """Writes the code for (Quu | Qux) = H + Fuᵀ M in the rows R of the scratch, with the rows of the controls in H."""
    b, R, H = x.b, scratch["R"], x.b.at(knot.H, s.n * s.row_H)
    Fu = Matrix(b.at(knot.F, s.n), 1, s.row_F)
    by_states, right = Term(Fu, m_rows(s, scratch), s.h), Matrix(b.at(R, s.left), s.pitch)
    add_products(x, s.m, s.whole(s.n) // s.width, [by_states], right, Matrix(H, s.row_H))
    by_controls = Term(Fu, m_rows(s, scratch, b.at(scratch["M"], s.n)), s.h)
    Huu = Matrix(b.at(H, s.n), s.row_H)
    add_products(x, s.m, s.whole(s.m) // s.width, [by_controls], Matrix(R, s.pitch), Huu, diagonal=0)


def eliminated(x: Cells, s: Sizes, scratch: dict[str, str], first: int = 0) -> Term:
    """Returns the product -Zᵀ R that the elimination of the controls adds to P, from row `first` of P on."""
    Z, R = x.b.at(scratch["Z"], first), x.b.at(scratch["R"], s.left)
    return Term(Matrix(Z, 1, s.right), Matrix(R, s.pitch), s.rows, subtract=True)
