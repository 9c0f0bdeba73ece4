"""Problems that controllers are tested on."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np
import pinocchio as pin

from trajopt import mpc
from trajopt.actions import ActionModelTerminal
from trajopt.actions.differential import DifferentialActionModelFreeFwdDynamics
from trajopt.actions.integrated import IntegratedActionModelEuler
from trajopt.actuation import ActuationModelFull
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.residuals import ResidualModelControl, ResidualModelFrameTranslation, ResidualModelState
from trajopt.robots import Robot, load_robot
from trajopt.shooting import ShootingProblem
from trajopt.states import StateMultibody
from trajopt.types import Reals

POSTURE = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.8, 0.7])  # [rad]


def target(t: float) -> Reals:
    """A circle of 10 cm in 2 s before the arm, at a time [s]: [m]."""
    return np.array([0.45, 0.1 * np.cos(np.pi * t), 0.45 + 0.1 * np.sin(np.pi * t)])


@functools.cache
def robot(name: str) -> Robot:
    if name != "panda":
        return load_robot(name)
    model = load_robot(name).model
    fingers = [model.getJointId(f"panda_finger_joint{i}") for i in (1, 2)]
    return Robot(pin.buildReducedModel(model, fingers, pin.neutral(model)), name="panda")


def arm(name: str = "panda", frame: str = "panda_hand", *, N: int = 30, dt: float = 0.02) -> ShootingProblem:
    """An arm of seven joints with limits of torques, velocities and positions."""
    arm = robot(name)
    state, posture = StateMultibody(arm), POSTURE if arm.nq == 7 else np.zeros(arm.nq)
    x0, actuation = np.r_[posture, np.zeros(arm.nv)], ActuationModelFull(state)

    def costs(weight: float) -> CostStack:
        stack = CostStack(state).add("hand", ResidualModelFrameTranslation(state, frame, target(0.0)), weight=weight)
        return stack.add("posture", ResidualModelState(state, x0), weight=0.1)

    running = costs(200.0).add("effort", ResidualModelControl(state), weight=1e-4)
    limits = ConstraintStack.of_robot(state, actuation)
    end = ConstraintStack.of_robot(state)
    dynamics = DifferentialActionModelFreeFwdDynamics(state, actuation, running, constraints=limits)
    node = IntegratedActionModelEuler(dynamics, dt)
    return ShootingProblem(x0, [node] * N, ActionModelTerminal(costs(10.0), constraints=end))


class Plant:
    """The model of a knot as the world, with a time step of its own.

    Args:
        controller: Whose first knot's model and parameters it has.
        dt: Time step [s].
    """

    def __init__(self, controller: mpc.MPCController, dt: float) -> None:
        own = controller.problem
        self._problem = ShootingProblem(own.x0, [own.running[0]], own.terminal)
        if "dt" in self._problem.parameters:
            self._problem.set_parameter("dt", dt)

    def __call__(self, x: Reals, u: Reals) -> Reals:
        """The next state (nx,)."""
        self._problem.x0 = x
        return self._problem.rollout([u])[1]


def closed_loop(
    controller: mpc.MPCController, steps: int, pushes: Mapping[int, Reals] | None = None
) -> tuple[Reals, list[mpc.MPCStep]]:
    """States (steps + 1, nx) of the controller's own model, pushed by tangent vectors after some steps."""
    plant, xs, done = Plant(controller, controller.dt), [controller.reset().xs[0]], []
    for k in range(steps):
        done.append(controller.step(xs[-1]))
        x = plant(xs[-1], done[-1].u)
        if pushes and k in pushes:
            x = controller.problem.state.integrate(x, pushes[k])
        xs.append(x)
    return np.array(xs), done
