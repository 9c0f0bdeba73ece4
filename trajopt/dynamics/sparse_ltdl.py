"""Sparse LᵀDL factorisation of a symmetric expression, and the solution of linear systems with it."""

from __future__ import annotations

import casadi as ca
from casadi import SX


class SparseLTDL:
    """H = Lᵀ D L with L unit lower triangular, where structural zeros of H never appear.

    The elimination goes from the last row to the first: with links numbered from the root to the leaves there is no
    fill-in at all (Featherstone 2008, table 6.3, there in place). Entries that fill in elsewhere are added.

    Args:
        matrix: H, SX (n, n), symmetric positive definite; its lower triangle is read.
    """

    def __init__(self, matrix: SX) -> None:
        n = matrix.shape[0]
        rows: list[dict[int, SX]] = [
            {j: matrix[i, j] for j in range(i + 1) if not matrix[i, j].is_zero()} for i in range(n)
        ]
        self.size = n
        self.inverse_diagonal: list[SX] = [SX(0)] * n
        self.factor: list[dict[int, SX]] = [{} for _ in range(n)]
        for k in reversed(range(n)):
            self.inverse_diagonal[k] = 1 / rows[k][k]
            below = sorted(j for j in rows[k] if j < k)
            for i in below:
                self.factor[k][i] = rows[k][i] * self.inverse_diagonal[k]
                for j in below:
                    if j > i:
                        break
                    product = self.factor[k][i] * rows[k][j]
                    rows[i][j] = rows[i][j] - product if j in rows[i] else -product

    def solve(self, b: SX) -> SX:
        """H⁻¹ b for b SX (n, m), column by column; zeros of b stay zeros as long as they can."""
        columns = [self._solve_column([b[i, j] for i in range(self.size)]) for j in range(b.shape[1])]
        return ca.horzcat(*columns)

    def inverse(self) -> SX:
        """H⁻¹, SX (n, n), symmetric: only its upper triangle is computed."""
        n = self.size
        inverse = SX(n, n)
        for column in range(n):
            # Lᵀ y = e_k reaches rows <= k only; then D; then L x = y gives rows 0..k, the rest is known by symmetry.
            y = self._transposed_solve([SX(1.0 * (i == column)) for i in range(n)])
            for i in range(column + 1):
                value = y[i] * self.inverse_diagonal[i]
                for j, factor in self.factor[i].items():
                    value = value - factor * inverse[j, column]
                inverse[i, column] = inverse[column, i] = value
        return inverse

    def _transposed_solve(self, y: list[SX]) -> list[SX]:
        for k in reversed(range(self.size)):
            if not y[k].is_zero():
                for j, factor in self.factor[k].items():
                    y[j] = y[j] - factor * y[k]
        return y

    def _solve_column(self, b: list[SX]) -> SX:
        y = self._transposed_solve(b)
        x: list[SX] = []
        for k in range(self.size):
            value = y[k] * self.inverse_diagonal[k]
            for j, factor in self.factor[k].items():
                value = value - factor * x[j]
            x.append(value)
        return ca.vertcat(*x)
