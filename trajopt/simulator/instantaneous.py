"""Accelerations or torques at an instant: FORWARD_I, INVERSE_I, FORWARD_LF and INVERSE_LF."""

from __future__ import annotations

import casadi as ca
from casadi import SX

from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import symbol_of
from trajopt.simulator.dissipation_node import Dissipated, DissipationInputs, DissipationNode
from trajopt.simulator.free_dynamics import FreeDynamics
from trajopt.simulator.limit_node import Limited, LimitNode
from trajopt.simulator.model import SimulatorModel
from trajopt.simulator.steps import Inputs, StepAbstract, StepDerivatives, StepValues


class ImpulseAccelerationStep(StepAbstract):
    """FORWARD_I: (v, v̇) with v̇ = H⁻¹ (τ - C(q, v̂)), v̂ = MDP(q, v).

    Args:
        model: The simulator's model.
    """

    steps_state = False

    def __init__(self, model: SimulatorModel) -> None:
        super().__init__(model)
        self._node, self._free = DissipationNode(model, impulses=True), FreeDynamics(model)

    def values(self, program: Program, inputs: Inputs) -> StepValues:
        q, v = self._parts(program, inputs)
        d = self._node.solve(program, impulse_question(q, v, inputs))
        a = self._free.value(program, q, d.velocity, inputs.torque, inputs.parameters)
        return StepValues(result=below(program, v, a), force=d.force, velocity=d.velocity)

    def derivatives(self, program: Program, inputs: Inputs) -> StepDerivatives:
        q, v = self._parts(program, inputs)
        question = impulse_question(q, v, inputs)
        d = self._node.solve(program, question)
        f = self._free.derivatives(program, q, d.velocity, inputs.torque, inputs.parameters)
        by = self._node.derivative(program, question, d)
        assert by.by_before is not None
        program.accumulate(f.by_q, f.by_v, by.by_q)
        values = StepValues(result=below(program, v, f.value), force=d.force, velocity=d.velocity)
        Dqdq, Dtau = _with_velocity(program, f.by_q, program.matmul(f.by_v, by.by_before), f.by_input)
        return StepDerivatives(values=values, Dqdq=Dqdq, Dtau=Dtau)


class ImpulseTorqueStep(StepAbstract):
    """INVERSE_I: τ = H v̇ + C(q, v̂), v̂ = MDP(q, v); its input is (q, v, v̇).

    Args:
        model: The simulator's model.
    """

    accelerations, with_torque, steps_state = 1, False, False

    def __init__(self, model: SimulatorModel) -> None:
        super().__init__(model)
        self._node, self._free = DissipationNode(model, impulses=True), FreeDynamics(model, inverse=True)

    def values(self, program: Program, inputs: Inputs) -> StepValues:
        q, v, a = self._parts(program, inputs)
        d = self._node.solve(program, impulse_question(q, v, inputs))
        return _step_values(self._free.value(program, q, d.velocity, a, inputs.parameters), d)

    def derivatives(self, program: Program, inputs: Inputs) -> StepDerivatives:
        q, v, a = self._parts(program, inputs)
        question = impulse_question(q, v, inputs)
        d = self._node.solve(program, question)
        f = self._free.derivatives(program, q, d.velocity, a, inputs.parameters)
        by = self._node.derivative(program, question, d)
        assert by.by_before is not None
        program.accumulate(f.by_q, f.by_v, by.by_q)
        Dqdq = beside(program, f.by_q, program.matmul(f.by_v, by.by_before), f.by_input)
        return StepDerivatives(values=_step_values(f.value, d), Dqdq=Dqdq, Dtau=nothing(program, self.model.nv))


class LimitAccelerationStep(StepAbstract):
    """FORWARD_LF: (v, v̇) with v̇ = H⁻¹ (τ - C(q, v) + Jᵀ f), where f is the limit of forces for dt -> 0.

    Args:
        model: The simulator's model.
    """

    steps_state = False

    def __init__(self, model: SimulatorModel) -> None:
        super().__init__(model)
        self._node, self._free = LimitNode(model), FreeDynamics(model)

    def values(self, program: Program, inputs: Inputs) -> StepValues:
        q, v = self._parts(program, inputs)
        d = self._node.solve(program, q, v, inputs.parameters)
        a = self._free.value(program, q, v, _sum(program, inputs.torque, d.push), inputs.parameters)
        return StepValues(result=below(program, v, a), force=d.force, velocity=v)

    def derivatives(self, program: Program, inputs: Inputs) -> StepDerivatives:
        q, v = self._parts(program, inputs)
        d = self._node.solve(program, q, v, inputs.parameters)
        f = self._free.derivatives(program, q, v, _sum(program, inputs.torque, d.push), inputs.parameters)
        by_q, by_v = (program.matmul(f.by_input, D) for D in self._node.balance_derivatives(program, d, f.value))
        values = StepValues(result=below(program, v, f.value), force=d.force, velocity=v)
        Dqdq, Dtau = _with_velocity(program, by_q, by_v, f.by_input)
        return StepDerivatives(values=values, Dqdq=Dqdq, Dtau=Dtau)


class LimitTorqueStep(StepAbstract):
    """INVERSE_LF: τ = H v̇ + C(q, v) - Jᵀ f, where f is the limit of forces for dt -> 0; its input is (q, v, v̇).

    Args:
        model: The simulator's model.
    """

    accelerations, with_torque, steps_state = 1, False, False

    def __init__(self, model: SimulatorModel) -> None:
        super().__init__(model)
        self._node, self._free = LimitNode(model), FreeDynamics(model, inverse=True)

    def values(self, program: Program, inputs: Inputs) -> StepValues:
        q, v, a = self._parts(program, inputs)
        return self._values(program, q, v, a, inputs)[1]

    def derivatives(self, program: Program, inputs: Inputs) -> StepDerivatives:
        q, v, a = self._parts(program, inputs)
        d, values = self._values(program, q, v, a, inputs)
        by_input = self._free.derivatives(program, q, v, a, inputs.parameters).by_input
        balances = [_negative(program, D) for D in self._node.balance_derivatives(program, d, a)]
        Dqdq = beside(program, *balances, by_input)
        return StepDerivatives(values=values, Dqdq=Dqdq, Dtau=nothing(program, self.model.nv))

    def _values(self, program: Program, q: Array, v: Array, a: Array, inputs: Inputs) -> tuple[Limited, StepValues]:
        d = self._node.solve(program, q, v, inputs.parameters)
        torque = _sum(program, self._free.value(program, q, v, a, inputs.parameters), _negative(program, d.push))
        return d, StepValues(result=torque, force=d.force, velocity=v)


def impulse_question(q: Array, v: Array, inputs: Inputs) -> DissipationInputs:
    """Returns the arguments of v̂ = MDP(q, v)."""
    return DissipationInputs(q=q, before=v, velocity=None, torque=None, parameters=inputs.parameters)


def beside(program: Program, *arrays: Array) -> Array:
    """Adds the call that joins arrays side by side."""
    symbols = [symbol_of(program, array) for array in arrays]
    return program.call(ca.Function("beside", symbols, [ca.horzcat(*symbols)]), *arrays)[0]


def below(program: Program, *arrays: Array) -> Array:
    """Adds the call that joins arrays one below the other."""
    symbols = [symbol_of(program, array) for array in arrays]
    return program.call(ca.Function("below", symbols, [ca.vertcat(*symbols)]), *arrays)[0]


def nothing(program: Program, n: int) -> Array:
    """Adds the call that returns zeros (n, n)."""
    return program.call(ca.Function("nothing", [], [SX(n, n)]))[0]


def _step_values(torque: Array, d: Dissipated) -> StepValues:
    return StepValues(result=torque, force=d.force, velocity=d.velocity)


def _with_velocity(program: Program, by_q: Array, by_v: Array, by_torque: Array) -> tuple[Array, Array]:
    """Derivatives of (v, v̇), from those of v̇."""
    n = by_q.shape[0]
    symbols = [symbol_of(program, array) for array in (by_q, by_v, by_torque)]
    Dqdq = ca.vertcat(ca.horzcat(SX(n, n), SX.eye(n)), ca.horzcat(*symbols[:2]))
    function = ca.Function("with_velocity", symbols, [Dqdq, ca.vertcat(SX(n, n), symbols[2])])
    arrays = program.call(function, by_q, by_v, by_torque)
    return arrays[0], arrays[1]


def _sum(program: Program, a: Array, b: Array) -> Array:
    x, y = SX.sym("a", *a.shape), SX.sym("b", *b.shape)
    return program.call(ca.Function("sum", [x, y], [x + y]), a, b)[0]


def _negative(program: Program, a: Array) -> Array:
    x = symbol_of(program, a)
    return program.call(ca.Function("negative", [x], [-x]), a)[0]
