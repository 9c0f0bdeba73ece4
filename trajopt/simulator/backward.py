"""Residuals of implicit Euler steps in (q₊, v₊, v): BACKWARD_RK1F, INVERSE_BACKWARD_RK1F and BACKWARD_RK1I."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
from casadi import SX

from trajopt.kernels.derivatives import jacobian
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import call_formula, named_call
from trajopt.simulator.dissipation_node import Dissipated, DissipationInputs, DissipationNode, sparse
from trajopt.simulator.formulas import beside, difference
from trajopt.simulator.impulse_dynamics import ImpulseDynamics
from trajopt.simulator.model import SimulatorModel
from trajopt.simulator.steps import Inputs, StepAbstract, StepDerivatives, StepValues


class BackwardStep(StepAbstract):
    """BACKWARD_RK1F: C_F = v + dt H(q₊)⁻¹ (τ - C(q₊, v₊) + Jᵀ f) - v₊, which equals v̂ - v₊.

    The velocity v of free joints is turned into the axes of q₊, see `trajopt.states.world_axes`.

    Args:
        model: The simulator's model.
    """

    accelerations, steps_state, tells_forces = 1, False, True

    def __init__(self, model: SimulatorModel) -> None:
        super().__init__(model)
        self._node = DissipationNode(model)

    def values(self, program: Program, inputs: Inputs) -> StepValues:
        return self._solve(program, inputs)[1]

    def derivatives(self, program: Program, inputs: Inputs) -> StepDerivatives:
        d, values = self._solve(program, inputs)
        by, names = self._node.derivative(program, d), ["by_q", "by_velocity", "by_before", "by_torque"]
        by_q, by_after, by_before, by_torque = (by.velocity[name] for name in names)
        return StepDerivatives(
            values=values,
            Dqdq=beside(program, by_q, _minus_identity(program, by_after), by_before),
            Dtau=by_torque,
            force_parts=lambda: self._node.force_derivatives(program, by, names),
        )

    def _solve(self, program: Program, inputs: Inputs) -> tuple[Dissipated, StepValues]:
        q, after, before = self._parts(program, inputs)
        arguments = {"q": q, "before": before, "velocity": after, "torque": inputs.torque}
        d = self._node.solve(program, DissipationInputs(**arguments, parameters=inputs.parameters))
        return d, StepValues(result=difference(program, d.velocity, after), force=d.force, velocity=d.velocity)


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
        values = super().values(program, inputs)
        return replace(values, **self._call(program, values.result, inputs, {"result": self._torque()}))

    def derivatives(self, program: Program, inputs: Inputs) -> StepDerivatives:
        d = super().derivatives(program, inputs)
        mass = -self._robot.crba() / self.model.dt
        by_q = self._robot.rnea_derivatives(-self._gap / self.model.dt)[0]
        more = SX(self.model.nv, 2 * self.model.nv)
        own = jacobian(self._torque(), self.model.unknowns)
        results = {"result": self._torque(), "mass": mass, "by_q": ca.horzcat(by_q, own, more)}
        r = self._call(program, d.values.result, inputs, sparse(results))
        Dqdq = program.matmul(r["mass"], d.Dqdq, initial=r["by_q"])
        return replace(
            d, values=replace(d.values, result=r["result"]), Dqdq=Dqdq, Dtau=program.matmul(r["mass"], d.Dtau)
        )

    def _torque(self) -> SX:
        return self._robot.rnea(-self._gap / self.model.dt)

    def _call(self, program: Program, gap: Array, inputs: Inputs, results: dict[str, SX]) -> dict[str, Array]:
        q = self._parts(program, inputs)[0]
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
        self._dynamics = ImpulseDynamics(model)

    def values(self, program: Program, inputs: Inputs) -> StepValues:
        q, after, _ = self._parts(program, inputs)
        a = self._dynamics.free.value(program, q, after, inputs.torque, inputs.parameters)
        return self._solve(program, inputs, a)[1]

    def derivatives(self, program: Program, inputs: Inputs) -> StepDerivatives:
        q, after, before = self._parts(program, inputs)
        f = self._dynamics.free.derivatives(program, q, after, inputs.torque, inputs.parameters)
        d, values = self._solve(program, inputs, f.value)
        by = self._dynamics.node.derivative(program, d).velocity
        arrays = [after, before, f.by_q, f.by_v, f.by_input, *([f.value] * (self.model.unknowns.numel() > 0))]
        by_q, by_v, by_input, *turned = self._formula(program, inputs, "start", self._start_derivatives, *arrays)
        program.accumulate(by["by_q"], by["by_before"], by_q)
        by_after = _minus_identity(program, program.matmul(by["by_before"], by_v))
        by_before = program.matmul(by["by_before"], turned[0]) if turned else by["by_before"]
        Dqdq = beside(program, by["by_q"], by_after, by_before)
        return StepDerivatives(values=values, Dqdq=Dqdq, Dtau=program.matmul(by["by_before"], by_input))

    def _solve(self, program: Program, inputs: Inputs, a: Array) -> tuple[Dissipated, StepValues]:
        q, after, before = self._parts(program, inputs)
        (start,) = self._formula(program, inputs, "v", self._start, before, after, a)
        d = self._dynamics.impulse(program, q, start, inputs.parameters)
        return d, StepValues(result=difference(program, d.velocity, after), force=d.force, velocity=d.velocity)

    def _start(self, before: SX, after: SX, a: SX) -> list[SX]:
        """Velocity before the impulse: v in the axes of q₊, plus dt (a + ω₊ × v₊)."""
        dt, world = self.model.dt, self.model.world_axes
        return [ca.densify(world.turn(before, dt * after) + dt * (a + world.drift(after)))]

    def _start_derivatives(self, after: SX, before: SX, by_q: SX, by_v: SX, by_input: SX, *a: SX) -> list[SX]:
        """Derivatives of `_start` by (q₊, θ), v₊ and τ from those of a, and by v if free joints turn it."""
        dt, world = self.model.dt, self.model.world_axes
        by_before, by_d = world.turn_derivatives(before, dt * after)
        moved = (self.model.by_time(each + world.drift(after) + ca.mtimes(by_d, after)) for each in a)
        results = [sum(moved, dt * by_q), dt * (by_v + world.drift_derivative(after) + by_d), dt * by_input]
        return [*results, by_before] if world.free else results


def _minus_identity(program: Program, a: Array) -> Array:
    return call_formula(program, "minus_identity", lambda x: [x - SX.eye(x.shape[0])], a)[0]
