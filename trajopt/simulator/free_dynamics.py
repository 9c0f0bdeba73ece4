"""Accelerations and torques without contacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from trajopt.kernels.derivatives import jacobian
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import named_call
from trajopt.simulator.dissipation_node import sparse
from trajopt.simulator.model import SimulatorModel


@dataclass(frozen=True, kw_only=True)
class FreeDerivatives:
    """Acceleration (forward modes) or torque (inverse modes) without contacts, with its derivatives.

    Attributes:
        value: v̇, or τ (nv,).
        by_q: Derivative by the tangent of q, of v̇ also by the unknowns (nv, nv + k).
        by_v: Derivative by v (nv, nv).
        by_input: Derivative by the input: H⁻¹ for an acceleration, H for a torque (nv, nv).
    """

    value: Array
    by_q: Array
    by_v: Array
    by_input: Array


class FreeDynamics:
    """Free dynamics v̇ = H⁻¹ (τ - C(q, v)) of u = τ, or τ = H v̇ + C(q, v) of u = v̇.

    Args:
        model: The simulator's model.
        inverse: Whether to compute torques from accelerations.
    """

    def __init__(self, model: SimulatorModel, *, inverse: bool = False) -> None:
        self._model, self._inverse = model, inverse
        self._q, self._v, self._u = SX.sym("q", model.nq), SX.sym("v", model.nv), SX.sym("u", model.nv)
        self._robot = model.robot(self._q, self._v)

    def value(self, program: Program, q: Array, v: Array, u: Array, parameters: Array) -> Array:
        """Adds the call that computes v̇ (nv,) from τ, or τ from v̇."""
        return self._call(program, (q, v, u, parameters), {"value": self._value()})["value"]

    def derivatives(self, program: Program, q: Array, v: Array, u: Array, parameters: Array) -> FreeDerivatives:
        """Adds the call that computes the acceleration or torque and its derivatives."""
        if self._inverse:
            by_q, by_v = self._robot.rnea_derivatives(self._u)
            by_input = self._robot.crba()
        else:
            by_q, by_v, by_input = self._robot.forward_dynamics_derivatives(self._u)
            by_q = ca.horzcat(by_q, *([self._by_unknowns()] * (self._model.unknowns.numel() > 0)))
        results = {"value": self._value(), "by_q": by_q, "by_v": by_v, "by_input": by_input}
        return FreeDerivatives(**self._call(program, (q, v, u, parameters), results))

    def _by_unknowns(self) -> SX:
        """Derivative (nv, k) of v̇ by the unknowns."""
        a = SX.sym("a", self._model.nv)
        slope = jacobian(self._robot.rnea(a), self._model.unknowns)
        return self._robot.solve_mass_matrix(-ca.substitute(slope, a, self._value()))

    def _value(self) -> SX:
        return self._robot.rnea(self._u) if self._inverse else self._robot.forward_dynamics(self._u)

    def _call(self, program: Program, arrays: Sequence[Array], results: dict[str, SX]) -> dict[str, Array]:
        symbols = [self._q, self._v, self._u, self._model.layout.symbols]
        return named_call(program, "free", list(zip(symbols, arrays)), sparse(results))
