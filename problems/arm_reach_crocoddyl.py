"""Crocoddyl's reaches of an arm, Talos' left arm and Kinova, for comparison.

Their weights of state and torques are so small that the motion exceeds the limits of any such arm; `arm_reach`
respects them.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from trajopt.actions.differential import DifferentialActionModelFreeFwdDynamics
from trajopt.actions.integrated import IntegratedActionModelEuler, IntegratedActionModelRK4
from trajopt.actuation import ActuationModelFull
from trajopt.checks import check_count, check_non_negative, check_positive
from trajopt.costs import CostStack
from trajopt.errors import unknown_name
from trajopt.problems.arm_reach import distance_report
from trajopt.problems.case import CROCODDYL, TRAJOPT, ProblemCase
from trajopt.problems.family import Family
from trajopt.residuals import (
    ResidualModelControl,
    ResidualModelFramePlacement,
    ResidualModelState,
)
from trajopt.robots import Robot, load_robot
from trajopt.shooting import ShootingProblem
from trajopt.states import StateMultibody
from trajopt.types import Reals

ARM_INTEGRATORS = {"euler": IntegratedActionModelEuler, "rk4": IntegratedActionModelRK4}
TALOS_START = np.array([0.173046, 1.0, -0.52366, 0.0, 0.0, 0.1, -0.005])  # [rad], as in Crocoddyl's examples


@dataclass(frozen=True, kw_only=True)
class CrocoddylReach:
    """Start and goal of a reach, with weights.

    Attributes:
        frame: Name of the frame that moves to the goal.
        start: Initial configuration (nq,), or the name of a reference configuration.
        goal: Placement of the goal in the world.
        regularization: Weight of the state and of the control [cost].
        rest: Reference of the state, "zero" or "start".
        reference: Cost of a known solution with the default options [cost], and its source.
    """

    frame: str
    start: Reals | str
    goal: pin.SE3
    regularization: float = 1e-4
    rest: str = "zero"
    reference: tuple[float, str]


def _at(*position: float) -> pin.SE3:
    """Goal at a position [m], with the orientation of the world."""
    return pin.SE3(np.eye(3), np.array(position))


REACHES = {
    "talos_arm": CrocoddylReach(
        frame="gripper_left_joint", start=TALOS_START, goal=_at(0.0, 0.0, 0.4), reference=(0.303866923071, CROCODDYL)
    ),
    "kinova": CrocoddylReach(
        frame="j2s6s200_end_effector",
        start="arm_up",
        goal=_at(0.6, 0.2, 0.5),
        regularization=0.1,
        rest="start",
        reference=(3.698422749, f"{TRAJOPT}; Crocoddyl 3.2.1 ends at 8.1251 from a guess of zeros"),
    ),
}


def build(
    *, robot: str = "talos_arm", T: int = 100, dt: float = 1e-2, regularization: float | None = None
) -> ProblemCase:
    """Builds the case of a robot.

    Args:
        robot: Name of a robot in `REACHES`.
        T: Number of knots [-].
        dt: Time step [s].
        regularization: Weight of state and control [cost]; by default the value in `REACHES`.
    """
    reach = REACHES[robot]
    weight = reach.regularization if regularization is None else check_non_negative("regularization", regularization)
    check_count("T", T, least=1)
    check_positive("dt", dt, unit="s")
    arm = load_robot(robot)
    problem = reach_problem(arm, reach, T=T, dt=dt, goal=1.0, regularization=weight, end=1e3)
    return FAMILY.case(
        description=f"{robot}: {reach.frame} moves to its goal in {T * dt:g} s.",
        problem=problem,
        reference_cost=reach.reference[0],
        reference_source=reach.reference[1],
        report=functools.partial(distance_report, arm, reach.frame, reach.goal),
    )


def reach_problem(
    robot: Robot,
    reach: CrocoddylReach,
    *,
    T: int,
    dt: float,
    goal: float,
    regularization: float,
    end: float,
    integrator: str = "euler",
) -> ShootingProblem:
    """minimise ∫ ½ (w_goal |r|² + w_reg |x ⊖ x_rest|² + w_reg |u|²) dt + ½ w_end |r(x_T)|², fully actuated.

    r is the error of the frame's placement, u the joint torques.

    Args:
        robot: The arm.
        reach: Start and goal.
        T: Number of knots [-].
        dt: Time step [s].
        goal: w_goal [cost / (m², rad²) / s].
        regularization: w_reg [cost / s].
        end: w_end [cost / (m², rad²)].
        integrator: "euler" (semi-implicit) or "rk4".
    """
    if integrator not in ARM_INTEGRATORS:
        raise unknown_name("integrator", integrator, ARM_INTEGRATORS)
    state = StateMultibody(robot)
    q0 = robot.configuration(reach.start) if isinstance(reach.start, str) else reach.start
    x0 = np.concatenate([q0, np.zeros(state.nv)])
    residual = ResidualModelFramePlacement(state, reach.frame, reach.goal)
    running = CostStack(state)
    running.add("goal", residual, weight=goal)
    rest = x0 if reach.rest == "start" else state.zero()
    running.add("x_reg", ResidualModelState(state, rest), weight=regularization)
    running.add("u_reg", ResidualModelControl(state), weight=regularization)
    terminal = CostStack(state).add("goal", residual, weight=end)
    dynamics = DifferentialActionModelFreeFwdDynamics(state, ActuationModelFull(state), running)
    knot = ARM_INTEGRATORS[integrator](dynamics, dt=dt)
    return ShootingProblem(x0, [knot] * T, terminal)


FAMILY = Family(
    name="arm-reach-crocoddyl",
    description="Crocoddyl's reach of an arm in 1 s, which leaves the robot's limits.",
    build=build,
    robots=tuple(REACHES),
    reference_cost=REACHES["talos_arm"].reference[0],
    reference_source=CROCODDYL,
)
