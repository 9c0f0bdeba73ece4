"""The symplectic Euler step."""

from __future__ import annotations

import casadi as ca
from casadi import SX

from trajopt.actions.integrated.base import IntegratedActionModelAbstract, symbol_of
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array


class IntegratedActionModelEuler(IntegratedActionModelAbstract):
    """Symplectic (semi-implicit) Euler step on the manifold: x⁺ = x ⊕ (v dt + a dt², a dt); first order.

    The velocity is stepped first and moves the configuration. A first-order system takes the explicit step
    x⁺ = x ⊕ f(x, u) dt. The cost is multiplied by dt.

    Args:
        differential: The continuous-time model.
        dt: Time step [s]. Run-time parameter `dt`.
    """

    def calc_steps(self, program: Program, x: Array, u: Array, parameters: Array) -> tuple[Array, Array]:
        symbols, weight = self.layout.symbols, self.weight_step(program, parameters, 1.0)
        f, cost = self.differential.value_steps(program, x, u, parameters, weight, symbols=symbols)
        y, rate = SX.sym("x", self.state.nx), symbol_of(program, f)
        step = ca.Function("step", [y, rate, symbols], [self.state.sx_integrate(y, self._tangent(y, rate))])
        (xnext,) = program.call(step, x, f, parameters)
        return xnext, cost

    def calc_diff_steps(self, program: Program, x: Array, u: Array, parameters: Array) -> tuple[Array, ...]:
        symbols, weight = self.layout.symbols, self.weight_step(program, parameters, 1.0)
        f, D, cost, gradient, hessian = self.differential.expansion_steps(
            program, x, u, parameters, weight, symbols=symbols
        )
        y, rate, change = SX.sym("x", self.state.nx), symbol_of(program, f), symbol_of(program, D)
        tangent = self._tangent(y, rate)
        first, second = self.state.sx_jintegrate(y, tangent)
        jacobian = second @ self._tangent_derivative(change) + ca.horzcat(first, SX(self.state.ndx, self.nu))
        results = [self.state.sx_integrate(y, tangent), jacobian]
        xnext, F = program.call(ca.Function("step_diff", [y, rate, change, symbols], results), x, f, D, parameters)
        return xnext, cost, F, gradient, hessian

    def _tangent(self, x: SX, f: SX) -> SX:
        """The step in the tangent space, (ndx,)."""
        if not self.differential.second_order:
            return f * self.dt
        change = f * self.dt
        return ca.vertcat((x[self.state.nx - f.numel() :] + change) * self.dt, change)

    def _tangent_derivative(self, D: SX) -> SX:
        """Its derivative (ndx, ndx + nu), with D that of f."""
        if not self.differential.second_order:
            return D * self.dt
        half = D.shape[0]
        velocity = ca.horzcat(SX(half, half), SX.eye(half), SX(half, self.nu))
        change = D * self.dt
        return ca.vertcat((velocity + change) * self.dt, change)
