"""The linear system of contacts and impulses, and the derivatives of its solution by the implicit function theorem.

    M w + e = Jᵀ λ,   J w + c + μ λ = 0          w: accelerations, or changes of velocity; λ: forces, or impulses

A constraint that is not active (s = 0) has its rows of J and c multiplied by s, and 1 - s on its diagonal of the Schur
complement S = J M⁻¹ Jᵀ + μ: its multiplier is exactly zero. With R₁ and R₂ the derivatives of the two equations at
fixed (w, λ), and

    C = S⁻¹,  G = J M⁻¹,  B = Gᵀ C,  A = M⁻¹ - B G:      dw = -A R₁ - B R₂,   dλ = Bᵀ R₁ - C R₂.

Source: Mastalli et al., Crocoddyl (ICRA 2020), eqs. 6-9; Carpentier and Mansard, RSS 2018.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from casadi import SX

from trajopt.dynamics.robot_expressions import RobotExpressions
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array, Groups


class ContactSystem:
    """The system as expressions.

    Args:
        robot: The robot at q.
        jacobian: J as if all constraints were active, (nc, nv).
        switches: s (nc,), 1 or 0.
        damping: μ [-].
    """

    def __init__(self, robot: RobotExpressions, jacobian: SX, switches: SX, damping: SX) -> None:
        self._robot, self._switches = robot, switches
        self._jacobian = jacobian * ca.repmat(switches, 1, jacobian.shape[1])
        self._spread = robot.solve_mass_matrix(self._jacobian.T) if jacobian.shape[0] else SX(jacobian.shape[1], 0)
        schur = ca.mtimes(self._jacobian, self._spread)
        diagonal = 1 - switches + damping
        self._factor = DenseLDL(ca.triu2symm(ca.triu(schur)) + ca.diag(diagonal))

    def solve(self, free: SX, drift: SX) -> tuple[SX, SX]:
        """w (nv,) and λ (nc,), with `free` = -M⁻¹ e and `drift` = J free + c as if all constraints were active."""
        multipliers = -self._factor.solve(self._switches * drift)
        return free + ca.mtimes(self._spread, multipliers), multipliers

    def inverses(self) -> tuple[SX, SX, SX]:
        """M⁻¹ (nv, nv), G (nc, nv) and C (nc, nc)."""
        return self._robot.inverse_mass_matrix(), self._spread.T, self._factor.inverse()


class DenseLDL:
    """L D Lᵀ of a small symmetric positive definite expression."""

    def __init__(self, matrix: SX) -> None:
        n = self.size = matrix.shape[0]
        rows = [[matrix[i, j] for j in range(i + 1)] for i in range(n)]
        self._inverse_diagonal: list[SX] = []
        self._factor = [[SX(0)] * i for i in range(n)]
        for j in range(n):
            self._inverse_diagonal.append(1 / rows[j][j])
            for i in range(j + 1, n):
                self._factor[i][j] = rows[i][j] * self._inverse_diagonal[j]
            for i in range(j + 1, n):
                for k in range(j + 1, i + 1):
                    rows[i][k] = rows[i][k] - self._factor[i][j] * rows[k][j]

    def solve(self, b: SX) -> SX:
        """The solution for a right-hand side (n,)."""
        y = [b[i] for i in range(self.size)]
        for i in range(self.size):
            for j in range(i):
                y[i] = y[i] - self._factor[i][j] * y[j]
        x = [value * scale for value, scale in zip(y, self._inverse_diagonal)]
        for i in reversed(range(self.size)):
            for j in range(i):
                x[j] = x[j] - self._factor[i][j] * x[i]
        return SX(ca.vertcat(*x)) if x else SX(0, 1)

    def inverse(self) -> SX:
        """The inverse (n, n): Lᵀ X = D⁻¹ L⁻¹, of which the lower triangle is built from the last column on."""
        n, x = self.size, [[SX(0)] * self.size for _ in range(self.size)]
        for j in reversed(range(n)):
            for i in reversed(range(j + 1)):
                value = self._inverse_diagonal[j] if i == j else SX(0)
                for k in range(i + 1, n):
                    value = value - self._factor[k][i] * x[k][j]
                x[i][j] = x[j][i] = value
        return SX(ca.vertcat(*[ca.horzcat(*row) for row in x])) if n else SX(0, 0)


@dataclass(frozen=True)
class Sensitivities:
    """What the derivatives of the solution are made of, arrays of a program.

    Attributes:
        mass_inverse: M⁻¹ (nv, nv).
        spread: G (nc, nv).
        schur_inverse: C (nc, nc).
        motion: R₁ (nv, n).
        constraint: R₂ (nc, n).
        offset: What the derivative of w has besides, (nv, n).
        active: Groups of constraints, one a contact; those that are not active do not matter.
    """

    mass_inverse: Array
    spread: Array
    schur_inverse: Array
    motion: Array
    constraint: Array
    offset: Array
    active: Groups


def motion_steps(program: Program, s: Sensitivities) -> tuple[Array, Array]:
    """Adds the steps that give offset + dw (nv, n), and Bᵀ (nc, nv)."""
    B = program.matmul(s.schur_inverse, s.spread, inner=s.active)
    A = s.mass_inverse
    program.accumulate(A, B, s.spread, transpose_a=True, subtract=True, symmetric=True, inner=s.active)
    motion = program.matmul(A, s.motion, subtract=True)
    program.accumulate(motion, B, s.constraint, transpose_a=True, subtract=True, inner=s.active)
    program.add(motion, s.offset)
    return motion, B


def force_steps(program: Program, s: Sensitivities, B: Array, felt: Groups) -> Array:
    """Adds the steps that give dλ (nc, n), with Bᵀ as `motion_steps` gives it, for the contacts that matter."""
    force = program.matmul(B, s.motion, rows=felt)
    program.accumulate(force, s.schur_inverse, s.constraint, subtract=True, rows=felt, inner=s.active)
    return force
