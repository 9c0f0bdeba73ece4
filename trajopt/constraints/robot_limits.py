"""Limits in a robot's file: positions, velocities and efforts of its joints."""

from __future__ import annotations

import numpy as np

from trajopt.actuation.base import ActuationModelAbstract
from trajopt.actuation.matrix import ActuationModelMatrix
from trajopt.checks import check_flag
from trajopt.residuals.base import ResidualModelAbstract
from trajopt.residuals.control import ResidualModelControl
from trajopt.residuals.joint_distance import ResidualModelJointDistance
from trajopt.residuals.joint_effort import ResidualModelJointEffort
from trajopt.residuals.state import ResidualModelState
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import check_robot_state
from trajopt.types import Reals

Limits = dict[str, tuple[ResidualModelAbstract, Reals, Reals]]


def robot_limits(
    state: StateAbstract,
    actuation: ActuationModelAbstract | None,
    *,
    positions: bool,
    velocities: bool,
    torques: bool,
) -> Limits:
    """Residual, lower and upper bounds by name; arguments and errors as in `ConstraintStack.of_robot`."""
    robot = check_robot_state("of_robot", state)
    base = robot.model.joints[1].nv if robot.robot.floating_base else 0
    limits: Limits = {}
    for name, wanted, first in (("positions", positions, 0), ("velocities", velocities, robot.nv)):
        elements = list(range(first + base, first + robot.nv))
        if check_flag(name, wanted) and len(elements):
            _add(
                limits, name, ResidualModelState(state, elements=elements), robot.lower[elements], robot.upper[elements]
            )
    if positions and robot.robot.distances:
        distance = ResidualModelJointDistance(state)
        limits["distances"] = (distance, *distance.own_bounds)
    if check_flag("torques", torques) and actuation is not None:
        effort = ResidualModelJointEffort(state, actuation)
        _add(limits, "torques", effort, *effort.own_bounds)
        joints = ActuationModelMatrix(state, actuation.matrix)  # its limits are those that efforts of joints imply
        lower = np.where(actuation.lower > joints.lower, actuation.lower, -np.inf)
        upper = np.where(actuation.upper < joints.upper, actuation.upper, np.inf)
        _add(limits, "motors", ResidualModelControl(state), lower, upper)
    return limits


def _add(limits: Limits, name: str, residual: ResidualModelAbstract, lower: Reals, upper: Reals) -> None:
    """Adds the elements that have limits; equal or crossed limits, such as a file's zeros, count as no limit."""
    room = lower < upper
    low, high = np.where(room, lower, -np.inf), np.where(room, upper, np.inf)
    if np.any(np.isfinite(low) | np.isfinite(high)):
        limits[name] = (residual, low, high)
