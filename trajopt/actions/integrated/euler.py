"""The symplectic Euler step."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import casadi as ca
from casadi import SX

from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.expansion import Expansion, Implicit, Lift, Multipliers, Point, Values
from trajopt.actions.implicit_hessian import add_implicit_hessian
from trajopt.actions.integrated.base import IntegratedActionModelAbstract
from trajopt.actions.integrated.world_euler import WorldEulerStep
from trajopt.actions.second_order_jacobian import lift_size
from trajopt.checks import check_known
from trajopt.costs.cost_stack import CostStack
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import Bindings, named_call, symbol_of
from trajopt.states.state_multibody import StateMultibody


class IntegratedActionModelEuler(IntegratedActionModelAbstract):
    """Symplectic (semi-implicit) Euler step on the manifold: x⁺ = x ⊕ (v dt + a dt², a dt); first order.

    The step updates the velocity first; the new velocity then moves the configuration. For a first-order system the
    step is explicit: x⁺ = x ⊕ f(x, u) dt. The cost is multiplied by dt.

    Args:
        differential: The continuous-time model.
        dt: Time step [s]. Run-time parameter `dt`.
        base: Axes in which the linear velocity of free joints is stepped: "body" as in Crocoddyl, or "world" as in the
            simulator and in MuJoCo, see `trajopt.states.world_axes`. In the body's axes, a spinning body gains speed
            as exp(ω² dt t / 2). Other joints do not depend on it.

    Raises:
        InvalidArgumentError: `base` is "world", and the model is not a second-order model of a robot.
    """

    def __init__(self, differential: DifferentialActionModelAbstract, dt: float = 1e-3, *, base: str = "body") -> None:
        super().__init__(differential, dt)
        self.base = check_known("base", base, ("body", "world"))
        robot = isinstance(differential.state, StateMultibody) and differential.second_order
        if base == "world" and not robot:
            raise InvalidArgumentError(
                f"base: expected 'body' for {type(differential).__name__}, got 'world', which needs a second-order "
                "model with a StateMultibody"
            )

    @functools.cached_property
    def lift_size(self) -> int | None:
        """Size of the block in which q ⊕ dt v⁺ is not a sum [-], 6 for a floating base; None at first order."""
        if not self.differential.second_order:
            return None
        x, step = SX.sym("x", self.state.nx), SX.sym("step", self.state.ndx)
        return lift_size(*self.state.sx_jintegrate(x, step))

    @functools.cached_property
    def _world(self) -> WorldEulerStep | None:
        """Step of free joints in world axes; None in the body's."""
        if self.base == "body":
            return None
        assert isinstance(self.state, StateMultibody)
        return WorldEulerStep(self.state, self.dt)

    def running_values(self, program: Program, point: Point, u: Array) -> Values:
        stage = self._stage(program, point, point.x, u, 0.0, 1.0)
        v = self.differential.values(program, stage)
        y, rate = SX.sym("x", self.state.nx), symbol_of(program, v.f)
        inputs: Bindings = [(y, point.x), (rate, v.f), (self.layout, point.parameters)]
        r = named_call(program, "step", inputs, {"xnext": self._next_state(y, rate)})
        return Values(xnext=r["xnext"], cost=v.cost, rows=v.rows)

    def running_expansion(self, program: Program, point: Point, u: Array, lift: int | None) -> Expansion:
        stage = self._stage(program, point, point.x, u, 0.0, 1.0)
        e = self.differential.expansion(program, stage)
        y, rate, change = SX.sym("x", self.state.nx), symbol_of(program, e.f), symbol_of(program, e.Df)
        results = self._results(y, rate, change, lift)
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
        return self._next_state(instant.x, self.differential.dynamics(instant))

    def _next_state(self, x: SX, f: SX) -> SX:
        """Next state (nx,) from the state x (nx,) and the rate f."""
        if self._world is not None:
            return self._world.next_state(x, f)
        return self.state.sx_integrate(x, self._tangent(x, f))

    @property
    def has_lagrangian_hessian(self) -> bool:
        d = self.differential
        return d.exact_hessian or d.implicit_hessian or d.node_hessian

    def _lagrangian_hessian(
        self, program: Program, point: Point, multipliers: Multipliers, kept: Sequence[Array]
    ) -> Array:
        if point.u is None or not self.differential.node_hessian:
            return super()._lagrangian_hessian(program, point, multipliers, kept)
        d = self.differential
        i = d.instant(derivatives=True)
        node = d.implicit_node(i)
        assert node is not None
        values = {**self._curved_costs(i), "xnext": self._next_state(i.x, node.motion), **d.constraints.named_rows(i)}
        inputs: Bindings = [(i.x, point.x), (i.u, point.u), (self.layout, point.parameters)]
        return add_implicit_hessian(program, node, values, inputs, multipliers)

    @property
    def running_costs(self) -> CostStack | None:
        return None if self.differential.node_hessian else self.differential.costs

    def lagrangian_expressions(
        self, *, terminal: bool, delta: SX | None = None
    ) -> tuple[Instant, dict[str, SX], Implicit | None]:
        if terminal or not self.differential.implicit_hessian:
            i, values, implicit = super().lagrangian_expressions(terminal=terminal)
            if delta is not None:
                values["cost"] += self.dt * ca.dot(delta, self.differential.costs.bent_residuals(i)[0])
            return i, values, implicit
        i = self.differential.instant(derivatives=True)
        implicit = self.differential.implicit(i)
        assert implicit is not None
        values = {**self._values_beside_the_step(i), "xnext": self._next_state(i.x, implicit.symbol)}
        return i, values | self._curved_costs(i, delta), implicit

    def _curved_costs(self, i: Instant, delta: SX | None = None) -> dict[str, SX]:
        """Expressions "curvature" and "cost" of `lagrangian_expressions`."""
        curvature, rest = self.differential.costs.curvature(i, delta)
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

    def _results(self, x: SX, f: SX, D: SX, lift: int | None) -> dict[str, SX]:
        """Next state, and F or the expressions of a `Lift` with blocks of size `lift`; D is the derivative of f."""
        if self._world is not None:
            return self._world.results(x, f, D, lift)
        tangent = self._tangent(x, f)
        first, second = self.state.sx_jintegrate(x, tangent)
        xnext = self.state.sx_integrate(x, tangent)
        if lift is None:
            rest = ca.horzcat(first, SX(self.state.ndx, self.nu))
            return {"xnext": xnext, "F": second @ self._of_step(self._velocity(D), D) + rest}
        blocks = {"J0": first[:lift, :lift], "J1": self.dt * second[:lift, :lift]}
        return {"xnext": xnext, "dt": self.dt, **blocks, "Fv": self._velocity(D) + D * self.dt}
