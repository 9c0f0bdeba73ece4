"""FORWARD_RK1F: symplectic Euler step with contact forces of maximal dissipation."""

from __future__ import annotations

from trajopt.kernels.program import Program
from trajopt.simulator.dissipation_node import Dissipated, DissipationInputs, DissipationNode
from trajopt.simulator.model import SimulatorModel
from trajopt.simulator.steps import Inputs, StepValues, SymplecticStep, VelocityDerivatives


class ForwardEulerStep(SymplecticStep):
    """FORWARD_RK1F: v₊ = v + dt H⁻¹ (τ - C(q, v) + Jᵀ f), q₊ = q ⊕ dt v₊, free joints in world axes.

    Args:
        model: The simulator's model.
    """

    tells_forces = True

    def __init__(self, model: SimulatorModel) -> None:
        super().__init__(model)
        self._node = DissipationNode(model, explicit=True)

    def values(self, program: Program, inputs: Inputs) -> StepValues:
        return self._solve(program, inputs)[1]

    def new_velocity(self, program: Program, inputs: Inputs) -> VelocityDerivatives:
        d, values = self._solve(program, inputs)
        by, names = self._node.derivative(program, d), ["by_q", "by_both", "by_torque"]
        return VelocityDerivatives(
            values=values,
            velocity=d.velocity,
            parts=[by.velocity[name] for name in names],
            force_parts=lambda: self._node.force_derivatives(program, by, names),
        )

    def _solve(self, program: Program, inputs: Inputs) -> tuple[Dissipated, StepValues]:
        q, v = self._parts(program, inputs)
        arguments = DissipationInputs(q=q, before=v, velocity=None, torque=inputs.torque, parameters=inputs.parameters)
        d = self._node.solve(program, arguments)
        result = self._moved(program, inputs, q, d.velocity)
        return d, StepValues(result=result, force=d.force, velocity=d.velocity)
