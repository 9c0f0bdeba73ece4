"""An arm moves its tool to a goal: a first problem for any robot with a fixed base."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.actions import ActionModelTerminal
from trajopt.actions.differential import DifferentialActionModelFreeFwdDynamics
from trajopt.actions.integrated import IntegratedActionModelEuler
from trajopt.activations import ActivationModelWeightedQuad
from trajopt.actuation import ActuationModelFull
from trajopt.checks import check_array, check_count, check_flag, check_non_negative, check_positive
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.errors import InvalidArgumentError
from trajopt.problems.case import TRAJOPT, ProblemCase
from trajopt.problems.family import Family
from trajopt.residuals import (
    ResidualModelControl,
    ResidualModelFramePlacement,
    ResidualModelFrameTranslation,
    ResidualModelState,
)
from trajopt.robots import Robot, load_robot
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.states import StateMultibody
from trajopt.types import Reals

GOAL, STOP = 1e3, 10.0
"""Terminal weights of the distance to the goal [cost / (m², rad²)] and of velocities [cost s²/rad²]."""


@dataclass(frozen=True, kw_only=True)
class Reach:
    """Start and goal of a reach.

    Attributes:
        frame: Name of the frame that moves to the goal.
        start: Initial configuration of the joints that move the frame (nq,); empty to use that of `any_reach`.
        end: Configuration of the same joints in which the frame is at its goal (nq,).
        cost: Cost of a known solution with the default options [cost].
    """

    frame: str
    start: tuple[float, ...] = ()
    end: tuple[float, ...] = ()
    cost: float | None = None


REACHES = {
    "ur5": Reach(
        frame="tool0",
        start=(0.0, -1.5, 1.0, -1.0, -1.5, 0.0),
        end=(0.8, -1.0, 1.5, -2.0, -1.2, 0.5),
        cost=0.0642837578,
    ),
    "ur10": Reach(
        frame="tool0",
        start=(0.0, -1.5, 1.0, -1.0, -1.5, 0.0),
        end=(0.5, -1.2, 1.4, -1.5, -1.2, 0.3),
        cost=0.173699676,
    ),
    "panda": Reach(
        frame="panda_hand_tcp",
        start=(0.0, -0.8, 0.0, -2.4, 0.0, 1.6, 0.8),
        end=(0.6, -0.3, 0.2, -1.8, 0.3, 2.0, 0.4),
        cost=0.0366720822,
    ),
    "kinova": Reach(frame="j2s6s200_end_effector", cost=0.00773298265),
    "xarm7": Reach(frame="link_eef", cost=0.0180099561),
    "z1": Reach(frame="gripperStator", cost=0.0101544834),
    "planar-2r": Reach(frame="tool", start=(0.0, 0.8), end=(0.8, 0.6), cost=0.00698658708),
    "planar-3r": Reach(frame="tool", start=(0.0, 0.5, 0.5), end=(0.5, 0.7, 0.3), cost=0.00746304593),
}
"""Robots with their own start and goal; `any_reach` computes them for other robots."""


def build(
    *,
    robot: str | Robot = "ur5",
    frame: str | None = None,
    target: npt.ArrayLike | None = None,
    T: int = 100,
    dt: float = 1e-2,
    velocity: float = 1e-2,
    torque: float = 1e-4,
    limits: bool = False,
) -> ProblemCase:
    """minimise ∫ ½ (w_v |v|² + w_u |u|²) dt + ½ 1e3 |r(q_T)|² + ½ 10 |v_T|², fully actuated.

    r is the error of the frame's placement, or of its position, and u are the joint torques. Only the terminal cost
    contains the goal, so the motion uses the whole time, and listed robots stay well within their limits. Other arms
    may leave theirs, unless `limits` makes them constraints. Joints that do not move the frame (fingers, another arm)
    are locked.

    Args:
        robot: An arm: a name or a file as in `load_robot`, or a Robot. The start and goal of a Robot are computed,
            whatever its name.
        frame: Frame that moves to the goal; by default the tool of a listed robot, or the last frame of another one.
        target: Goal of the frame's position in the world (3,) [m], with free orientation; by default a placement that
            the robot can reach.
        T: Number of knots [-].
        dt: Time step [s].
        velocity: Weight w_v of joint velocities; a larger value makes the motion smoother [cost s/rad²].
        torque: Weight w_u of joint torques [cost/((N m)² s)].
        limits: Whether positions, velocities and torques of the joints are hard constraints.
    """
    check_count("T", T, least=1)
    check_positive("dt", dt, unit="s")
    check_non_negative("velocity", velocity)
    check_positive("torque", torque)
    check_flag("limits", limits)
    listed = REACHES.get(robot) if frame is None and isinstance(robot, str) else None
    arm, tool = carrying(robot if isinstance(robot, Robot) else load_robot(robot), listed.frame if listed else frame)
    reach = listed if listed and listed.start else any_reach(arm, tool)
    start, end = np.array(reach.start), np.array(reach.end)
    goal = (
        pin.SE3(arm.placement(end, tool))
        if target is None
        else check_array("target", target, (3,), cure="pass a point [m]")
    )
    state = StateMultibody(arm)
    x0 = np.concatenate([start, np.zeros(state.nv)])
    residual_type = ResidualModelFramePlacement if isinstance(goal, pin.SE3) else ResidualModelFrameTranslation
    still = ActivationModelWeightedQuad(np.repeat([0.0, 1.0], state.nv))
    velocities = ResidualModelState(state, x0)
    running = CostStack(state)
    running.add("velocity", velocities, weight=velocity, activation=still)
    running.add("torque", ResidualModelControl(state), weight=torque)
    terminal = CostStack(state)
    terminal.add("goal", residual_type(state, tool, goal), weight=GOAL)
    terminal.add("stop", velocities, weight=STOP, activation=still)
    motors = ActuationModelFull(state)
    bounds = ConstraintStack.of_robot(state, motors) if limits else None
    dynamics = DifferentialActionModelFreeFwdDynamics(state, motors, running, constraints=bounds)
    knot = IntegratedActionModelEuler(dynamics, dt=dt)
    end_bounds = ConstraintStack.of_robot(state) if limits else None
    return FAMILY.case(
        description=f"{arm.name}: {tool} moves to its goal in {T * dt:g} s.",
        problem=ShootingProblem(x0, [knot] * T, ActionModelTerminal(terminal, constraints=end_bounds)),
        reference_cost=listed.cost if listed else None,
        reference_source=TRAJOPT if listed and listed.cost else "",
        report=functools.partial(distance_report, arm, tool, goal),
    )


def carrying(robot: Robot, frame: str | None) -> tuple[Robot, str]:
    """Locks all joints that do not move a frame; returns the robot and the frame's name, by default the last one.

    Raises:
        InvalidArgumentError: The robot has a floating base, or no joint moves the frame.
        UnknownNameError: The robot has no frame of this name.
    """
    model = robot.model
    if robot.floating_base:
        raise InvalidArgumentError(
            f"robot: expected an arm with a fixed base, got {robot.name!r} with a floating one; for legged robots "
            "load quadruped-*, biped-* or humanoid-*"
        )
    if frame is None:
        deepest = max(range(model.njoints), key=lambda j: len(model.supports[j]))
        frame = [f.name for f in model.frames if f.parentJoint == deepest][-1]
    carriers = set(model.supports[model.frames[robot.frame_id(frame)].parentJoint])
    if len(carriers) < 2:  # the universe alone
        raise InvalidArgumentError(f"frame: expected a frame that moves, got {frame!r}, which is fixed; choose another")
    others = [name for j, name in enumerate(model.names) if j not in carriers]
    return (robot.lock_joints(others, _first_configuration(robot)) if others else robot), frame


def any_reach(arm: Robot, frame: str) -> Reach:
    """Computes start and goal of an arm without an entry in `REACHES`.

    The start is the first reference configuration, or the neutral one, moved inside the limits. Each joint turns
    towards the farther limit: by 15 % of its range, but at most by 0.5 rad and by half the angle that its speed limit
    allows in 1 s.
    """
    model, start = arm.model, _first_configuration(arm)
    turn = np.minimum(0.5, 0.5 * np.where(model.velocityLimit > 0, model.velocityLimit, np.inf))
    for joint in model.joints[1:]:
        lower, upper = model.lowerPositionLimit[joint.idx_q], model.upperPositionLimit[joint.idx_q]
        if joint.nq == joint.nv == 1 and np.isfinite(upper - lower) and upper > lower:
            margin = 0.15 * (upper - lower)
            q = start[joint.idx_q] = np.clip(start[joint.idx_q], lower + margin / 2, upper - margin / 2)
            turn[joint.idx_v] = min(margin, turn[joint.idx_v]) * (1.0 if upper - q > q - lower else -1.0)
    return Reach(frame=frame, start=tuple(start), end=tuple(pin.integrate(model, start, turn)))


def _first_configuration(robot: Robot) -> Reals:
    return next(iter(robot.configurations.values()), pin.neutral(robot.model))


def distance_report(robot: Robot, frame: str, goal: Any, solution: Solution) -> dict[str, str]:
    """Distance of a frame from its goal at the end, and the angle if the goal is a placement, not a point (3,)."""
    reached = pin.SE3(robot.placement(solution.xs[-1, : robot.nq], frame))
    if not isinstance(goal, pin.SE3):
        return {"distance": f"{1e3 * np.linalg.norm(reached.translation - goal):.3g} mm"}
    angle = np.linalg.norm(pin.log3(goal.rotation.T @ reached.rotation))
    distance = np.linalg.norm(reached.translation - goal.translation)
    return {"distance": f"{1e3 * distance:.3g} mm", "angle": f"{np.degrees(angle):.3g} deg"}


FAMILY = Family(
    name="arm-reach",
    description="An arm moves its tool to a goal in 1 s.",
    build=build,
    robots=tuple(REACHES),
    any_robot=True,
    reference_cost=REACHES["ur5"].cost,
    reference_source=TRAJOPT,
)
