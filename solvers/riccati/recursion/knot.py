"""Arrays of a knot in the backward pass, and the products that all of its quadratic models share."""

from __future__ import annotations

from dataclasses import dataclass

from trajopt.solvers.riccati.recursion.cells import Cells
from trajopt.solvers.riccati.recursion.dense import Matrix, Term, add_products
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
        E: Derivatives of x by constant states, as rows; only systems with constant states have it.
    """

    F: str
    g: str
    H: str
    V: str
    v: str
    dt: str = ""
    J0: str = ""
    J1dt: str = ""
    E: str = ""


def m_rows(s: Sizes, scratch: dict[str, str], column: str | None = None) -> Matrix:
    """Returns the matrix M in the scratch, with Fᵀ M = Fᵀ V F in the blocks that are used."""
    return Matrix(column or scratch["M"], s.whole(s.columns))


def add_controls(x: Cells, s: Sizes, knot: Knot, scratch: dict[str, str]) -> None:
    """Writes the code for (Quu | Qux) = H + Fuᵀ M in the rows R of the scratch, with the rows of the controls in H."""
    b, R, H = x.b, scratch["R"], x.b.at(knot.H, s.n * s.row_H)
    Fu = Matrix(b.at(knot.F, s.nx), 1, s.row_F)
    by_states, right = Term(Fu, m_rows(s, scratch), s.h), Matrix(b.at(R, s.left), s.pitch)
    add_products(x, s.m, s.whole(s.nx) // s.width, [by_states], right, Matrix(H, s.row_H))
    by_controls = Term(Fu, m_rows(s, scratch, b.at(scratch["M"], s.nx)), s.h)
    Huu = Matrix(b.at(H, s.n), s.row_H)
    add_products(x, s.m, s.whole(s.m) // s.width, [by_controls], Matrix(R, s.pitch), Huu, diagonal=0)


def eliminated(x: Cells, s: Sizes, scratch: dict[str, str], first: int = 0) -> Term:
    """Returns the product -Zᵀ R that the elimination of the controls adds to P, from row `first` of P on."""
    Z, R = x.b.at(scratch["Z"], first), x.b.at(scratch["R"], s.left)
    return Term(Matrix(Z, 1, s.right), Matrix(R, s.pitch), s.rows, subtract=True)
