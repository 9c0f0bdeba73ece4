"""Checks of a simulator's torque limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.actuation.base import effort_limits
from trajopt.checks import check_bounds
from trajopt.errors import InvalidArgumentError, shown
from trajopt.robots.bases import driven_joints
from trajopt.states.state_multibody import StateMultibody
from trajopt.types import Reals


def check_torque_limits(torque_limits: Any, state: StateMultibody) -> Reals | None:
    """Largest torque of each velocity (nv,) [N m, N], inf for no limit; None without limits.

    Args:
        torque_limits: True for the effort limits of the robot's joints (a base has none), an array (nv,), or None.
        state: State of the robot.

    Raises:
        InvalidArgumentError: `torque_limits` has another type, a limit is negative, or the robot has no effort limits.
    """
    if torque_limits is None or torque_limits is False:
        return None
    if torque_limits is not True:
        if isinstance(torque_limits, (str, bytes)):
            raise InvalidArgumentError(
                f"torque_limits: expected True, None or {state.nv} numbers, got {shown(torque_limits)}"
            )
        return check_positive_bounds("torque_limits", torque_limits, state.nv)
    limits = np.where(driven_joints(state.model), effort_limits(state.model), np.inf)
    if not np.isfinite(limits).any():
        raise InvalidArgumentError(
            f"torque_limits: expected a robot with effort limits, got {state.robot.name!r} without any; "
            f"pass an array of {state.nv} limits"
        )
    return limits


def check_positive_bounds(argument: str, value: Any, size: int) -> Reals:
    """Returns limits (size,) >= 0, inf allowed; raises InvalidArgumentError for others."""
    limits = check_bounds(argument, value, size)
    if np.any(limits < 0):
        raise InvalidArgumentError(f"{argument}: expected limits >= 0, or inf for no limit, got {limits.min():g}")
    return limits
