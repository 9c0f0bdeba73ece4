"""Problems with rows on which quadratic programs are timed: those of mim-solvers' examples, and arms within limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

import trajopt
from trajopt.actions import ActionModelTerminal
from trajopt.actions.differential import (
    DifferentialActionModelContactFwdDynamics,
    DifferentialActionModelFreeFwdDynamics,
)
from trajopt.actions.integrated import IntegratedActionModelEuler
from trajopt.activations import ActivationModelWeightedQuad
from trajopt.actuation import ActuationModelFloatingBase, ActuationModelFull
from trajopt.constraints import ConstraintStack
from trajopt.contacts import ContactModel3D, ContactStack
from trajopt.costs import CostStack
from trajopt.residuals import (
    FrictionCone,
    ResidualModelCoMPosition,
    ResidualModelContactFrictionCone,
    ResidualModelControl,
    ResidualModelControlGrav,
    ResidualModelFrameTranslation,
    ResidualModelState,
    ResidualModelSymbolic,
)
from trajopt.shooting import ShootingProblem
from trajopt.states import StateMultibody
from trajopt.types import Reals

FEET = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")
EFFORT = np.array([40.0, 40.0, 20.0, 4.0, 4.0, 4.0])  # of the arm within limits [N m]


@dataclass(frozen=True)
class Constrained:
    """A problem and a guess.

    Attributes:
        problem: The problem.
        xs: States (T + 1, nx).
        us: Controls (T, nu).
    """

    problem: ShootingProblem
    xs: Reals
    us: Reals


def arm(*, limits: bool = False) -> Constrained:
    """A UR5 reaches for (0.4, 0.4, 0.4) in 40 steps: its tool has y, z <= 0.4, or its torques are limited."""
    state = StateMultibody(trajopt.load_robot("ur5"))
    x0, actuation = np.zeros(state.nx), ActuationModelFull(state)

    def costs(goal: float) -> CostStack:
        tool = ResidualModelFrameTranslation(state, "tool0", [0.4, 0.4, 0.4])
        stack = CostStack(state).add("posture", ResidualModelState(state, x0), weight=0.1)
        return stack.add("tool", tool, weight=goal)

    def room() -> ConstraintStack:
        position = ResidualModelFrameTranslation(state, "tool0", np.zeros(3))
        return ConstraintStack(state).add("room", position, lower=-1.0, upper=[1.0, 0.4, 0.4])

    running = costs(4.0).add("gravity", ResidualModelControlGrav(state, actuation), weight=1e-4)
    end = costs(40.0).add("gravity", ResidualModelSymbolic(state, lambda x, robot: robot.gravity()), weight=1e-4)
    motors = ConstraintStack(state).add("motors", ResidualModelControl(state), lower=-EFFORT, upper=EFFORT)
    rows, last = (motors, ConstraintStack(state)) if limits else (room(), room())
    model = DifferentialActionModelFreeFwdDynamics(state, actuation, running, constraints=rows)
    node = IntegratedActionModelEuler(model, 0.05)
    problem = ShootingProblem(x0, [node] * 40, ActionModelTerminal(end, constraints=last))
    return Constrained(problem, np.zeros((41, 12)), np.zeros((40, 6)))


def quadruped(T: int, mu: float = 0.8, turns: float = 0.2) -> Constrained:
    """Solo12 stands, its centre of mass goes round so many times a second, 0.02 s a step; friction pyramids of μ."""
    robot = trajopt.load_robot("solo12")
    state = StateMultibody(robot)
    actuation = ActuationModelFloatingBase(state)
    q0 = np.array([0, 0, 0.25, 0, 0, 0, 1, *[0, 0.8, -1.6] * 2, *[0, -0.8, 1.6] * 2])
    x0, data, dt = np.r_[q0, np.zeros(18)], robot.model.createData(), 0.02
    pin.forwardKinematics(robot.model, data, q0)
    pin.updateFramePlacements(robot.model, data)
    centre = np.mean([data.oMf[robot.model.getFrameId(foot)].translation for foot in FEET], axis=0)
    centre[2] = pin.centerOfMass(robot.model, data, q0)[2]
    angles = 2 * np.pi * turns * dt * np.arange(T + 1)
    path = centre + 0.065 * np.c_[np.sin(angles), np.cos(angles) - 1, 0 * angles]
    weights = np.r_[[0.0] * 3, [500.0] * 3, [0.01] * 12, [10.0] * 6, [1.0] * 12] ** 2

    def costs(factor: float) -> CostStack:
        posture = ActivationModelWeightedQuad(weights)
        stack = CostStack(state).add("posture", ResidualModelState(state, x0), weight=0.1 * factor, activation=posture)
        return stack.add("com", ResidualModelCoMPosition(state, path[-1]), weight=1e5)

    contacts, rows = ContactStack(state), ConstraintStack(state)
    for foot in FEET:
        contacts.add(foot, ContactModel3D(state, foot, gains=(0.0, 0.0)))
        rows.add(f"cone_{foot}", ResidualModelContactFrictionCone(state, foot, FrictionCone(mu, inner=False)))
    running = costs(1.0).add("effort", ResidualModelControl(state), weight=1e-3)
    model = DifferentialActionModelContactFwdDynamics(state, actuation, contacts, running, constraints=rows)
    problem = ShootingProblem(x0, [IntegratedActionModelEuler(model, dt)] * T, ActionModelTerminal(costs(dt)))
    for t in range(T):
        problem.set_parameter("com.reference", path[t], knots=t)
    xs = np.tile(x0, (T + 1, 1))
    return Constrained(problem, xs, problem.quasi_static(xs[:-1]))


EXAMPLES: dict[str, Callable[[], Constrained]] = {"ur5": arm, "solo12": lambda: quadruped(250)}
"""Beside mim-solvers, by the names in `peers/mim_times.py`."""

PROGRAMS: dict[str, Callable[[], Constrained]] = {
    "arm N 40, bounds": lambda: arm(limits=True),
    "quadruped N 56, cones": lambda: quadruped(56, mu=0.2, turns=0.8),
}
"""Whose first quadratic programs are solved beside HPIPM."""
