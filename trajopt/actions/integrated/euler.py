"""The symplectic Euler step."""

from __future__ import annotations

import casadi as ca
from casadi import SX

from trajopt.actions.expression import steps_of
from trajopt.actions.integrated.base import IntegratedActionModelAbstract, stacked
from trajopt.expressions import Instant
from trajopt.kernels.program import Array, Program


class IntegratedActionModelEuler(IntegratedActionModelAbstract):
    """Symplectic (semi-implicit) Euler step on the manifold: x⁺ = x ⊕ (v dt + a dt², a dt); first order.

    The velocity is stepped first and moves the configuration. A first-order system takes the explicit step
    x⁺ = x ⊕ f(x, u) dt. The cost is multiplied by dt.

    Args:
        differential: The continuous-time model.
        dt: Time step [s]. Run-time parameter `dt`.
    """

    def _tangent(self, instant: Instant) -> SX:
        """The step in the tangent space, (ndx,)."""
        rate = self.differential.rate(instant)
        if not self.differential.second_order:
            return rate * self.dt
        half = self.state.ndx // 2
        velocity, change = rate[:half], rate[half:] * self.dt
        return ca.vertcat((velocity + change) * self.dt, change)

    def _tangent_derivative(self, instant: Instant) -> tuple[SX, SX]:
        by_x, by_u = self.differential.rate_derivative(instant)
        if not self.differential.second_order:
            return by_x * self.dt, by_u * self.dt
        half = self.state.ndx // 2
        change_x, change_u = by_x[half:, :] * self.dt, by_u[half:, :] * self.dt
        top_x, top_u = (by_x[:half, :] + change_x) * self.dt, change_u * self.dt
        return ca.vertcat(top_x, change_x), ca.vertcat(top_u, change_u)

    def calc_steps(self, program: Program, x: Array, u: Array, parameters: Array) -> tuple[Array, Array]:
        instant = Instant(self.state, self.nu)
        xnext = self.state.sx_integrate(instant.x, self._tangent(instant))
        cost = self.dt * self.differential.costs.value(instant)
        return steps_of(
            program, type(self.differential).__name__, self.symbols(instant), [xnext, cost], [x, u, parameters]
        )  # type: ignore[return-value]

    def calc_diff_steps(self, program: Program, x: Array, u: Array, parameters: Array) -> tuple[Array, ...]:
        instant = Instant(self.state, self.nu, derivatives=True)
        step = self._tangent(instant)
        step_x, step_u = self._tangent_derivative(instant)
        first, second = self.state.sx_jintegrate(instant.x, step)
        jacobian = ca.horzcat(first + second @ step_x, second @ step_u)
        q, dt = self.differential.costs.quadratic(instant), self.dt
        gradient, hessian = stacked(q.Lx * dt, q.Lu * dt, q.Lxx * dt, q.Lxu * dt, q.Luu * dt)
        results = [self.state.sx_integrate(instant.x, step), dt * q.cost, jacobian, gradient, hessian]
        return steps_of(program, type(self.differential).__name__, self.symbols(instant), results, [x, u, parameters])
