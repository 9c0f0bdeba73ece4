"""Sparse LᵀDL factorisation of a symmetric expression, and solution of linear systems with it."""

from __future__ import annotations

import casadi as ca
from casadi import SX

from trajopt.lie.scalars import minus, plus, scalars, sum_of_products, times


class SparseLTDL:
    """Factorisation H = Lᵀ D L with L unit lower triangular; structural zeros of H cost nothing.

    The elimination goes from the last row to the first. If links are numbered from the root to the leaves, there is no
    fill-in (Featherstone 2008, table 6.3). Entries that fill in because of mimic joints are added.

    All rows of a limb S have the same ancestors A. Where the right-hand side is zero on the limb, its solution follows
    from that of the ancestors: x_S = K x_A. K is computed once; this takes |S| |A| products instead of
    |S| |A| + |S|² / 2.

    Forward dynamics by RNEA, CRBA and this factorisation take 1,462 operations for talos_arm, 3,250 for solo12 and
    13,405 for talos. The articulated-body algorithm takes 1,953, 3,272 and 11,958, without the factors that
    derivatives need.

    Args:
        matrix: H, SX (n, n), symmetric positive definite; its lower triangle is read.
    """

    def __init__(self, matrix: SX) -> None:
        self.size = matrix.shape[0]
        n, elements = self.size, scalars(matrix)
        self._rows: list[dict[int, SX]] = [
            {j: elements[i + n * j] for j in range(i + 1) if not elements[i + n * j].is_zero()} for i in range(n)
        ]
        self._inverse_diagonal: list[SX] = [SX(0)] * self.size
        self._factor: list[dict[int, SX]] = [{} for _ in range(self.size)]
        for k in reversed(range(self.size)):
            self._eliminate(k)
        self._limbs = self._find_limbs()
        self._followers: dict[int, list[list[SX]]] = {}

    def _eliminate(self, k: int) -> None:
        rows = self._rows
        self._inverse_diagonal[k] = 1 / rows[k][k]
        before = sorted(j for j in rows[k] if j < k)
        for i in before:
            self._factor[k][i] = times(rows[k][i], self._inverse_diagonal[k])
            for j in before[: before.index(i) + 1]:
                product = times(self._factor[k][i], rows[k][j])
                rows[i][j] = minus(rows[i][j], product) if j in rows[i] else -product

    def _find_limbs(self) -> list[range]:
        """Runs of rows without branches: each row depends on the earlier rows of its run and on the same other rows."""
        limbs: list[range] = []
        children = [0] * self.size
        for factor in self._factor:
            if factor:
                children[max(factor)] += 1
        for k in range(self.size):
            start = limbs[-1].start if limbs else 0
            if k > 0 and children[k - 1] == 1 and set(self._factor[k]) == {*self._factor[k - 1], k - 1}:
                limbs[-1] = range(start, k + 1)
            else:
                limbs.append(range(k, k + 1))
        return limbs

    def solve(self, b: SX, *, negative: bool = False) -> SX:
        """Solution H⁻¹ b, or -H⁻¹ b if `negative`, for b SX (n, m)."""
        inverse_diagonal = [-d if negative else d for d in self._inverse_diagonal]
        n, elements = self.size, scalars(b)
        columns = [self._transposed_solve(elements[n * j : n * j + n]) for j in range(b.shape[1])]
        following = {limb: [all(y[k].is_zero() for k in limb) for y in columns] for limb in self._limbs}
        for limb in self._limbs:
            ancestors = self._ancestors(limb)
            # K costs |A| |S|² / 2 once and saves |S|² / 2 for each column.
            use_follower = sum(following[limb]) > len(ancestors)
            for column, follows in zip(columns, following[limb], strict=True):
                if follows and use_follower:
                    for k, row in zip(limb, self._follower(limb), strict=True):
                        column[k] = sum_of_products(row, [column[j] for j in ancestors])
                else:
                    for k in limb:
                        column[k] = times(column[k], inverse_diagonal[k])
                        for j, factor in self._factor[k].items():
                            column[k] = minus(column[k], times(factor, column[j]))
        return ca.horzcat(*[ca.vertcat(*column) for column in columns])

    def inverse(self) -> SX:
        """Inverse H⁻¹, SX (n, n), symmetric; every entry below the diagonal is computed once, limb by limb.

        Let B be the inverse for the limb alone. Columns before the limb are X_SJ = K X_AJ, and X_SS = B + K X_AS.
        """
        x: dict[tuple[int, int], SX] = {}
        for limb in self._limbs:
            ancestors, follower = self._ancestors(limb), self._follower(limb)
            for k, row in zip(limb, follower, strict=True):
                for j in range(limb.start):
                    x[j, k] = x[k, j] = sum_of_products(row, [x[a, j] for a in ancestors])
            alone = self._limb_inverse(limb)
            for k, row in zip(limb, follower, strict=True):
                for j in range(limb.start, k + 1):
                    x[j, k] = x[k, j] = plus(alone[k, j], sum_of_products(row, [x[a, j] for a in ancestors]))
        n = self.size
        return SX(ca.vertcat(*[ca.horzcat(*[_sparse(x[i, j]) for j in range(n)]) for i in range(n)]))

    def _ancestors(self, limb: range) -> list[int]:
        return sorted(self._factor[limb.start])

    def _follower(self, limb: range) -> list[list[SX]]:
        """Matrix K of a limb, row by row: x_k = -Σ L_ka x_a - Σ L_ks x_s."""
        if limb.start not in self._followers:
            ancestors = self._ancestors(limb)
            rows: list[list[SX]] = []
            for k in limb:
                through = [self._factor[k][s] for s in limb if s < k]
                if not rows:  # multiplied by -1/D, since a negated factor would be negated again in each product
                    scale = -self._inverse_diagonal[k]
                    rows.append([times(self._rows[k][a], scale) for a in ancestors])
                else:
                    sums = [sum_of_products(through, [row[i] for row in rows]) for i in range(len(ancestors))]
                    rows.append([-plus(self._factor[k][a], s) for a, s in zip(ancestors, sums, strict=True)])
            self._followers[limb.start] = rows
        return self._followers[limb.start]

    def _limb_inverse(self, limb: range) -> dict[tuple[int, int], SX]:
        """Inverse of L_SSᵀ D_S L_SS for the rows of a limb, lower triangle and its mirror image."""
        inverse: dict[tuple[int, int], SX] = {}
        for column in limb:
            # L_SSᵀ y = e gives rows <= column only; the rows above follow from L_SS x = y / D, the others by symmetry.
            y = {i: SX(1.0 * (i == column)) for i in limb}
            for k in reversed(range(limb.start, column + 1)):
                for j in range(limb.start, k):
                    y[j] = minus(y[j], times(self._factor[k][j], y[k]))
            for i in range(limb.start, column + 1):
                value = times(y[i], self._inverse_diagonal[i])
                for j in range(limb.start, i):
                    value = minus(value, times(self._factor[i][j], inverse[j, column]))
                inverse[i, column] = inverse[column, i] = value
        return inverse

    def _transposed_solve(self, y: list[SX]) -> list[SX]:
        for k in reversed(range(self.size)):
            if not y[k].is_zero():
                for j, factor in self._factor[k].items():
                    y[j] = minus(y[j], times(factor, y[k]))
        return y


def _sparse(value: SX) -> SX:
    return SX(1, 1) if value.is_zero() else value
