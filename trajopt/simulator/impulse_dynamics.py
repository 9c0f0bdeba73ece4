"""Free dynamics after impulses of maximal dissipation."""

from __future__ import annotations

from dataclasses import replace

from casadi import SX

from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import call_formula
from trajopt.simulator.dissipation_node import Dissipated, DissipatedDerivatives, DissipationInputs, DissipationNode
from trajopt.simulator.free_dynamics import FreeDerivatives, FreeDynamics
from trajopt.simulator.model import SimulatorModel


class ImpulseDynamics:
    """v̇ = H⁻¹ (τ - C(q, v̂)), or τ = H v̇ + C(q, v̂), with v̂ = MDP(q, v).

    Args:
        model: The simulator's model.
        inverse: Whether to compute torques from accelerations.

    Attributes:
        node: The equations of v̂.
        free: The dynamics at a given v̂.
    """

    def __init__(self, model: SimulatorModel, *, inverse: bool = False) -> None:
        self.node, self.free = DissipationNode(model, impulses=True), FreeDynamics(model, inverse=inverse)

    def impulse(self, program: Program, q: Array, v: Array, parameters: Array) -> Dissipated:
        """Adds the steps that compute the velocity after dissipation v̂ = MDP(q, v) (nv,), and its impulses."""
        inputs = DissipationInputs(q=q, before=v, velocity=None, torque=None, parameters=parameters)
        return self.node.solve(program, inputs)

    def value(self, program: Program, q: Array, v: Array, u: Array, parameters: Array) -> tuple[Dissipated, Array]:
        """Adds the steps that compute v̂, and v̇ from u = τ, or τ from u = v̇."""
        d = self.impulse(program, q, v, parameters)
        return d, self.free.value(program, q, d.velocity, u, parameters)

    def derivatives(
        self, program: Program, q: Array, v: Array, u: Array, parameters: Array
    ) -> tuple[Dissipated, DissipatedDerivatives, FreeDerivatives]:
        """Adds the steps that compute v̂ with its derivatives, and v̇ or τ with its derivatives by (q, θ), v and u."""
        d = self.impulse(program, q, v, parameters)
        f = self.free.derivatives(program, q, d.velocity, u, parameters)
        by = self.node.derivative(program, d)
        program.accumulate(f.by_q, f.by_v, by.velocity["by_q"])
        return d, by, replace(f, by_v=program.matmul(f.by_v, by.velocity["by_before"]))

    def force_parts(self, program: Program, by: DissipatedDerivatives) -> list[Array]:
        """Adds the steps that compute the derivatives of impulses at (q, v) by q, v and τ; the last is zero."""
        by_q, by_v = self.node.force_derivatives(program, by, ["by_q", "by_before"])
        return [by_q, by_v, *call_formula(program, "no_effect", lambda: [SX(*by_v.shape)])]
