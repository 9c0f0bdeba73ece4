"""FORWARD_RK1F: symplectic Euler step with contact forces of maximal dissipation."""

from __future__ import annotations

from trajopt.kernels.program import Program
from trajopt.simulator.dissipation_node import Dissipated, DissipationInputs, DissipationNode
from trajopt.simulator.model import SimulatorModel
from trajopt.simulator.steps import Inputs, StepValues, SymplecticStep, VelocityDerivatives


class ForwardEulerStep(SymplecticStep):
    """FORWARD_RK1F: v₊ = v + dt H⁻¹ (τ - C(q, v) + Jᵀ f), q₊ = q ⊕ dt v₊.

    Args:
        model: The simulator's model.
    """

    tells_forces = True

    def __init__(self, model: SimulatorModel) -> None:
        super().__init__(model)
        self.node = DissipationNode(model, explicit=True)

    def values(self, program: Program, inputs: Inputs) -> StepValues:
        return self._solve(program, inputs)[2]

    def velocity_derivatives(self, program: Program, inputs: Inputs) -> VelocityDerivatives:
        question, d, values = self._solve(program, inputs)
        by = self.node.derivative(program, question, d)
        assert by.by_both is not None
        return VelocityDerivatives(
            values=values,
            velocity=d.velocity,
            parts=[by.by_q, by.by_both, by.by_torque],
            force_parts=lambda: self.node.force_derivatives(program, question, d, by, ["by_q", "by_both", "by_torque"]),
        )

    def _solve(self, program: Program, inputs: Inputs) -> tuple[DissipationInputs, Dissipated, StepValues]:
        q, v = self._parts(program, inputs)
        question = DissipationInputs(q=q, before=v, velocity=None, torque=inputs.torque, parameters=inputs.parameters)
        d = self.node.solve(program, question)
        result = self._moved(program, inputs, q, d.velocity)
        return question, d, StepValues(result=result, force=d.force, velocity=d.velocity)
