"""Programs of a simulator's steps, kept with its model and on disk."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
from casadi import SX

from trajopt.kernels.program import Program
from trajopt.model.programs import kept
from trajopt.simulator.backward import BackwardImpulseStep, BackwardStep, InverseBackwardStep
from trajopt.simulator.forward_euler import ForwardEulerStep
from trajopt.simulator.forward_impulse import forward_impulse_step
from trajopt.simulator.instantaneous import (
    ImpulseAccelerationStep,
    ImpulseTorqueStep,
    LimitAccelerationStep,
    LimitTorqueStep,
)
from trajopt.simulator.model import SimulatorModel
from trajopt.simulator.modes import SimulatorMode
from trajopt.simulator.pd_controller import PDController
from trajopt.simulator.steps import Inputs, StepAbstract

STEPS: dict[SimulatorMode, Callable[[SimulatorModel], StepAbstract]] = {
    SimulatorMode.FORWARD_I: ImpulseAccelerationStep,
    SimulatorMode.INVERSE_I: ImpulseTorqueStep,
    SimulatorMode.FORWARD_LF: LimitAccelerationStep,
    SimulatorMode.INVERSE_LF: LimitTorqueStep,
    SimulatorMode.FORWARD_RK1F: ForwardEulerStep,
    SimulatorMode.FORWARD_RK1I: forward_impulse_step,
    SimulatorMode.FORWARD_RK2I: forward_impulse_step,
    SimulatorMode.FORWARD_RK4I: forward_impulse_step,
    SimulatorMode.BACKWARD_RK1F: BackwardStep,
    SimulatorMode.INVERSE_BACKWARD_RK1F: InverseBackwardStep,
    SimulatorMode.BACKWARD_RK1I: BackwardImpulseStep,
}


def step_of(model: SimulatorModel) -> StepAbstract:
    """The step of a model's mode."""
    return STEPS[model.mode](model)


def values_program(model: SimulatorModel, *, controlled: bool) -> Program:
    """(qdq, torque, parameters) -> (result, forces, v̂, status).

    Args:
        model: The simulator's model.
        controlled: Whether the settings of a PD controller take the place of the torque.
    """
    return kept(model, ("simulate", controlled), lambda: _values(model, controlled))


def derivatives_program(model: SimulatorModel, *, controlled: bool, through: bool = True) -> Program:
    """(qdq, torque, parameters) -> (result, Dqdq, Dtau, status).

    Args:
        model: The simulator's model.
        controlled: Whether the settings of a PD controller take the place of the torque.
        through: Whether Dqdq has the derivative of its torque.
    """
    name = ("simulate with derivatives", controlled, through)
    return kept(model, name, lambda: _derivatives(model, controlled, through))


def _inputs(
    model: SimulatorModel, step: StepAbstract, program: Program, controlled: bool
) -> tuple[Inputs, PDController]:
    controller = PDController(model)
    qdq = program.input(step.input_size)
    given = program.input(controller.size if controlled else model.nv)
    parameters = program.input(model.layout.size)
    torque = controller.torque(program, qdq, given) if controlled else given
    return Inputs(qdq=qdq, torque=torque, parameters=parameters), controller


def _values(model: SimulatorModel, controlled: bool) -> Program:
    program, step = Program(f"{model.mode.name}"), step_of(model)
    inputs, _ = _inputs(model, step, program, controlled)
    values = step.values(program, inputs)
    program.output(values.result, values.force, values.velocity)
    return _finished(program)


def _derivatives(model: SimulatorModel, controlled: bool, through: bool) -> Program:
    program, step = Program(f"{model.mode.name} with derivatives"), step_of(model)
    inputs, controller = _inputs(model, step, program, controlled)
    d = step.derivatives(program, inputs)
    if controlled and through:
        by_qdq = controller.derivative(program, inputs.qdq, program.inputs[1])
        program.accumulate(d.Dqdq, d.Dtau, by_qdq)
    program.output(d.values.result, d.Dqdq, d.Dtau)
    return _finished(program)


def _finished(program: Program) -> Program:
    """The program with its status as its last output; 0 without contacts."""
    status = program.status
    program.output(program.call(ca.Function("status", [], [SX(0)]))[0] if status is None else status)
    return program
