"""Limits of joints along a path: what they allow of the squared speed and of its slope."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from trajopt.actuation.base import effort_limits
from trajopt.checks import as_numbers
from trajopt.errors import InvalidArgumentError, shown
from trajopt.retiming.joint_path import JointPath
from trajopt.robots import Robot
from trajopt.states.state_multibody import NO_LIMIT
from trajopt.types import Reals


@dataclass(frozen=True, kw_only=True, eq=False)
class JointLimits:
    """Largest absolute values of each joint (nv,); inf for none.

    Attributes:
        velocity: Velocities [rad/s, m/s].
        acceleration: Accelerations [rad/s², m/s²].
        torque: Torques or forces of motors [N m, N].
        jerk: Jerks [rad/s³, m/s³].
    """

    velocity: Reals
    acceleration: Reals
    torque: Reals
    jerk: Reals

    @staticmethod
    def of(robot: Robot, velocity: Any, acceleration: Any, torque: Any, jerk: Any) -> JointLimits:
        """Checked limits; those of the robot where velocity or torque is None.

        Raises:
            InvalidArgumentError: A limit has a wrong shape or is not positive, or nothing bounds the acceleration.
        """
        n, fastest = robot.nv, np.array(robot.model.velocityLimit)
        own = {"velocity": np.where((fastest > 0.0) & (fastest < NO_LIMIT), fastest, np.inf)}
        own |= {"acceleration": np.full(n, np.inf), "torque": effort_limits(robot.model), "jerk": np.full(n, np.inf)}
        given = {"velocity": velocity, "acceleration": acceleration, "torque": torque, "jerk": jerk}
        found = JointLimits(**{name: _checked(name, value, own[name]) for name, value in given.items()})
        if not np.isfinite([found.acceleration, found.torque]).any():
            raise InvalidArgumentError(
                f"acceleration, torque: expected a finite limit, but {robot.name} has none of its own, so that it may "
                "jump from rest to any velocity; pass acceleration=..."
            )
        return found


def _checked(name: str, value: Any, own: Reals) -> Reals:
    if value is None:
        return own
    n = len(own)
    cure = f"one number > 0 or {n}, one for each joint, inf for no limit"
    numbers = as_numbers(name, value, cure)
    if numbers.shape not in ((), (n,)) or not np.all(numbers > 0.0):
        raise InvalidArgumentError(f"{name}: expected {cure}, got {shown(value)}")
    return np.array(np.broadcast_to(numbers, (n,)))


def limits_at(
    robot: Robot, path: JointPath, limits: JointLimits, rest: int, tau: Reals, side: Reals
) -> tuple[Reals, Reals]:
    """Limits at points of a path, of the squared speed b: rows c · (b, b') <= 1 and |j · (b, b', b'')| √b <= 1.

    Args:
        robot: The robot.
        path: The path.
        limits: The limits.
        rest: 2, or 3, see `JointPath`.
        tau: τ (n,) [-].
        side: 1 or -1 for the jerk behind or before a waypoint (n,).

    Returns:
        Rows c (n, rows, 2) of velocities, accelerations and torques, and j (n, joints, 3), of joints that have limits.

    Raises:
        InvalidArgumentError: A motor can't hold the robot at rest.
    """
    q, q1, q2, q3 = path.derivatives(tau, rest, side)
    a, t, limited = (np.isfinite(most) for most in (limits.acceleration, limits.torque, limits.jerk))
    fastest = (np.abs(q1) / limits.velocity).max(axis=1) ** 2
    accelerations = np.stack([q2, 0.5 * q1], axis=-1)[:, a] / limits.acceleration[a, None]
    rows = [np.stack([fastest, np.zeros_like(fastest)], axis=-1)[:, None], accelerations, -accelerations]
    if t.any():
        by_square, by_slope, held = torque_terms(robot, q, q1, q2)
        part = held / limits.torque
        if np.abs(part).max() >= 1.0:
            i, joint = (int(each) for each in np.unravel_index(np.abs(part).argmax(), part.shape))
            raise InvalidArgumentError(
                f"torque: expected limits that hold the robot at rest, but velocity coordinate {joint} needs "
                f"{held[i, joint]:.6g} at q = {np.round(q[i], 3).tolist()}, and its limit is {limits.torque[joint]:.6g}"
            )
        torques = (np.stack([by_square, 0.5 * by_slope], axis=-1) / limits.torque[:, None])[:, t]
        rows += [torques / (1.0 - part[:, t, None]), -torques / (1.0 + part[:, t, None])]
    jerks = np.stack([q3, 1.5 * q2, 0.5 * q1], axis=-1)[:, limited] / limits.jerk[limited, None]
    return np.concatenate(rows, axis=1), jerks


def torque_terms(robot: Robot, q: Reals, q1: Reals, q2: Reals) -> tuple[Reals, Reals, Reals]:
    """Torques (n, nv) [N m, N] are c b + m b' / 2 + g along a path; returns c, m and g."""
    model, zero = robot.model, np.zeros(robot.nv)
    data = model.createData()
    g = np.array([pin.rnea(model, data, x, zero, zero) for x in q])
    c = np.array([pin.rnea(model, data, x, v, a) for x, v, a in zip(q, q1, q2)]) - g
    m = np.array([pin.rnea(model, data, x, zero, v) for x, v in zip(q, q1)]) - g
    return c, m, g
