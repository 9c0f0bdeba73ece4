"""Discrete-time models that are one expression each."""

from __future__ import annotations

from abc import abstractmethod

import casadi as ca
from casadi import SX

from trajopt.actions.expression import ActionModelExpression, steps_of
from trajopt.instant import Instant
from trajopt.kernels.derivatives import jacobian
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array


class ActionModelDiscrete(ActionModelExpression):
    """x⁺ = f(x, u) and the cost l(x, u), written as expressions; derivatives follow, with the exact Hessian of l."""

    @abstractmethod
    def next_state(self, x: SX, u: SX) -> SX:
        """Next state (nx,) of a state (nx,) and a control (nu,)."""

    @abstractmethod
    def running_cost(self, x: SX, u: SX) -> SX:
        """Cost of a knot, a scalar [cost]."""

    @abstractmethod
    def terminal_cost(self, x: SX) -> SX:
        """Cost at the end of the horizon, a scalar [cost]."""

    def calc_steps(self, program: Program, x: Array, u: Array, parameters: Array) -> tuple[Array, Array]:
        i = Instant(self.state, self.nu)
        results = [self.next_state(i.x, i.u), self.running_cost(i.x, i.u)]
        return steps_of(program, type(self).__name__, self._symbols(i), results, [x, u, parameters])  # type: ignore[return-value]

    def calc_diff_steps(self, program: Program, x: Array, u: Array, parameters: Array) -> tuple[Array, ...]:
        i = Instant(self.state, self.nu)
        xnext, cost = self.next_state(i.x, i.u), self.running_cost(i.x, i.u)
        to_tangent = self.state.sx_tangent_projection(xnext)
        by_x, by_u = i.derivative(xnext)
        gradient, hessian = self._expansion(i, cost)
        results = [xnext, cost, ca.horzcat(to_tangent @ by_x, to_tangent @ by_u), gradient, hessian]
        return steps_of(program, type(self).__name__, self._symbols(i), results, [x, u, parameters])

    def terminal_steps(self, program: Program, x: Array, parameters: Array) -> tuple[Array, Array, Array]:
        i = Instant(self.state, 0)
        cost = self.terminal_cost(i.x)
        symbols = [i.x, self.layout.symbols]
        results = [cost, *self._expansion(i, cost)]
        return steps_of(program, type(self).__name__, symbols, results, [x, parameters])  # type: ignore[return-value]

    def terminal_value_step(self, program: Program, x: Array, parameters: Array) -> Array:
        i = Instant(self.state, 0)
        symbols = [i.x, self.layout.symbols]
        return steps_of(program, type(self).__name__, symbols, [self.terminal_cost(i.x)], [x, parameters])[0]

    def term_expressions(self, instant: Instant, *, terminal: bool) -> dict[str, SX]:
        cost = self.terminal_cost(instant.x) if terminal else self.running_cost(instant.x, instant.u)
        return {"cost": cost}

    def _expansion(self, i: Instant, cost: SX) -> tuple[SX, SX]:
        """Gradient (ndx + nu,) and Hessian of a cost in tangent coordinates, at dx = 0 of l(x ⊕ dx, u)."""
        step = SX.sym("dx", self.state.ndx)
        z = ca.vertcat(step, i.u)
        moved = ca.substitute(cost, i.x, self.state.sx_integrate(i.x, step))
        gradient = jacobian(moved, z).T
        hessian = jacobian(gradient, z)
        zero = SX.zeros(self.state.ndx)
        return ca.substitute(gradient, step, zero), ca.substitute(hessian, step, zero)

    def _symbols(self, i: Instant) -> list[SX]:
        return [i.x, i.u, self.layout.symbols]
