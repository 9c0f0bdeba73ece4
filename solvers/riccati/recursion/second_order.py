"""The quadratic model of a knot of a second-order system, whose position rows of F follow from its velocity rows.

For q⁺ = q ⊕ dt v⁺, J0 and J1 the Jacobians of q ⊕ w by q and by w, S = (dt J1; I), E = (J0; 0), F_v the rows of v:

    F = S F_v + (E | 0 | 0),  G = Sᵀ V,  M = (G S) F_v + (G E | 0 | 0)
    Fᵀ V F = F_vᵀ M, to which Eᵀ V E + (G E)ᵀ F_vq is added in the rows and columns of q

of which rows and columns on and below the diagonal are wanted only. The gradient v is a further row of G, which makes
Fᵀ v the last row of M. J0 and J1 are the identity but for nb leading rows and columns.
"""

from __future__ import annotations

from trajopt.solvers.riccati.recursion.cells import ZERO, Cells, each
from trajopt.solvers.riccati.recursion.constant import ConstantStates
from trajopt.solvers.riccati.recursion.dense import Matrix, Term, add_products
from trajopt.solvers.riccati.recursion.knot import Knot, add_controls, eliminated, m_rows
from trajopt.solvers.riccati.recursion.sizes import Sizes


class SecondOrder:
    """Q = H + Fᵀ V F and q = g + Fᵀ v, by the rows F_v, dt and the leading blocks of J0 and dt J1.

    Args:
        x: Writer of the instructions.
        sizes: Sizes of the problem.
        knot: Addresses of the knot.
        scratch: Addresses of the scratch.
    """

    def __init__(self, x: Cells, sizes: Sizes, knot: Knot, scratch: dict[str, str]) -> None:
        self._x, self._b, self._sizes, self._knot, self._scratch = x, x.b, sizes, knot, scratch
        self._nb = sizes.nb or 0
        self._half, self._base = sizes.whole(sizes.h), sizes.whole(self._nb)  # whole cells
        self._dt = x.splat(knot.dt)
        self._F = Matrix(knot.F, sizes.row_F)
        self._V, self._G = Matrix(knot.V, sizes.row_V), Matrix(scratch["G"], sizes.right)
        self._GS, self._GE = Matrix(scratch["GS"], self._half), Matrix(scratch["GE"], self._half)
        self._J0, self._J1dt = Matrix(scratch["J0 padded"], self._base), Matrix(scratch["J1dt padded"], self._base)
        self._rows = sizes.h + sizes.constant + 1  # of G and M
        self._constant = None
        if sizes.constant:
            Y = Matrix(x.b.at(self._G.base, sizes.h * self._G.row), self._G.row)
            self._constant = ConstantStates(x, sizes, knot, scratch, Y)

    def controls(self) -> None:
        """Writes the code for the rows of the controls in Q, R = (Quu | Qux | Qu), and for q, into the scratch."""
        x, b, s, half = self._x, self._b, self._sizes, self._half
        self._pad()
        self._make_G()
        self._make_GS_and_GE()
        M, cells = m_rows(s, self._scratch), half // s.width
        add_products(x, self._rows, cells, [Term(self._GS, self._F, s.h)], M, self._GE, ahead=self._F)
        behind = Matrix(b.at(self._F.base, half), self._F.row)
        product = Term(self._GS, behind, s.h)
        more = s.whole(s.columns) // s.width - cells
        add_products(x, self._rows, more, [product], Matrix(b.at(M.base, half), M.row), ahead=behind)
        if self._constant:
            last = b.at(M.base, (self._rows - 1) * M.row)
            self._constant.gradient([x.load(b.at(last, c)) for c in range(0, s.columns, s.width)])
        else:
            for c in range(0, s.s, s.width):
                q = x.op("fadd", x.load(b.at(self._knot.g, c)), x.load(b.at(M.base, s.h * M.row + c)))
                x.store(q, b.at(self._scratch["q"], c))
        add_controls(x, s, self._knot, self._scratch)
        if self._constant:
            self._constant.controls()

    def _pad(self) -> None:
        """J0 and dt J1 with rows of whole cells, zeros behind them."""
        x, b, nb = self._x, self._b, self._nb
        for source, target in ((self._knot.J0, self._J0), (self._knot.J1dt, self._J1dt)):
            for i in range(nb):
                for c in range(0, nb, x.width):
                    x.store(x.first(nb - c, x.load(b.at(source, i * nb + c))), b.at(target.base, i * target.row + c))

    def _make_G(self) -> None:
        """G = Sᵀ V, and v as its last row."""
        x, b, h, nb, V, G = self._x, self._b, self._sizes.h, self._nb, self._V, self._G
        columns = range(0, self._sizes.nx, x.width)
        below = Matrix(b.at(V.base, h * V.row), V.row)
        if self._constant:
            self._constant.rows()  # first, as these sums are the longest
        if nb:
            add_products(x, nb, len(columns), [Term(Matrix(self._J1dt.base, 1, self._base), V, nb)], G, below)
        if nb < h:
            with each(b, nb, h) as i:
                for c in columns:
                    q, v = (x.load(b.at(of.base, (i, of.row), c)) for of in (V, below))
                    x.store(x.add_product(self._dt, q, v), b.at(G.base, (i, G.row), c))
        for c in columns:
            x.store(x.load(b.at(self._knot.v, c)), b.at(G.base, (self._rows - 1) * G.row + c))

    def _make_GS_and_GE(self) -> None:
        """G S, and G E with zeros behind it; products with J0 and dt J1 where these are not the identity."""
        x, b, h, nb, G, GS, GE = self._x, self._b, self._sizes.h, self._nb, self._G, self._GS, self._GE
        with each(b, 0, self._rows) as i:
            for c in range(0, h, x.width):
                q, v = (x.load(b.at(G.base, (i, G.row), c + shift)) for shift in (0, h))
                dt = x.first(nb - c, ZERO, self._dt)
                x.store(x.add_product(dt, q, v), b.at(GS.base, (i, GS.row), c))
                if c >= self._base:
                    x.store(x.first(h - c, q), b.at(GE.base, (i, GE.row), c))
        if not nb:
            return
        cells = self._base // x.width
        add_products(x, self._rows, cells, [Term(G, self._J1dt, nb)], GS, GS)
        add_products(x, self._rows, cells, [Term(G, self._J0, nb)], GE)
        c = self._base - x.width  # the cell where the identity begins
        if nb < self._base:
            with each(b, 0, self._rows) as i:
                place = b.at(GE.base, (i, GE.row), c)
                whole = x.first(nb - c, x.load(place), x.load(b.at(G.base, (i, G.row), c)))
                x.store(x.first(h - c, whole), place)

    def states(self) -> None:
        """Writes the code for P (n, n) in the scratch, the states' block Qxx after the elimination of the controls."""
        x, b, s, h = self._x, self._b, self._sizes, self._sizes.h
        self._add_positions()
        P, M = Matrix(self._scratch["P"], s.right), m_rows(s, self._scratch)
        corner = Term(Matrix(self._GE.base, 1, self._half), self._F, h)
        terms = [corner, Term(Matrix(self._F.base, 1, s.row_F), M, h), eliminated(x, s, self._scratch)]
        add_products(x, h, self._half // s.width, terms, P, P, diagonal=0)
        below, H = Matrix(b.at(P.base, h * P.row), P.row), Matrix(b.at(self._knot.H, h * s.row_H), s.row_H)
        terms = [Term(Matrix(b.at(self._F.base, h), 1, s.row_F), M, h), eliminated(x, s, self._scratch, h)]
        add_products(x, h, s.whole(s.nx) // s.width, terms, below, H, diagonal=h)
        if self._constant:
            self._constant.states()

    def _add_positions(self) -> None:
        """P = H + Eᵀ V E in the rows and columns of q."""
        x, b, h, nb = self._x, self._b, self._sizes.h, self._nb
        V, VE = self._V, Matrix(self._scratch["VE"], self._base)
        H, P = Matrix(self._knot.H, self._sizes.row_H), Matrix(self._scratch["P"], self._sizes.right)
        cells = self._base // x.width
        if nb:
            add_products(x, h, cells, [Term(V, self._J0, nb)], VE)
            add_products(x, nb, cells, [Term(Matrix(self._J0.base, 1, self._base), VE, nb)], P, H)
        for first in range(0, h, x.width):
            low, high = max(first, nb), min(first + x.width, h)
            if low >= high:
                continue
            with each(b, low, high) as i:
                for c in range(0, high, x.width):
                    value = x.load(b.at(V.base, (i, V.row), c))
                    if c < nb:
                        value = x.first(nb - c, x.load(b.at(VE.base, (i, VE.row), c)), value)
                    x.fetch(b.at(H.base, (i, H.row), x.width * H.row + c), (1, 1), H.row)
                    value = x.op("fadd", value, x.load(b.at(H.base, (i, H.row), c)))
                    x.store(value, b.at(P.base, (i, P.row), c))
