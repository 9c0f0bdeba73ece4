"""Accelerations or torques at an instant: FORWARD_I, INVERSE_I, FORWARD_LF and INVERSE_LF."""

from __future__ import annotations

from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import call_formula
from trajopt.simulator.formulas import below, beside, difference, nothing, rate_rows
from trajopt.simulator.free_dynamics import FreeDynamics
from trajopt.simulator.impulse_dynamics import ImpulseDynamics
from trajopt.simulator.limit_node import LimitNode
from trajopt.simulator.model import SimulatorModel
from trajopt.simulator.steps import Inputs, StepAbstract, StepDerivatives, StepValues


class InstantStep(StepAbstract):
    """Step whose result is (v, v̇), or the torque τ of (q, v, v̇).

    Args:
        model: The simulator's model.
        inverse: Whether the result is the torque.
    """

    steps_state = False

    def __init__(self, model: SimulatorModel, *, inverse: bool = False) -> None:
        super().__init__(model)
        self._inverse, self.accelerations, self.with_torque = inverse, int(inverse), not inverse

    def _arguments(self, program: Program, inputs: Inputs) -> tuple[Array, Array, Array]:
        """Adds the call that splits the input into q, v, and τ or v̇."""
        q, v, *acceleration = self._parts(program, inputs)
        return q, v, acceleration[0] if acceleration else inputs.torque

    def _result(self, program: Program, v: Array, value: Array) -> Array:
        return value if self._inverse else below(program, v, value)

    def _derivatives(self, program: Program, values: StepValues, *by: Array) -> StepDerivatives:
        """Derivatives of the result, from those of v̇ or τ by q, v, and τ or v̇."""
        if self._inverse:
            return StepDerivatives(values=values, Dqdq=beside(program, *by), Dtau=nothing(program, self.model.nv))
        Dqdq, Dtau = rate_rows(program, by)
        return StepDerivatives(values=values, Dqdq=Dqdq, Dtau=Dtau)


class ImpulseStep(InstantStep):
    """FORWARD_I: v̇ = H⁻¹ (τ - C(q, v̂)), v̂ = MDP(q, v); INVERSE_I: τ = H v̇ + C(q, v̂).

    Args:
        model: The simulator's model.
        inverse: Whether the result is the torque.
    """

    def __init__(self, model: SimulatorModel, *, inverse: bool = False) -> None:
        super().__init__(model, inverse=inverse)
        self._dynamics = ImpulseDynamics(model, inverse=inverse)

    def values(self, program: Program, inputs: Inputs) -> StepValues:
        q, v, u = self._arguments(program, inputs)
        d, value = self._dynamics.value(program, q, v, u, inputs.parameters)
        return StepValues(result=self._result(program, v, value), force=d.force, velocity=d.velocity)

    def derivatives(self, program: Program, inputs: Inputs) -> StepDerivatives:
        q, v, u = self._arguments(program, inputs)
        d, _, f = self._dynamics.derivatives(program, q, v, u, inputs.parameters)
        values = StepValues(result=self._result(program, v, f.value), force=d.force, velocity=d.velocity)
        return self._derivatives(program, values, f.by_q, f.by_v, f.by_input)


class LimitStep(InstantStep):
    """FORWARD_LF: v̇ = H⁻¹ (τ - C(q, v) + Jᵀ f); INVERSE_LF: τ = H v̇ + C(q, v) - Jᵀ f.

    f is the limit of forces for dt -> 0.

    Args:
        model: The simulator's model.
        inverse: Whether the result is the torque.
    """

    def __init__(self, model: SimulatorModel, *, inverse: bool = False) -> None:
        super().__init__(model, inverse=inverse)
        self._node, self._free = LimitNode(model), FreeDynamics(model, inverse=inverse)

    def values(self, program: Program, inputs: Inputs) -> StepValues:
        q, v, u = self._arguments(program, inputs)
        d = self._node.solve(program, q, v, inputs.parameters)
        if self._inverse:
            free = self._free.value(program, q, v, u, inputs.parameters)
            return StepValues(result=difference(program, free, d.push), force=d.force, velocity=v)
        a = self._free.value(program, q, v, _sum(program, u, d.push), inputs.parameters)
        return StepValues(result=below(program, v, a), force=d.force, velocity=v)

    def derivatives(self, program: Program, inputs: Inputs) -> StepDerivatives:
        q, v, u = self._arguments(program, inputs)
        d = self._node.solve(program, q, v, inputs.parameters)
        if self._inverse:
            f = self._free.derivatives(program, q, v, u, inputs.parameters)
            value, a = difference(program, f.value, d.push), u
        else:
            f = self._free.derivatives(program, q, v, _sum(program, u, d.push), inputs.parameters)
            value, a = below(program, v, f.value), f.value
        balance = self._node.balance_derivatives(program, d, a)
        by = [_negative(program, D) if self._inverse else program.matmul(f.by_input, D) for D in balance]
        return self._derivatives(program, StepValues(result=value, force=d.force, velocity=v), *by, f.by_input)


def _sum(program: Program, a: Array, b: Array) -> Array:
    return call_formula(program, "sum", lambda x, y: [x + y], a, b)[0]


def _negative(program: Program, a: Array) -> Array:
    return call_formula(program, "negative", lambda x: [-x], a)[0]
