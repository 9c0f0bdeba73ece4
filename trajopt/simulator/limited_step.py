"""Steps with torque limits; a torque beyond its limit has no derivative."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import casadi as ca
from casadi import SX

from trajopt.kernels.derivatives import jacobian
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import call_formula
from trajopt.simulator.model import SimulatorModel
from trajopt.simulator.steps import Inputs, StepAbstract, StepDerivatives, StepValues


class LimitedStep(StepAbstract):
    """Step that clips the requested torques to ± the model's limits.

    Args:
        step: Step of a model with torque limits.
    """

    def __init__(self, step: StepAbstract) -> None:
        super().__init__(step.model)
        self._step = step
        self.accelerations, self.steps_state = step.accelerations, step.steps_state

    def values(self, program: Program, inputs: Inputs) -> StepValues:
        return self._step.values(program, self._limited(program, inputs))

    def derivatives(self, program: Program, inputs: Inputs) -> StepDerivatives:
        d = self._step.derivatives(program, self._limited(program, inputs))
        matrix = limited_matrix(program, self.model, inputs.torque, inputs.parameters, SX.eye(self.model.nv))
        return StepDerivatives(values=d.values, Dqdq=d.Dqdq, Dtau=program.matmul(d.Dtau, matrix))

    def _limited(self, program: Program, inputs: Inputs) -> Inputs:
        return replace(inputs, torque=limited_torque(program, self.model, inputs.torque, inputs.parameters))


def limited_torque(program: Program, model: SimulatorModel, torque: Array, parameters: Array) -> Array:
    """Adds the call that clips torques (nv,) to the model's limits; without limits it returns the same array."""
    if model.torque_limits is None:
        return torque

    def limited(tau: SX) -> list[SX]:
        return [_clipped(model, tau)]

    return call_formula(program, "limited", limited, torque, reads=[(model.layout.symbols, parameters)])[0]


def limited_by_unknowns(program: Program, model: SimulatorModel, torque: Array, parameters: Array) -> Array:
    """Adds the call that computes the derivative (nv, k) of clipped torques by the model's unknowns."""

    def by_unknowns(tau: SX) -> list[SX]:
        return [jacobian(_clipped(model, tau), model.unknowns)]

    return call_formula(program, "limited_by", by_unknowns, torque, reads=[(model.layout.symbols, parameters)])[0]


def _clipped(model: SimulatorModel, torque: SX) -> SX:
    """Torques (nv,) within ± the model's limits."""
    limit = model.torque_limits
    return torque if limit is None else ca.fmax(-limit, ca.fmin(limit, torque))


def limited_matrix(
    program: Program,
    model: SimulatorModel,
    torque: Array,
    parameters: Array,
    B: SX,
    reads: Sequence[tuple[SX, Array]] = (),
) -> Array:
    """Adds the call that computes B (nv, n) with zeros in the rows of torques that are beyond a limit.

    Args:
        program: Program that gets the call.
        model: The simulator's model.
        torque: Requested torques (nv,).
        parameters: Run-time parameters.
        B: The matrix, as an expression.
        reads: Pairs of a symbol of B and its array.
    """
    matrix, limit = SX(ca.sparsify(B)), model.torque_limits
    if limit is None:
        return call_formula(program, "B", lambda: [matrix], reads=reads)[0]

    def limited(tau: SX) -> list[SX]:
        return [ca.diag(ca.if_else(ca.fabs(tau) <= limit, 1, 0)) @ matrix]

    return call_formula(program, "limited_B", limited, torque, reads=[(model.layout.symbols, parameters), *reads])[0]
