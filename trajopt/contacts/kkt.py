"""The linear system of contacts and impulses as expressions; see `trajopt.contacts.implicit_node`."""

from __future__ import annotations

import casadi as ca
from casadi import SX

from trajopt.dynamics.robot_expressions import RobotExpressions
from trajopt.lie.scalars import minus, scalars, times


class ContactSystem:
    """Linear system M w + e = Jᵀ λ and J w + c + μ λ = 0 with switches, as expressions.

    Args:
        robot: The robot at q.
        jacobian: J of all constraints, active or not (nc, nv).
        switches: s (nc,), 1 for active and 0 for inactive constraints.
        damping: μ [1/kg].
    """

    def __init__(self, robot: RobotExpressions, jacobian: SX, switches: SX, damping: SX) -> None:
        self._robot, self._switches = robot, switches
        self._jacobian = jacobian * ca.repmat(switches, 1, jacobian.shape[1])
        self._spread = robot.solve_mass_matrix(self._jacobian.T) if jacobian.shape[0] else SX(jacobian.shape[1], 0)
        schur = ca.mtimes(self._jacobian, self._spread)
        diagonal = 1 - switches + damping
        self._factor = DenseLDL(ca.triu2symm(ca.triu(schur)) + ca.diag(diagonal))

    def solve(self, free: SX, drift: SX) -> tuple[SX, SX]:
        """w (nv,) and λ (nc,) for `free` = -M⁻¹ e and `drift` = J free + c of all constraints, active or not."""
        multipliers = -self._factor.solve(self._switches * drift)
        return free + ca.mtimes(self._spread, multipliers), multipliers

    def adjoint(self, by_w: SX, by_multipliers: SX) -> tuple[SX, SX]:
        """Solves the transposed system M ν + Jᵀ κ = by_w (nv,), -J ν + (μ + 1 - s) κ = by_multipliers (nc,)."""
        rows = self._factor.solve(by_multipliers + ca.mtimes(self._spread.T, by_w))
        return self._robot.solve_mass_matrix(by_w) - ca.mtimes(self._spread, rows), rows

    def inverses(self) -> tuple[SX, SX, SX]:
        """Matrices M⁻¹ (nv, nv), G = J M⁻¹ (nc, nv) and C = (J M⁻¹ Jᵀ + μ + 1 - s)⁻¹ (nc, nc).

        Rows of J that belong to inactive constraints are 0 in them.
        """
        return self._robot.inverse_mass_matrix(), self._spread.T, self._factor.inverse()


class DenseLDL:
    """Factorisation L D Lᵀ of a small symmetric positive definite expression."""

    def __init__(self, matrix: SX) -> None:
        n = self.size = matrix.shape[0]
        elements = scalars(matrix)
        rows = [[elements[i + n * j] for j in range(i + 1)] for i in range(n)]
        self._inverse_diagonal: list[SX] = []
        self._factor = [[SX(0)] * i for i in range(n)]
        for j in range(n):
            self._inverse_diagonal.append(1 / rows[j][j])
            for i in range(j + 1, n):
                self._factor[i][j] = times(rows[i][j], self._inverse_diagonal[j])
            for i in range(j + 1, n):
                for k in range(j + 1, i + 1):
                    rows[i][k] = minus(rows[i][k], times(self._factor[i][j], rows[k][j]))

    def solve(self, b: SX) -> SX:
        """Returns the solution x (n,) of L D Lᵀ x = b for a right-hand side b (n,)."""
        y = scalars(b)
        for i in range(self.size):
            for j in range(i):
                y[i] = minus(y[i], times(self._factor[i][j], y[j]))
        x = [times(value, scale) for value, scale in zip(y, self._inverse_diagonal)]
        for i in reversed(range(self.size)):
            for j in range(i):
                x[j] = minus(x[j], times(self._factor[i][j], x[i]))
        return SX(ca.vertcat(*x)) if x else SX(0, 1)

    def inverse(self) -> SX:
        """Inverse (n, n): solves Lᵀ X = D⁻¹ L⁻¹ for the lower triangle, from the last column to the first."""
        n, x = self.size, [[SX(0)] * self.size for _ in range(self.size)]
        for j in reversed(range(n)):
            for i in reversed(range(j + 1)):
                value = self._inverse_diagonal[j] if i == j else SX(0)
                for k in range(i + 1, n):
                    value = minus(value, times(self._factor[k][i], x[k][j]))
                x[i][j] = x[j][i] = value
        return SX(ca.vertcat(*[ca.horzcat(*row) for row in x])) if n else SX(0, 0)
