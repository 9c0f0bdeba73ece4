"""The problems from whose random samples stage-wise SQP was published: no constraints, an arm to a humanoid.

Every solve starts from x0 at each knot and the controls that hold it there. Kuka's arm, the quadrotor and the double
pendulum have random initial states, Talos a random height of its hand's goal.

Source: Jordana et al., Stagewise implementations of sequential quadratic programming for model-predictive control
(2023), and the benchmark that its authors published. Their draws of configurations are Pinocchio's; ours are numpy's,
of the same distributions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin

import trajopt
from trajopt import problems
from trajopt.actions.differential import DifferentialActionModelFreeFwdDynamics
from trajopt.actions.integrated import IntegratedActionModelEuler
from trajopt.activations import ActivationModelWeightedQuad
from trajopt.actuation import ActuationModelFull, ActuationModelMatrix
from trajopt.costs import CostStack
from trajopt.residuals import (
    ResidualModelControl,
    ResidualModelControlGrav,
    ResidualModelFramePlacement,
    ResidualModelFrameTranslation,
    ResidualModelState,
)
from trajopt.shooting import ShootingProblem
from trajopt.states import StateMultibody
from trajopt.types import Reals

IIWA = Path(__file__).with_name("iiwa.urdf")
SEED = 1


def kuka() -> ShootingProblem:
    """An arm reaches for (0.7, 0, 1.1) in half a second; the posture that it regulates to is one of its own."""
    state = StateMultibody(trajopt.load_robot(IIWA))
    x0 = np.r_[0.1, 0.7, 0.0, 0.7, -0.5, 1.5, 0.0, np.zeros(7)]
    actuation = ActuationModelFull(state)

    def costs() -> CostStack:
        stack = CostStack(state).add("posture", ResidualModelState(state, x0), weight=0.1)
        return stack.add("tool", ResidualModelFrameTranslation(state, "contact", [0.7, 0.0, 1.1]), weight=1.0)

    running = costs().add("gravity", ResidualModelControlGrav(state, actuation), weight=1e-4)
    node = IntegratedActionModelEuler(DifferentialActionModelFreeFwdDynamics(state, actuation, running), dt=1e-2)
    return ShootingProblem(x0, [node] * 50, costs())


CENTRE, LIFT, DRAG = 0.1525, 6.6e-5, 1e-6  # [m], [N s²], [N m s²]
ROTORS = np.array(
    [
        [0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0],
        [1.0, 1.0, 1.0, 1.0],
        [0.0, CENTRE, 0.0, -CENTRE],
        [-CENTRE, 0.0, CENTRE, 0.0],
        [-DRAG / LIFT, DRAG / LIFT, -DRAG / LIFT, DRAG / LIFT],
    ]
)
GOAL = pin.SE3(np.eye(3), np.array([1.0, 0.0, 1.0]))


def quadrotor() -> ShootingProblem:
    """A quadrotor flies to (1, 0, 1), upright, in a second, with thrusts of either sign."""
    state = StateMultibody(trajopt.load_robot("hector"))
    pose = ResidualModelFramePlacement(state, "base_link", GOAL)
    near = ActivationModelWeightedQuad(np.repeat([0.1, 1000.0, 1000.0], [3, 3, 6]))
    running = CostStack(state).add("state", ResidualModelState(state), weight=1e-6, activation=near)
    running.add("thrust", ResidualModelControl(state), weight=1e-6)
    running.add("pose", pose, weight=1e-2)
    actuation = ActuationModelMatrix(state, ROTORS)
    node = IntegratedActionModelEuler(DifferentialActionModelFreeFwdDynamics(state, actuation, running), dt=3e-2)
    return ShootingProblem(state.zero(), [node] * 33, CostStack(state).add("pose", pose, weight=3.0))


def pendulum() -> ShootingProblem:
    """Crocoddyl's double_pendulum_fwddyn."""
    return problems.load("double-pendulum", hessian="exact").problem


def taichi() -> ShootingProblem:
    """Crocoddyl's humanoid_taichi."""
    return problems.load("humanoid-taichi", damping=40.0, limits="distance", cone=0.0, target=HAND).problem


HAND = (0.4, 0.0, 1.2)  # goal of Talos' hand [m]


def kuka_starts(count: int) -> Reals:
    """States (count, 14): joint angles within their limits, at rest."""
    robot = trajopt.load_robot(IIWA).model
    q = np.random.default_rng(SEED).uniform(robot.lowerPositionLimit, robot.upperPositionLimit, (count, 7))
    return np.hstack([q, np.zeros((count, 7))])


def quadrotor_starts(count: int) -> Reals:
    """States (count, 13): within a metre of the origin in each direction, any orientation, at rest."""
    rng = np.random.default_rng(SEED)
    place, turn = rng.uniform(-1.0, 1.0, (count, 3)), rng.standard_normal((count, 4))
    return np.hstack([place, turn / np.linalg.norm(turn, axis=1, keepdims=True), np.zeros((count, 6))])


def pendulum_starts(count: int) -> Reals:
    """States (count, 4): any angle of the first rod, the second in line, at rest."""
    angle = np.pi * (2.0 * np.random.RandomState(SEED).rand(count) - 1.0)
    return np.hstack([angle[:, None], np.zeros((count, 3))])


def taichi_goals(count: int) -> Reals:
    """Goals (count, 3) of the hand, half a metre up and down."""
    height = 0.5 * (2.0 * np.random.RandomState(SEED).rand(count) - 1.0)
    return HAND + height[:, None] * np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, kw_only=True)
class Family:
    """A problem and its samples.

    Attributes:
        build: Makes it.
        draw: Makes so many samples.
        iterations: At most this many.
        least: Part of the samples that must be solved [%].
        published: Part that the authors' solver is published to solve [%].
        is_goal: Whether a sample is the goal of the hand, else the initial state.
    """

    build: Callable[[], ShootingProblem]
    draw: Callable[[int], Reals]
    iterations: int
    least: int
    published: int
    is_goal: bool = False

    def take(self, problem: ShootingProblem, sample: Reals) -> None:
        """Gives a problem of `build` this sample."""
        if self.is_goal:
            problem.set_parameter("hand.reference", pin.SE3(np.eye(3), sample))
        else:
            problem.x0 = sample


FAMILIES = {
    "kuka": Family(build=kuka, draw=kuka_starts, iterations=200, least=100, published=100),
    "quadrotor": Family(build=quadrotor, draw=quadrotor_starts, iterations=200, least=97, published=92),
    "double-pendulum": Family(build=pendulum, draw=pendulum_starts, iterations=500, least=99, published=95),
    "taichi": Family(build=taichi, draw=taichi_goals, iterations=200, least=100, published=100, is_goal=True),
}
TOLERANCE = 1e-4  # of the gradient of the Lagrangian and of the gaps
