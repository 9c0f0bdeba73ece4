"""Implicit equations of contacts and impulses: their solution, and the chain rule for dynamics, costs and rows.

    M w + e = Jᵀ λ,   J w + c + μ λ = 0          w: accelerations, or changes of velocity; λ: forces, or impulses

is r(z; y, p) = 0 with z = (w, λ) and y = (x, u). For an inactive constraint (s = 0), the rows of J and c are
multiplied by s, and the diagonal of the Schur complement S = J M⁻¹ Jᵀ + μ gets 1 - s: its multiplier is exactly zero.
With R₁ and R₂ the derivatives of the two equations by y at fixed z, and

    C = S⁻¹,  G = J M⁻¹,  B = Gᵀ C,  A = M⁻¹ - B G:      dw = -A R₁ - B R₂,   dλ = Bᵀ R₁ - C R₂.

Source: Mastalli et al., Crocoddyl (ICRA 2020), eqs. 6-9; Carpentier and Mansard, RSS 2018.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import casadi as ca
from casadi import SX

from trajopt.contacts.base import Motions
from trajopt.contacts.kkt import ContactSystem
from trajopt.contacts.stack import TouchStackAbstract
from trajopt.dynamics.robot_expressions import RobotExpressions
from trajopt.instant import Instant


class ImplicitNode(ABC):
    """Solution z of the contact equations at one instant: its symbols, its value in closed form, and its derivatives.

    Expressions may contain the symbols of z, and those of an instant for the same quantities (forces, the motion);
    `insert` replaces them by values. For equations that are solved by iteration, z would be an input; nothing else
    would change.

    Args:
        instant: State and control as symbols.
        stack: The contacts, or impulses.
        robot: The robot at q.
        motions: Motion of the frames of the stack, which may depend on w.
        w: Symbol of w (nv,).
        damping: μ [1/kg].
    """

    def __init__(
        self,
        instant: Instant,
        stack: TouchStackAbstract[Any],
        robot: RobotExpressions,
        motions: Motions,
        w: SX,
        damping: SX,
    ) -> None:
        self.instant, self.stack, self.motions, self.w = instant, stack, motions, w
        self.multipliers = SX.sym("multipliers", stack.nc)
        self._system = ContactSystem(robot, stack.jacobian(motions), stack.switches(), damping)

    @property
    @abstractmethod
    def motion(self) -> SX:
        """Acceleration (contacts) or velocity after the impact (impulses), (nv,), for costs and constraints to read.

        It is an expression of the state x and the unknown w.
        """

    @abstractmethod
    def _solve(self) -> tuple[SX, SX]:
        """w (nv,) and λ (nc,) as expressions of x, u and parameters."""

    @abstractmethod
    def _residual_derivatives(self) -> tuple[SX, SX, SX]:
        """R₁ (nv, n), R₂ (nc, n), and the derivative of the motion without dw (nv, n)."""

    @abstractmethod
    def _residual(self) -> tuple[SX, SX]:
        """Left-hand sides of the two equations, (nv,) and (nc,), of x, u and z."""

    def _placed(self, expressions: list[SX]) -> list[SX]:
        """Replaces the symbols of the frames' motion by values."""
        return expressions

    @functools.cached_property
    def mobility(self) -> SX:
        """Derivative A of w by generalized forces on the robot (nv, nv)."""
        inverse, spread, schur_inverse = self._system.inverses()
        return SX(inverse - ca.mtimes([spread.T, schur_inverse, spread]))

    @functools.cached_property
    def solution(self) -> SX:
        """Solution z as an expression of x and u (nv + nc,)."""
        return SX(ca.vertcat(*self._solve()))

    @functools.cached_property
    def symbols(self) -> SX:
        """Symbols of the solution z = (w, λ), (nv + nc,)."""
        return SX(ca.vertcat(self.w, self.multipliers))

    @functools.cached_property
    def residual(self) -> SX:
        """Residual r (nv + nc,) of x, u and the symbols of z."""
        (r,) = self._placed([ca.vertcat(*self._residual())])
        return r

    def adjoint(self, by_z: SX) -> SX:
        """Returns (∂r/∂z)⁻ᵀ b for b (nv + nc,), with the residual r of the contact equations."""
        nv = self.w.numel()
        return SX(ca.vertcat(*self._system.adjoint(by_z[:nv], by_z[nv:])))

    @functools.cached_property
    def _forces(self) -> dict[str, SX]:
        """Reported force T λ of each contact or impulse, as an expression of x and λ."""
        turn = self.stack.force_map(self.motions)
        return self.stack.split(self.multipliers if turn is None else ca.mtimes(turn, self.multipliers))

    # Values

    def insert(self, expressions: Mapping[str, SX]) -> dict[str, SX]:
        """Expressions of x and u: z, and symbols of the instant for it, are replaced by their values."""
        if not expressions:
            return {}
        values = ca.substitute(list(self.in_symbols(expressions).values()), [self.symbols], [self.solution])
        return dict(zip(expressions, map(SX, values)))

    def in_symbols(self, expressions: Mapping[str, SX]) -> dict[str, SX]:
        """Expressions of x, u and z: symbols of the instant for z are replaced by those of z."""
        i, values = self.instant, self._placed(list(expressions.values()))
        names, seen = [*i.forces.values()], [self._forces[name] for name in i.forces]
        if i.solved_motion.numel():
            names, seen = [i.solved_motion, *names], [self.motion, *seen]
        if names:
            values = ca.substitute(values, [ca.vertcat(*names)], [ca.vertcat(*seen)])
        return dict(zip(expressions, map(SX, values)))

    def forces(self) -> dict[str, SX]:
        """Reported force [N, N m] or impulse [N s, N m s] by name of the contact, as an expression of x and u."""
        return self.insert(self._forces)

    # Derivatives

    def value_results(self) -> dict[str, SX]:
        """Expressions "motion" (nv,) and "forces" (nc,) of x and u, which costs and constraints read."""
        return self.insert({"motion": self.motion, "forces": ca.vertcat(SX(0, 1), *self._forces.values())})

    def derivative_results(self) -> dict[str, SX]:
        """Expressions of x, u and z from which `lead_on` computes derivatives.

        Unless T = 1, they include T, and the derivative E of T λ by y at fixed λ.
        """
        inverse, spread, schur_inverse = self._system.inverses()
        motion, constraint, offset = self._residual_derivatives()
        results = {
            "mass_inverse": inverse,
            "spread": spread,
            "schur_inverse": schur_inverse,
            "by_motion": motion,
            "by_constraint": constraint,
            "offset": offset,
            "active": self.stack.switches(),
        }
        turn, i = self.stack.force_map(self.motions), self.instant
        if turn is not None:
            by_q = self.stack.force_map_derivative(self.motions, self.multipliers)
            rest = i.state.ndx + i.nu - by_q.shape[1]
            results |= {"T": turn, "E": SX(ca.horzcat(by_q, SX(self.stack.nc, rest)))}
        return results
