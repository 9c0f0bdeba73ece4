"""Residuals of implicit Euler steps in (q₊, v₊, v): BACKWARD_RK1F, INVERSE_BACKWARD_RK1F and BACKWARD_RK1I."""

from __future__ import annotations

import casadi as ca
from casadi import SX

from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import named_call, symbol_of
from trajopt.simulator.dissipation_node import Dissipated, DissipationInputs, DissipationNode, sparse
from trajopt.simulator.free_dynamics import FreeDynamics
from trajopt.simulator.instantaneous import beside, impulse_question
from trajopt.simulator.model import SimulatorModel
from trajopt.simulator.steps import Inputs, StepAbstract, StepDerivatives, StepValues


class BackwardStep(StepAbstract):
    """BACKWARD_RK1F: C_F = v + dt H(q₊)⁻¹ (τ - C(q₊, v₊) + Jᵀ f) - v₊, which equals v̂ - v₊.

    Args:
        model: The simulator's model.
    """

    accelerations, steps_state, tells_forces = 1, False, True

    def __init__(self, model: SimulatorModel) -> None:
        super().__init__(model)
        self._node = DissipationNode(model)

    def values(self, program: Program, inputs: Inputs) -> StepValues:
        return self._solve(program, inputs)[2]

    def derivatives(self, program: Program, inputs: Inputs) -> StepDerivatives:
        question, d, values = self._solve(program, inputs)
        by = self._node.derivative(program, question, d)
        assert by.by_velocity is not None
        assert by.by_before is not None
        parts = [by.by_q, _minus_identity(program, by.by_velocity), by.by_before]
        names = ["by_q", "by_velocity", "by_before", "by_torque"]
        return StepDerivatives(
            values=values,
            Dqdq=beside(program, *parts),
            Dtau=by.by_torque,
            force_parts=lambda: self._node.force_derivatives(program, question, d, by, names),
        )

    def _solve(self, program: Program, inputs: Inputs) -> tuple[DissipationInputs, Dissipated, StepValues]:
        q, after, before = self._parts(program, inputs)
        question = DissipationInputs(
            q=q, before=before, velocity=after, torque=inputs.torque, parameters=inputs.parameters
        )
        d = self._node.solve(program, question)
        result = _difference(program, d.velocity, after)
        return question, d, StepValues(result=result, force=d.force, velocity=d.velocity)


class InverseBackwardStep(BackwardStep):
    """INVERSE_BACKWARD_RK1F: C_I = H(q₊) (v₊ - v) / dt + C(q₊, v₊) - Jᵀ f - τ, which equals -H(q₊) C_F / dt.

    Args:
        model: The simulator's model.
    """

    def __init__(self, model: SimulatorModel) -> None:
        super().__init__(model)
        self._q, self._gap = SX.sym("q", model.nq), SX.sym("gap", model.nv)
        self._robot = model.robot(self._q, SX.zeros(model.nv), weightless=True)

    def values(self, program: Program, inputs: Inputs) -> StepValues:
        q = self._parts(program, inputs)[0]
        values = super().values(program, inputs)
        result = self._call(program, q, values.result, inputs, {"result": self._torque()})["result"]
        return StepValues(result=result, force=values.force, velocity=values.velocity)

    def derivatives(self, program: Program, inputs: Inputs) -> StepDerivatives:
        q = self._parts(program, inputs)[0]
        d = super().derivatives(program, inputs)
        mass = -self._robot.crba() / self.model.dt
        by_q = self._robot.rnea_derivatives(-self._gap / self.model.dt)[0]
        more = SX(self.model.nv, 2 * self.model.nv)
        results = {"result": self._torque(), "mass": mass, "by_q": ca.horzcat(by_q, more)}
        r = self._call(program, q, d.values.result, inputs, sparse(results))
        values = StepValues(result=r["result"], force=d.values.force, velocity=d.values.velocity)
        Dqdq = program.matmul(r["mass"], d.Dqdq, initial=r["by_q"])
        Dtau = program.matmul(r["mass"], d.Dtau)
        return StepDerivatives(values=values, Dqdq=Dqdq, Dtau=Dtau, force_parts=d.force_parts)

    def _torque(self) -> SX:
        return self._robot.rnea(-self._gap / self.model.dt)

    def _call(self, program: Program, q: Array, gap: Array, inputs: Inputs, results: dict[str, SX]) -> dict[str, Array]:
        bindings = [(self._q, q), (self._gap, gap), (self.model.layout.symbols, inputs.parameters)]
        return named_call(program, "inverse", bindings, results)


class BackwardImpulseStep(StepAbstract):
    """BACKWARD_RK1I: C = MDP(q₊, v + dt H(q₊)⁻¹ (τ - C(q₊, v₊))) - v₊, the implicit counterpart of FORWARD_RK1I.

    Args:
        model: The simulator's model.
    """

    accelerations, steps_state = 1, False

    def __init__(self, model: SimulatorModel) -> None:
        super().__init__(model)
        self._node, self._free = DissipationNode(model, impulses=True), FreeDynamics(model)

    def values(self, program: Program, inputs: Inputs) -> StepValues:
        q, after, before = self._parts(program, inputs)
        a = self._free.value(program, q, after, inputs.torque, inputs.parameters)
        d = self._node.solve(program, impulse_question(q, self._moved_by(program, before, a, inputs), inputs))
        return StepValues(result=_difference(program, d.velocity, after), force=d.force, velocity=d.velocity)

    def derivatives(self, program: Program, inputs: Inputs) -> StepDerivatives:
        q, after, before = self._parts(program, inputs)
        f = self._free.derivatives(program, q, after, inputs.torque, inputs.parameters)
        question = impulse_question(q, self._moved_by(program, before, f.value, inputs), inputs)
        d = self._node.solve(program, question)
        by = self._node.derivative(program, question, d)
        assert by.by_before is not None
        free = self._timed(program, inputs, f.by_q, f.by_v, f.by_input)
        program.accumulate(by.by_q, by.by_before, free[0])
        by_after = _minus_identity(program, program.matmul(by.by_before, free[1]))
        values = StepValues(result=_difference(program, d.velocity, after), force=d.force, velocity=d.velocity)
        Dqdq = beside(program, by.by_q, by_after, by.by_before)
        return StepDerivatives(values=values, Dqdq=Dqdq, Dtau=program.matmul(by.by_before, free[2]))

    def _moved_by(self, program: Program, before: Array, a: Array, inputs: Inputs) -> Array:
        """Adds the call that computes v + dt a."""
        v, rate = SX.sym("v", self.model.nv), SX.sym("a", self.model.nv)
        bindings = [(v, before), (rate, a), (self.model.layout.symbols, inputs.parameters)]
        return named_call(program, "moved", bindings, {"v": v + self.model.dt * rate})["v"]

    def _timed(self, program: Program, inputs: Inputs, *arrays: Array) -> list[Array]:
        """Adds the call that multiplies by dt."""
        symbols = [symbol_of(program, array) for array in arrays]
        bindings = [*zip(symbols, arrays), (self.model.layout.symbols, inputs.parameters)]
        return list(
            named_call(program, "timed", bindings, {str(i): self.model.dt * s for i, s in enumerate(symbols)}).values()
        )


def _difference(program: Program, a: Array, b: Array) -> Array:
    x, y = SX.sym("a", *a.shape), SX.sym("b", *b.shape)
    return program.call(ca.Function("difference", [x, y], [x - y]), a, b)[0]


def _minus_identity(program: Program, a: Array) -> Array:
    x = symbol_of(program, a)
    return program.call(ca.Function("minus_identity", [x], [x - SX.eye(x.shape[0])]), a)[0]
