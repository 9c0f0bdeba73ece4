"""FORWARD_RK1I, FORWARD_RK2I and FORWARD_RK4I: explicit steps in which contacts act by impulses."""

from __future__ import annotations

import casadi as ca
from casadi import SX

from trajopt.actions.integrated.runge_kutta import RungeKutta, is_curved
from trajopt.actions.integrated.tableau import Tableau
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import named_call
from trajopt.simulator.dissipation_node import Dissipated, DissipatedDerivatives, DissipationInputs, DissipationNode
from trajopt.simulator.free_dynamics import FreeDynamics
from trajopt.simulator.instantaneous import impulse_question
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
    SimulatorMode.FORWARD_RK1I: Tableau.EULER,
    SimulatorMode.FORWARD_RK2I: Tableau.MIDPOINT,
    SimulatorMode.FORWARD_RK4I: Tableau.CLASSICAL,
}


def forward_impulse_step(model: SimulatorModel) -> StepAbstract:
    """Returns the step of a model's mode and variant."""
    if model.mode is SimulatorMode.FORWARD_RK1I and model.variant is not Variant.SOURCE:
        return SymplecticImpulseStep(model)
    return RungeKuttaImpulseStep(model)


class SymplecticImpulseStep(SymplecticStep):
    """FORWARD_RK1I: v₊ = v₀ + dt H⁻¹ (τ - C(q, v̂)), v̂ = MDP(q, v), q₊ = q ⊕ dt v₊.

    v₀ is v̂ for the variant "projected", and v for "readme".

    Args:
        model: The simulator's model.
    """

    tells_forces = True

    def __init__(self, model: SimulatorModel) -> None:
        super().__init__(model)
        self._node, self._free = DissipationNode(model, impulses=True), FreeDynamics(model)
        self._projected = model.variant is Variant.PROJECTED

    def values(self, program: Program, inputs: Inputs) -> StepValues:
        q, v = self._parts(program, inputs)
        d = self._node.solve(program, impulse_question(q, v, inputs))
        a = self._free.value(program, q, d.velocity, inputs.torque, inputs.parameters)
        after = self._after(program, inputs, d.velocity if self._projected else v, a)
        return StepValues(result=self._moved(program, inputs, q, after), force=d.force, velocity=d.velocity)

    def velocity_derivatives(self, program: Program, inputs: Inputs) -> VelocityDerivatives:
        q, v = self._parts(program, inputs)
        question = impulse_question(q, v, inputs)
        d = self._node.solve(program, question)
        f = self._free.derivatives(program, q, d.velocity, inputs.torque, inputs.parameters)
        after = self._after(program, inputs, d.velocity if self._projected else v, f.value)
        by = self._node.derivative(program, question, d)
        assert by.by_before is not None
        program.accumulate(f.by_q, f.by_v, by.by_q)
        arrays = [f.by_q, program.matmul(f.by_v, by.by_before), f.by_input, by.by_q, by.by_before]
        symbols = [SX.sym("by", *array.shape) for array in arrays]
        changes = [self.model.dt * s for s in symbols[:3]]
        changes[0] += symbols[3] if self._projected else 0
        changes[1] += symbols[4] if self._projected else SX.eye(self.model.nv)
        bindings = [*zip(symbols, arrays), (self.model.layout.symbols, inputs.parameters)]
        parts = named_call(program, "parts", bindings, dict(zip("qvt", changes)))
        values = StepValues(result=self._moved(program, inputs, q, after), force=d.force, velocity=d.velocity)
        return VelocityDerivatives(
            values=values,
            velocity=after,
            parts=list(parts.values()),
            force_parts=lambda: _impulse_parts(program, self._node, question, d, by),
        )

    def _after(self, program: Program, inputs: Inputs, start: Array, a: Array) -> Array:
        """Adds the call that computes v₀ + dt a."""
        v, rate = SX.sym("v", self.model.nv), SX.sym("a", self.model.nv)
        bindings = [(v, start), (rate, a), (self.model.layout.symbols, inputs.parameters)]
        return named_call(program, "after", bindings, {"v": v + self.model.dt * rate})["v"]


class RungeKuttaImpulseStep(StepAbstract):
    """Runge-Kutta step of a mode's order: Euler's, the midpoint rule, or the classical one.

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
        self._node = DissipationNode(model, impulses=True)
        self._method = RungeKutta(
            _TABLEAUS[model.mode], model.state, model.dt, curved=is_curved(model.state), inputs=model.nv
        )
        self._projected = self.tells_forces = model.variant is Variant.PROJECTED
        self._field = _FreeField(self) if self._projected else _ContactField(self, self._node)

    def values(self, program: Program, inputs: Inputs) -> StepValues:
        q, v = self._parts(program, inputs)
        d = self._node.solve(program, impulse_question(q, v, inputs))
        x = _state(program, q, d.velocity if self._projected else v)
        dt, field = self._time(program, inputs), self._field
        result = self._method.step(program.call, x, dt, lambda _, y: (field.rate(program, y, inputs),))
        return StepValues(result=result, force=d.force, velocity=d.velocity)

    def derivatives(self, program: Program, inputs: Inputs) -> StepDerivatives:
        q, v = self._parts(program, inputs)
        question = impulse_question(q, v, inputs)
        d = self._node.solve(program, question)
        x = _state(program, q, d.velocity if self._projected else v)

        def rate(_: int, y: Array, Z: Array) -> tuple[Array, Array]:
            k, by_y, by_torque = self._field.rate_derivatives(program, y, inputs)
            return k, program.matmul(by_y, Z, initial=self._padded(program, by_torque))

        result, F, *_ = self._method.step(program.call, x, self._time(program, inputs), rate, derivatives=True)
        values = StepValues(result=result, force=d.force, velocity=d.velocity)
        n, nv = 2 * self.model.nv, self.model.nv
        whole = SX.sym("F", n, n + nv)
        function = ca.Function("columns", [whole], [whole[:, :n], whole[:, n:], whole[:, nv:n]])
        Dqdq, Dtau, by_velocity = program.call(function, F)
        if not self._projected:
            return StepDerivatives(values=values, Dqdq=Dqdq, Dtau=Dtau)
        by = self._node.derivative(program, question, d)
        return StepDerivatives(
            values=values,
            Dqdq=self._through(program, Dqdq, by_velocity, by),
            Dtau=Dtau,
            force_parts=lambda: _impulse_parts(program, self._node, question, d, by),
        )

    def _through(self, program: Program, F: Array, by_velocity: Array, by: DissipatedDerivatives) -> Array:
        """Adds the steps that compute (F_q + F_v dv̂/dq, F_v dv̂/dv)."""
        assert by.by_before is not None
        nv = self.model.nv
        by_q, by_v = program.matmul(by_velocity, by.by_q), program.matmul(by_velocity, by.by_before)
        symbols = [SX.sym("by", *array.shape) for array in (F, by_q, by_v)]
        whole = ca.horzcat(symbols[0][:, :nv] + symbols[1], symbols[2])
        return program.call(ca.Function("through", symbols, [whole]), F, by_q, by_v)[0]

    def _time(self, program: Program, inputs: Inputs) -> Array:
        """The time step (1,) [s]."""
        time = ca.Function("dt", [self.model.layout.symbols], [self.model.dt])
        return program.call(time, inputs.parameters)[0]

    def _padded(self, program: Program, by_torque: Array) -> Array:
        """Derivative by (x, τ), from that by τ."""
        n = 2 * self.model.nv
        by = SX.sym("by", *by_torque.shape)
        return program.call(ca.Function("padded", [by], [ca.horzcat(SX(n, n), by)]), by_torque)[0]

    def parts(self, program: Program, y: Array) -> tuple[Array, Array]:
        """Adds the call that splits a state into q and v."""
        x = SX.sym("x", self.model.state.nx)
        q, v = program.call(ca.Function("parts", [x], [x[: self.model.nq], x[self.model.nq :]]), y)
        return q, v


class _FreeField:
    """Rate (v, H⁻¹ (τ - C(q, v))) of free motion."""

    def __init__(self, step: RungeKuttaImpulseStep) -> None:
        self._step, self._free = step, FreeDynamics(step.model)

    def rate(self, program: Program, y: Array, inputs: Inputs) -> Array:
        q, v = self._step.parts(program, y)
        return _state(program, v, self._free.value(program, q, v, inputs.torque, inputs.parameters))

    def rate_derivatives(self, program: Program, y: Array, inputs: Inputs) -> tuple[Array, Array, Array]:
        q, v = self._step.parts(program, y)
        f = self._free.derivatives(program, q, v, inputs.torque, inputs.parameters)
        by_y, by_torque = _rows(program, [f.by_q, f.by_v, f.by_input], [])
        return _state(program, v, f.value), by_y, by_torque


class _ContactField:
    """Rate (v, H⁻¹ (τ - C(q, v̂))), or with v̂ instead of v, where v̂ = MDP(q, v)."""

    def __init__(self, step: RungeKuttaImpulseStep, node: DissipationNode) -> None:
        self._step, self._node, self._free = step, node, FreeDynamics(step.model)
        self._source = step.model.variant is Variant.SOURCE

    def rate(self, program: Program, y: Array, inputs: Inputs) -> Array:
        q, v, d = self._solved(program, y, inputs)
        a = self._free.value(program, q, d.velocity, inputs.torque, inputs.parameters)
        return _state(program, d.velocity if self._source else v, a)

    def rate_derivatives(self, program: Program, y: Array, inputs: Inputs) -> tuple[Array, Array, Array]:
        q, v, d = self._solved(program, y, inputs)
        f = self._free.derivatives(program, q, d.velocity, inputs.torque, inputs.parameters)
        by = self._node.derivative(program, impulse_question(q, v, inputs), d)
        assert by.by_before is not None
        program.accumulate(f.by_q, f.by_v, by.by_q)
        by_v = program.matmul(f.by_v, by.by_before)
        moved = [by.by_q, by.by_before] if self._source else []
        by_y, by_torque = _rows(program, [f.by_q, by_v, f.by_input], moved)
        return _state(program, d.velocity if self._source else v, f.value), by_y, by_torque

    def _solved(self, program: Program, y: Array, inputs: Inputs) -> tuple[Array, Array, Dissipated]:
        q, v = self._step.parts(program, y)
        return q, v, self._node.solve(program, impulse_question(q, v, inputs))


def _state(program: Program, a: Array, b: Array) -> Array:
    """Adds the call that stacks two columns."""
    x, y = SX.sym("a", a.size), SX.sym("b", b.size)
    return program.call(ca.Function("state", [x, y], [ca.vertcat(x, y)]), a, b)[0]


def _rows(program: Program, by: list[Array], moved: list[Array]) -> tuple[Array, Array]:
    """Adds the call that computes the derivatives of a rate by y and by τ.

    Args:
        program: Program that gets the call.
        by: Derivatives of the acceleration by q, v and τ.
        moved: Derivatives of v̂ by q and v if v̂ is the rate of q; empty if v is.
    """
    n = by[0].shape[0]
    symbols = [SX.sym("by", *array.shape) for array in (*by, *moved)]
    top = ca.horzcat(*symbols[3:]) if moved else ca.horzcat(SX(n, n), SX.eye(n))
    results = [ca.vertcat(top, ca.horzcat(*symbols[:2])), ca.densify(ca.vertcat(SX(n, n), symbols[2]))]
    arrays = program.call(ca.Function("rows", symbols, results), *by, *moved)
    return arrays[0], arrays[1]


def _impulse_parts(
    program: Program, node: DissipationNode, question: DissipationInputs, d: Dissipated, by: DissipatedDerivatives
) -> list[Array]:
    """Adds the steps that compute the derivatives of impulses at (q, v) by q, v and τ; the last is zero."""
    by_q, by_v = node.force_derivatives(program, question, d, by, ["by_q", "by_before"])
    (by_torque,) = program.call(ca.Function("no_effect", [], [SX(*by_v.shape)]))
    return [by_q, by_v, by_torque]
