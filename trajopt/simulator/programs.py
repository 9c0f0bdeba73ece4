"""Programs of a simulator's steps, cached with its model and on disk."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

import casadi as ca
from casadi import SX

from trajopt.kernels.program import Program
from trajopt.model.programs import kept
from trajopt.simulator.backward import BackwardImpulseStep, BackwardStep, InverseBackwardStep
from trajopt.simulator.forward_euler import ForwardEulerStep
from trajopt.simulator.forward_impulse import forward_impulse_step
from trajopt.simulator.implicit_euler import ImplicitEulerStep
from trajopt.simulator.instantaneous import ImpulseStep, LimitStep
from trajopt.simulator.limited_step import LimitedStep
from trajopt.simulator.model import SimulatorModel
from trajopt.simulator.modes import SimulatorMode
from trajopt.simulator.pd_controller import PDController
from trajopt.simulator.steps import Inputs, StepAbstract, StepDerivatives, StepValues

STEPS: dict[SimulatorMode, Callable[[SimulatorModel], StepAbstract]] = {
    SimulatorMode.FORWARD_I: ImpulseStep,
    SimulatorMode.INVERSE_I: functools.partial(ImpulseStep, inverse=True),
    SimulatorMode.FORWARD_LF: LimitStep,
    SimulatorMode.INVERSE_LF: functools.partial(LimitStep, inverse=True),
    SimulatorMode.FORWARD_RK1F: ForwardEulerStep,
    SimulatorMode.FORWARD_RK1I: forward_impulse_step,
    SimulatorMode.FORWARD_RK2I: forward_impulse_step,
    SimulatorMode.FORWARD_RK4I: forward_impulse_step,
    SimulatorMode.BACKWARD_RK1F: BackwardStep,
    SimulatorMode.INVERSE_BACKWARD_RK1F: InverseBackwardStep,
    SimulatorMode.BACKWARD_RK1I: BackwardImpulseStep,
}


ROOTS = (SimulatorMode.BACKWARD_RK1F, SimulatorMode.INVERSE_BACKWARD_RK1F, SimulatorMode.BACKWARD_RK1I)
"""Modes whose step is the root of the result."""


def step_of(model: SimulatorModel) -> StepAbstract:
    """Returns the step of a model's mode."""
    return STEPS[model.mode](model)


def stepping_of(model: SimulatorModel) -> StepAbstract | None:
    """Step from (q, v) to (q₊, v₊) in a model's mode; None if it has none."""
    step = step_of(model)
    if model.mode in ROOTS:
        return ImplicitEulerStep(step, step_of(model.freed(SX(0, 1))) if model.unknowns.numel() else None)
    return step if step.steps_state else None


def values_program(model: SimulatorModel, *, controlled: bool, stepping: bool = False) -> Program:
    """Program (qdq, torque, parameters) -> (result, forces, v̂, status).

    Args:
        model: The simulator's model.
        controlled: Whether the settings of a PD controller replace the torque.
        stepping: Whether qdq is (q, v) and the result is the next state, also in backward modes.
    """
    stepping = stepping and model.mode in ROOTS
    return kept(model, ("simulate", controlled, stepping), lambda: _values(model, controlled, stepping))


def derivatives_program(model: SimulatorModel, *, controlled: bool, through: bool = True) -> Program:
    """Program (qdq, torque, parameters) -> (result, Dqdq, Dtau, status).

    Args:
        model: The simulator's model.
        controlled: Whether the settings of a PD controller replace the torque.
        through: Whether Dqdq includes the derivative of the controller's torque.
    """
    name = ("simulate with derivatives", controlled, through)
    return kept(model, name, lambda: _derivatives(model, controlled, through))


class _ControlledStep(StepAbstract):
    """Step with the torque of a PD controller, whose settings replace the torque as input."""

    def __init__(self, step: StepAbstract, *, through: bool) -> None:
        super().__init__(step.model)
        self._step, self._through, self._controller = step, through, PDController(step.model)
        self.accelerations, self.steps_state = step.accelerations, step.steps_state

    @property
    def given_size(self) -> int:
        return self._controller.size

    def values(self, program: Program, inputs: Inputs) -> StepValues:
        return self._step.values(program, self._driven(program, inputs))

    def derivatives(self, program: Program, inputs: Inputs) -> StepDerivatives:
        d = self._step.derivatives(program, self._driven(program, inputs))
        if self._through:
            by_qdq = self._controller.derivative(program, inputs.qdq, inputs.torque)
            program.accumulate(d.Dqdq, d.Dtau, by_qdq)
        return d

    def _driven(self, program: Program, inputs: Inputs) -> Inputs:
        return replace(inputs, torque=self._controller.torque(program, inputs.qdq, inputs.torque))


def _requested(model: SimulatorModel, controlled: bool, through: bool = True) -> StepAbstract:
    """Step as a function of requested torques, before limits, or of a controller's settings."""
    step = step_of(model) if model.torque_limits is None else LimitedStep(step_of(model))
    return _ControlledStep(step, through=through) if controlled else step


def _inputs(program: Program, step: StepAbstract) -> Inputs:
    qdq, torque = program.input(step.input_size), program.input(step.given_size)
    return Inputs(qdq=qdq, torque=torque, parameters=program.input(step.model.layout.size))


def _values(model: SimulatorModel, controlled: bool, stepping: bool) -> Program:
    program, step = Program(f"{model.mode.name}"), _requested(model, controlled)
    step = ImplicitEulerStep(step) if stepping else step
    values = step.values(program, _inputs(program, step))
    program.output(values.result, values.force, values.velocity)
    return _finished(program)


def _derivatives(model: SimulatorModel, controlled: bool, through: bool) -> Program:
    program, step = Program(f"{model.mode.name} with derivatives"), _requested(model, controlled, through)
    d = step.derivatives(program, _inputs(program, step))
    program.output(d.values.result, d.Dqdq, d.Dtau)
    return _finished(program)


def _finished(program: Program) -> Program:
    """Adds the status as the last output of a program; it is 0 without contacts."""
    status = program.status
    program.output(program.call(ca.Function("status", [], [SX(0)]))[0] if status is None else status)
    return program
