"""The symplectic Euler step."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import casadi as ca
from casadi import SX

from trajopt.actions.expansion import Expansion, Implicit, Lift, Multipliers, Point, Values
from trajopt.actions.implicit_hessian import add_implicit_hessian
from trajopt.actions.integrated.base import IntegratedActionModelAbstract
from trajopt.actions.second_order_jacobian import lift_size
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import Bindings, named_call, symbol_of


class IntegratedActionModelEuler(IntegratedActionModelAbstract):
    """Symplectic (semi-implicit) Euler step on the manifold: x⁺ = x ⊕ (v dt + a dt², a dt); first order.

    The step updates the velocity first; the new velocity then moves the configuration. For a first-order system the
    step is explicit: x⁺ = x ⊕ f(x, u) dt. The cost is multiplied by dt.

    Args:
        differential: The continuous-time model.
        dt: Time step [s]. Run-time parameter `dt`.
    """

    @functools.cached_property
    def lift_size(self) -> int | None:
        """Size of the block in which q ⊕ dt v⁺ is not a sum [-], 6 for a floating base; None at first order."""
        x, step = SX.sym("x", self.state.nx), SX.sym("step", self.state.ndx)
        return lift_size(*self.state.sx_jintegrate(x, step)) if self.differential.second_order else None

    def running_values(self, program: Program, point: Point, u: Array) -> Values:
        stage = self._stage(program, point, point.x, u, 0.0, 1.0)
        v = self.differential.values(program, stage)
        y, rate = SX.sym("x", self.state.nx), symbol_of(program, v.f)
        inputs: Bindings = [(y, point.x), (rate, v.f), (self.layout, point.parameters)]
        r = named_call(program, "step", inputs, {"xnext": self.state.sx_integrate(y, self._tangent(y, rate))})
        return Values(xnext=r["xnext"], cost=v.cost, rows=v.rows)

    def running_expansion(self, program: Program, point: Point, u: Array, lift: int | None) -> Expansion:
        stage = self._stage(program, point, point.x, u, 0.0, 1.0)
        e = self.control.chain(program, self.differential.expansion(program, stage), 0.0)
        y, rate, change = SX.sym("x", self.state.nx), symbol_of(program, e.f), symbol_of(program, e.Df)
        tangent = self._tangent(y, rate)
        derivatives = self.state.sx_jintegrate(y, tangent)
        names = ("F",) if lift is None else ("dt", "J0", "J1", "Fv")
        parts = [self._jacobian(*derivatives, change)] if lift is None else self._lift(*derivatives, change, lift)
        results = {"xnext": self.state.sx_integrate(y, tangent), **dict(zip(names, parts))}
        inputs: Bindings = [(y, point.x), (rate, e.f), (change, e.Df), (self.layout, point.parameters)]
        arrays = named_call(program, "step and derivatives", inputs, results)
        xnext, F = arrays.pop("xnext"), arrays.get("F")
        lifted = None if lift is None else Lift(**arrays)
        kept = (e.f, e.Df) if self.differential.implicit_hessian else ()
        return Expansion(xnext=xnext, F=F, lift=lifted, cost=e.cost, g=e.g, H=e.H, rows=e.rows, C=e.C, kept=kept)

    @property
    def kept_shapes(self) -> tuple[tuple[int, int], ...]:
        """Shapes of the acceleration and its derivative."""
        size = self.differential.size
        return ((size, 1), (size, self.state.ndx + self.nu)) if self.differential.implicit_hessian else ()

    def _step_expression(self, instant: Instant) -> SX:
        return self._step_of(instant, self.differential.dynamics(instant))

    def _step_of(self, instant: Instant, f: SX) -> SX:
        return self.state.sx_integrate(instant.x, self._tangent(instant.x, f))

    @property
    def has_lagrangian_hessian(self) -> bool:
        d = self.differential
        return d.exact_hessian or d.implicit_hessian or d.node_hessian

    @property
    def hessian_on_request(self) -> bool:
        return self.differential.node_hessian

    def _lagrangian_hessian(
        self, program: Program, point: Point, multipliers: Multipliers, kept: Sequence[Array]
    ) -> Array:
        if point.u is None or not self.differential.node_hessian:
            return super()._lagrangian_hessian(program, point, multipliers, kept)
        d = self.differential
        i = d.instant(derivatives=True)
        node = d.implicit_node(i)
        assert node is not None
        values = {**self._curved_costs(i), "xnext": self._step_of(i, node.motion), **d.constraints.named_rows(i)}
        inputs: Bindings = [(i.x, point.x), (i.u, point.u), (self.layout, point.parameters)]
        return add_implicit_hessian(program, node, values, inputs, multipliers)

    def lagrangian_expressions(self, *, terminal: bool) -> tuple[Instant, dict[str, SX], Implicit | None]:
        if terminal or not self.differential.implicit_hessian:
            return super().lagrangian_expressions(terminal=terminal)
        i = self.differential.instant(derivatives=True)
        implicit = self.differential.implicit(i)
        assert implicit is not None
        values = {**self._values_beside_the_step(i), "xnext": self._step_of(i, implicit.symbol)}
        return i, values | self._curved_costs(i), implicit

    def _curved_costs(self, i: Instant) -> dict[str, SX]:
        """Expressions "curvature" and "cost" of `lagrangian_expressions`."""
        curvature, rest = self.differential.costs.curvature(i)
        return {"curvature": self.dt * curvature, "cost": self.dt * rest}

    def _tangent(self, x: SX, f: SX) -> SX:
        """Tangent vector of the step (ndx,): (dt v⁺, dt a) with v⁺ = v + dt a, or dt f."""
        return self._of_step(x[self.state.nx - f.numel() :], f)

    def _of_step(self, velocity: SX, rate: SX) -> SX:
        """Tangent vector of the step, or its derivative from those of the velocity and of the rate."""
        change = rate * self.dt
        return ca.vertcat((velocity + change) * self.dt, change) if self.differential.second_order else change

    def _velocity(self, D: SX) -> SX:
        """Derivative of v (ndx / 2, ndx + nu)."""
        half = D.shape[0]
        return ca.horzcat(SX(half, half), SX.eye(half), SX(half, self.nu))

    def _jacobian(self, first: SX, second: SX, D: SX) -> SX:
        """F (ndx, ndx + nu), from the derivatives of x ⊕ dx and of f."""
        return second @ self._of_step(self._velocity(D), D) + ca.horzcat(first, SX(self.state.ndx, self.nu))

    def _lift(self, first: SX, second: SX, D: SX, size: int) -> list[SX]:
        """Expressions of a `Lift` with blocks of `size`."""
        Fv = self._velocity(D) + D * self.dt
        return [self.dt, first[:size, :size], self.dt * second[:size, :size], Fv]
