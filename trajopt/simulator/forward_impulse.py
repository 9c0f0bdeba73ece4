"""FORWARD_RK1I, FORWARD_RK2I and FORWARD_RK4I: explicit steps in which contacts act by impulses."""

from __future__ import annotations

import functools
from dataclasses import replace

import casadi as ca
from casadi import SX

from trajopt.actions.integrated.runge_kutta import RungeKutta, is_curved
from trajopt.actions.integrated.tableau import Tableau
from trajopt.kernels.derivatives import jacobian
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import call_formula
from trajopt.simulator.dissipation_node import Dissipated
from trajopt.simulator.formulas import below, rate_rows
from trajopt.simulator.impulse_dynamics import ImpulseDynamics
from trajopt.simulator.model import SimulatorModel
from trajopt.simulator.modes import SimulatorMode, Variant
from trajopt.simulator.steps import (
    Inputs,
    StepAbstract,
    StepDerivatives,
    StepValues,
    SymplecticStep,
    VelocityDerivatives,
)

_TABLEAUS = {
    SimulatorMode.FORWARD_RK2I: Tableau.MIDPOINT,
    SimulatorMode.FORWARD_RK4I: Tableau.CLASSICAL,
}


def forward_impulse_step(model: SimulatorModel) -> StepAbstract:
    """Returns the step of a model whose mode is FORWARD_RK1I, FORWARD_RK2I or FORWARD_RK4I, in its variant."""
    if model.mode is not SimulatorMode.FORWARD_RK1I:
        return RungeKuttaImpulseStep(model)
    return ExplicitImpulseStep(model) if model.variant is Variant.SOURCE else SymplecticImpulseStep(model)


class SymplecticImpulseStep(SymplecticStep):
    """FORWARD_RK1I: v₊ = v₀ + dt H⁻¹ (τ - C(q, v̂)), v̂ = MDP(q, v), q₊ = q ⊕ dt v₊, free joints in world axes.

    v₀ is v̂ for the variant "projected", and v for "readme".

    Args:
        model: The simulator's model.
    """

    tells_forces = True

    def __init__(self, model: SimulatorModel) -> None:
        super().__init__(model)
        self._dynamics, self._projected = ImpulseDynamics(model), model.variant is Variant.PROJECTED

    def values(self, program: Program, inputs: Inputs) -> StepValues:
        q, v = self._parts(program, inputs)
        d, a = self._dynamics.value(program, q, v, inputs.torque, inputs.parameters)
        return self._values(program, inputs, q, v, d, a)[0]

    def new_velocity(self, program: Program, inputs: Inputs) -> VelocityDerivatives:
        q, v = self._parts(program, inputs)
        d, by, f = self._dynamics.derivatives(program, q, v, inputs.torque, inputs.parameters)
        values, after = self._values(program, inputs, q, v, d, f.value)

        def parts(v: SX, by_q: SX, by_v: SX, by_torque: SX, start_by_q: SX, start_by_v: SX, *a: SX) -> list[SX]:
            first, second = (start_by_q, start_by_v) if self._projected else (0, SX.eye(self.model.nv))
            dt, drift = self.model.dt, self.model.world_axes.drift_derivative(v)
            by_q, by_v = by_q + ca.mtimes(drift, start_by_q), by_v + ca.mtimes(drift, start_by_v)
            first = sum((self.model.by_time(each + self.model.world_axes.drift(v)) for each in a), first)
            return [dt * by_q + first, dt * by_v + second, dt * by_torque]

        arrays = [d.velocity, f.by_q, f.by_v, f.by_input, by.velocity["by_q"], by.velocity["by_before"]]
        arrays += [f.value] * (self.model.unknowns.numel() > 0)
        return VelocityDerivatives(
            values=values,
            velocity=after,
            parts=list(self._formula(program, inputs, "parts", parts, *arrays)),
            force_parts=lambda: self._dynamics.force_parts(program, by),
        )

    def _values(
        self, program: Program, inputs: Inputs, q: Array, v: Array, d: Dissipated, a: Array
    ) -> tuple[StepValues, Array]:
        """Adds the calls that compute the results, and the new velocity in the axes of q."""

        def moved(start: SX, velocity: SX, a: SX) -> list[SX]:
            return [start + self.model.dt * (a + self.model.world_axes.drift(velocity))]

        start = d.velocity if self._projected else v
        (after,) = self._formula(program, inputs, "v", moved, start, d.velocity, a)
        return StepValues(result=self._moved(program, inputs, q, after), force=d.force, velocity=d.velocity), after


class ExplicitImpulseStep(StepAbstract):
    """FORWARD_RK1I of the variant "source": v₊ = v + dt H⁻¹ (τ - C(q, v̂)), q₊ = q ⊕ dt v̂, v̂ = MDP(q, v).

    Free joints are stepped in world axes, as `SymplecticImpulseStep` does.

    Args:
        model: The simulator's model.
    """

    def __init__(self, model: SimulatorModel) -> None:
        super().__init__(model)
        self._dynamics = ImpulseDynamics(model)

    def values(self, program: Program, inputs: Inputs) -> StepValues:
        q, v = self._parts(program, inputs)
        d, a = self._dynamics.value(program, q, v, inputs.torque, inputs.parameters)
        return self._values(program, inputs, d, a)

    def derivatives(self, program: Program, inputs: Inputs) -> StepDerivatives:
        q, v = self._parts(program, inputs)
        d, by, f = self._dynamics.derivatives(program, q, v, inputs.torque, inputs.parameters)
        arrays = [q, v, d.velocity, f.value, f.by_q, f.by_v, f.by_input]
        arrays += [by.velocity["by_q"], by.velocity["by_before"]]
        Dqdq, Dtau = self._formula(program, inputs, "explicit", self._rows, *arrays)
        return StepDerivatives(values=self._values(program, inputs, d, f.value), Dqdq=Dqdq, Dtau=Dtau)

    def _values(self, program: Program, inputs: Inputs, d: Dissipated, a: Array) -> StepValues:
        """Adds the call that computes the results."""
        q, v = self._parts(program, inputs)

        def moved(q: SX, v: SX, velocity: SX, a: SX) -> list[SX]:
            world, step = self.model.world_axes, self.model.dt * velocity
            after = world.turn(v + self.model.dt * (a + world.drift(velocity)), step)
            return [ca.densify(ca.vertcat(world.move(q, world.turn(step, step)), after))]

        (result,) = self._formula(program, inputs, "move", moved, q, v, d.velocity, a)
        return StepValues(result=result, force=d.force, velocity=d.velocity)

    def _rows(self, q: SX, v: SX, velocity: SX, a: SX, *by: SX) -> list[SX]:
        """Derivatives of (q₊, v₊) by (q, θ, v) and by τ, from those of a and of v̂."""
        by_q, by_v, by_torque, velocity_by_q, velocity_by_v = by
        nv, dt, world = self.model.nv, self.model.dt, self.model.world_axes
        step, drift = dt * velocity, world.drift_derivative(velocity)
        first, _ = world.move_derivatives(q, world.turn(step, step))
        second = dt * world.move_derivative_before(world.turn(step, step))  # by v̂
        turn, turn_by_d = world.turn_derivatives(v + dt * (a + world.drift(velocity)), step)
        along = dt * (ca.mtimes(turn, drift) + turn_by_d)  # v₊ by v̂, beside a
        after_by_q = dt * ca.mtimes(turn, by_q) + ca.mtimes(along, velocity_by_q)
        after_by_v = turn + dt * ca.mtimes(turn, by_v) + ca.mtimes(along, velocity_by_v)
        first = ca.horzcat(first, SX(nv, self.model.unknowns.numel())) + self.model.by_time(second @ velocity / dt)
        after_by_q += self.model.by_time(turn @ (a + world.drift(velocity)) + turn_by_d @ velocity)
        above = ca.horzcat(first + ca.mtimes(second, velocity_by_q), ca.mtimes(second, velocity_by_v))
        below = ca.horzcat(after_by_q, after_by_v)
        return [ca.vertcat(above, below), ca.vertcat(SX(nv, nv), dt * ca.mtimes(turn, by_torque))]


class RungeKuttaImpulseStep(StepAbstract):
    """Runge-Kutta step of a mode's order: the midpoint rule, or the classical one.

    It integrates, for each variant:
        "projected": (v, H⁻¹ (τ - C(q, v))) from (q, v̂), v̂ = MDP(q, v): an impulse, then free motion.
        "readme": (v, H⁻¹ (τ - C(q, v̂))) from (q, v), with v̂ at each stage.
        "source": (v̂, H⁻¹ (τ - C(q, v̂))) from (q, v), with v̂ at each stage.

    The reported impulses are those at (q, v); the other stages of "readme" and "source" have further ones.

    Args:
        model: The simulator's model.
    """

    def __init__(self, model: SimulatorModel) -> None:
        super().__init__(model)
        self._dynamics = ImpulseDynamics(model)
        self._method = RungeKutta(
            _TABLEAUS[model.mode],
            model.state,
            model.dt,
            curved=is_curved(model.state),
            inputs=model.nv + model.unknowns.numel(),
            by_time=ca.horzcat(SX(1, model.nv), jacobian(model.dt, model.unknowns)) if model.unknowns.numel() else None,
        )
        self._projected = self.tells_forces = model.variant is Variant.PROJECTED
        self._source = model.variant is Variant.SOURCE

    def values(self, program: Program, inputs: Inputs) -> StepValues:
        x, d, dt = self._start(program, inputs)
        result = self._method.step(program.call, x, dt, lambda _, y: (self._rate(program, y, inputs),))
        return StepValues(result=result, force=d.force, velocity=d.velocity)

    def derivatives(self, program: Program, inputs: Inputs) -> StepDerivatives:
        x, d, dt = self._start(program, inputs)
        n, nv = 2 * self.model.nv, self.model.nv

        def rate(_: int, y: Array, Z: Array) -> tuple[Array, Array]:
            k, by_y, by_input = self._rate_derivatives(program, y, inputs)
            (padded,) = call_formula(program, "padded", lambda by: [ca.horzcat(SX(n, n), by)], by_input)
            return k, program.matmul(by_y, Z, initial=padded)

        def columns(F: SX) -> list[SX]:
            return [ca.horzcat(F[:, :nv], F[:, n + nv :], F[:, nv:n]), F[:, n : n + nv], F[:, nv:n]]

        result, F = self._method.step(program.call, x, dt, rate, derivatives=True)
        values = StepValues(result=result, force=d.force, velocity=d.velocity)
        Dqdq, Dtau, by_velocity = call_formula(program, "columns", columns, F)
        if not self._projected:
            return StepDerivatives(values=values, Dqdq=Dqdq, Dtau=Dtau)
        by = self._dynamics.node.derivative(program, d)
        moved = [program.matmul(by_velocity, by.velocity[name]) for name in ("by_q", "by_before")]
        (through,) = call_formula(
            program, "through", lambda F, by_q, by_v: [ca.horzcat(F[:, :-nv] + by_q, by_v)], Dqdq, *moved
        )
        parts = functools.partial(self._dynamics.force_parts, program, by)
        return StepDerivatives(values=values, Dqdq=through, Dtau=Dtau, force_parts=parts)

    def _start(self, program: Program, inputs: Inputs) -> tuple[Array, Dissipated, Array]:
        """Adds the steps that compute the state from which the method starts, the impulse, and the time step [s]."""
        q, v = self._parts(program, inputs)
        d = self._dynamics.impulse(program, q, v, inputs.parameters)
        (dt,) = self._formula(program, inputs, "dt", lambda: [self.model.dt])
        return below(program, q, d.velocity if self._projected else v), d, dt

    def _rate(self, program: Program, y: Array, inputs: Inputs) -> Array:
        """Adds the steps that compute the rate of a state."""
        q, v = self._parts(program, replace(inputs, qdq=y))
        if self._projected:
            return below(program, v, self._dynamics.free.value(program, q, v, inputs.torque, inputs.parameters))
        d, a = self._dynamics.value(program, q, v, inputs.torque, inputs.parameters)
        return below(program, d.velocity if self._source else v, a)

    def _rate_derivatives(self, program: Program, y: Array, inputs: Inputs) -> tuple[Array, Array, Array]:
        """Adds the steps that compute the rate of a state, and its derivatives by the state and by (τ, θ)."""
        q, v = self._parts(program, replace(inputs, qdq=y))
        velocity, moved = v, list[Array]()
        if self._projected:
            f = self._dynamics.free.derivatives(program, q, v, inputs.torque, inputs.parameters)
        else:
            d, by, f = self._dynamics.derivatives(program, q, v, inputs.torque, inputs.parameters)
            if self._source:
                velocity, moved = d.velocity, [by.velocity["by_q"], by.velocity["by_before"]]
        by_y, by_input = rate_rows(program, [f.by_q, f.by_v, f.by_input], moved)
        if self.model.unknowns.numel():
            by_y, by_input = call_formula(program, "unknowns", self._behind, by_y, by_input)
        return below(program, velocity, f.value), by_y, by_input

    def _behind(self, by_y: SX, by_torque: SX) -> list[SX]:
        """Derivatives by (q, v) and (τ, θ), from those by (q, θ, v) and τ."""
        nv = self.model.nv
        return [ca.horzcat(by_y[:, :nv], by_y[:, -nv:]), ca.horzcat(by_torque, by_y[:, nv:-nv])]
