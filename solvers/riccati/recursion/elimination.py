"""Elimination of the rows ((Quu, Cuᵀ | Qux | Qu), (Cu, -Δ | Cx | d)), and the gains.

With M the left part, B the right part and M = Uᵀ D U, U unit upper triangular and D diagonal:

    R = U⁻ᵀ (M | B) = (D U | R),  Z = D⁻¹ R,  M⁻¹ B = U⁻¹ Z,  Bᵀ M⁻¹ B = Zᵀ R

Pivots D may have either sign, so that equality rows need no code of their own. Rows are taken in panels as high as a
cell is wide: products bring in the rows before, then the panel is eliminated in registers. What is behind a pivot waits
for its division, so as little as can be lies between two of them, and no square root.
"""

from __future__ import annotations

from trajopt.solvers.riccati.recursion.cells import ZERO, Cells, each, even_strips
from trajopt.solvers.riccati.recursion.dense import Matrix, Term, add_products
from trajopt.solvers.riccati.recursion.sizes import Sizes


class Elimination:
    """Writes the code that factorises ((Quu, Cuᵀ), (Cu, -Δ)) and solves for the gains.

    Args:
        x: Writer of the instructions.
        sizes: Sizes of the problem.
        scratch: Addresses of R (M | B), of which M is read below its diagonal, of Z, and of the pivots D.
        U: Address of U; written are rows of whole cells, above the diagonal, with zeros beside it in their panel.
        inverse: Address of D⁻¹.
    """

    def __init__(self, x: Cells, sizes: Sizes, scratch: dict[str, str], U: str, inverse: str) -> None:
        self.x, self.b, self.sizes = x, x.b, sizes
        self.R, self.Z, self.pivots = scratch["R"], scratch["Z"], scratch["pivots"]
        self.U, self.inverse = U, inverse
        self._panels = [(first, min(x.width, sizes.rows - first)) for first in range(0, sizes.rows, x.width)]

    def eliminate(self) -> None:
        """Writes the forward elimination, which computes R, Z, U, D and D⁻¹."""
        x, b, s = self.x, self.b, self.sizes
        left, cells = s.left // x.width, s.pitch // x.width
        self._mirror()
        for first, height in self._panels:
            own = first // x.width
            corner = Matrix(b.at(self.R, first * s.pitch + first), s.pitch)
            before = Matrix(b.at(self.U, first), 1, s.left), Matrix(b.at(self.R, first), s.pitch)
            if first:
                add_products(x, height, cells - own, [Term(*before, first, subtract=True)], corner, corner)
            self._diagonal(first, height)
            for start, end, Z, pitch in ((own + 1, left, self.U, s.left), (left, cells, self.Z, s.right)):
                for j0, j1, step in even_strips(end - start, x.widest(height)):
                    with each(b, j0, j1, step) as c:
                        R = b.at(self.R, (c, x.width), first * s.pitch + start * x.width)
                        shift = start * x.width if Z == self.U else 0
                        self._beside((first, height), R, b.at(Z, (c, x.width), first * pitch + shift), pitch, step)

    def _mirror(self) -> None:
        """Copies the entries below the diagonal above it."""
        x, s = self.x, self.sizes
        for i, rows in self._panels:
            for j in range(0, i + 1, x.width):
                block = [x.load(self.b.at(self.R, (i + r) * s.pitch + j)) for r in range(rows)]
                for r, row in enumerate(x.transpose(block)[: s.rows - j]):
                    x.store(row, self.b.at(self.R, (j + r) * s.pitch + i))

    def _diagonal(self, first: int, height: int) -> None:
        """Eliminates a panel's block on the diagonal."""
        x, b, s = self.x, self.b, self.sizes
        rows = [x.load(b.at(self.R, (first + r) * s.pitch + first)) for r in range(height)]
        one = x.splat("1.0")
        for j, row in enumerate(rows):
            b.store(x.element(row, j), b.at(self.pivots, first + j))
            inverse = x.op("fdiv", one, x.lane(row, j))
            b.store(x.element(inverse, 0), b.at(self.inverse, first + j))
            for i in range(j + 1, height):
                product = x.op("fmul", x.lane(row, i), row)  # not after the division, for which it need not wait
                rows[i] = x.add_product(x.op("fneg", product), inverse, rows[i])
            above = x.first(j + 1, ZERO, x.op("fmul", row, inverse))
            x.store(above, b.at(self.U, (first + j) * s.left + first))

    def _factor(self, i: int, j: int) -> str:
        """- U at row i and column j, in all places."""
        return self.x.factor(self.b.at(self.U, i * self.sizes.left + j), negative=True)

    def _beside(self, panel: tuple[int, int], R: str, Z: str, pitch: int, cells: int) -> None:
        """Eliminates a few other cells of a panel."""
        x, b, s, (first, height) = self.x, self.b, self.sizes, panel
        rows = [[x.load(b.at(R, r * s.pitch + c * x.width)) for c in range(cells)] for r in range(height)]
        for j in range(height):
            for i in range(j + 1, height):
                factor = self._factor(first + j, first + i)
                rows[i] = [x.add_product(factor, p, q) for p, q in zip(rows[j], rows[i])]
            inverse = x.factor(b.at(self.inverse, first + j))
            for c, value in enumerate(rows[j]):
                x.store(value, b.at(R, j * s.pitch + c * x.width))
                x.store(x.op("fmul", value, inverse), b.at(Z, j * pitch + c * x.width))

    def substitute_back(self, K: str, k: str, Ky: str, ky: str) -> None:
        """Writes the back substitution U⁻¹ Z: gains (K | k), and (Ky | ky) of the multipliers. It overwrites Z."""
        x, b, s = self.x, self.b, self.sizes
        full = s.n // x.width
        for first, height in reversed(self._panels):
            after = first + height
            here = Matrix(b.at(self.Z, first * s.right), s.right)
            U = Matrix(b.at(self.U, first * s.left + after), s.left)
            later = Term(U, Matrix(b.at(self.Z, after * s.right), s.right), s.rows - after, subtract=True)
            if later.count:
                add_products(x, height, s.right // x.width, [later], here, here)
            for j0, j1, step in even_strips(full, x.widest(height)):
                with each(b, j0, j1, step) as c:
                    self._solve((first, height), c, step, (K, Ky), ())
            self._solve((first, height), full, 1, (K, Ky), (k, ky))

    def _solve(
        self, panel: tuple[int, int], c: str | int, cells: int, out: tuple[str, str], ends: tuple[str, ...]
    ) -> None:
        """A few cells of a panel, of which the last of all holds what belongs to the gradient, too."""
        x, b, s, first = self.x, self.b, self.sizes, panel[0]
        rest = s.n % x.width
        for i, row in enumerate(self._back(panel, c, cells)):
            is_y = first + i >= s.m
            place = first + i - s.m * is_y
            for e, value in enumerate(row):
                at = b.at(out[is_y], (c, x.width), place * s.n + e * x.width)
                x.store_first(value, at, rest if ends else x.width)
                if ends:
                    b.store(x.element(value, rest), b.at(ends[is_y], place))

    def _back(self, panel: tuple[int, int], c: str | int, cells: int) -> list[list[str]]:
        """U⁻¹ Z of a few cells of a panel, when later panels have been taken off; in Z, too, if others come."""
        x, b, s, (first, height) = self.x, self.b, self.sizes, panel
        Z = b.at(self.Z, (c, x.width), first * s.right)
        rows = [[x.load(b.at(Z, r * s.right + e * x.width)) for e in range(cells)] for r in range(height)]
        for i in reversed(range(height)):
            for j in range(i):
                factor = self._factor(first + j, first + i)
                rows[j] = [x.add_product(factor, p, q) for p, q in zip(rows[i], rows[j])]
        if first:
            for i, row in enumerate(rows):
                for e, value in enumerate(row):
                    x.store(value, b.at(Z, i * s.right + e * x.width))
        return rows
