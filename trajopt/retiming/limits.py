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


@dataclass(frozen=True, eq=False)
class PathRows:
    """Rows lower <= A (b, b') <= upper of the squared speed b at points of a path, of accelerations and torques.

    Attributes:
        A: Coefficients (N + 1, rows, 2).
        lower: Lower bounds (N + 1, rows).
        upper: Upper bounds.
    """

    A: Reals
    lower: Reals
    upper: Reals

    @staticmethod
    def of(robot: Robot, limits: JointLimits, q: Reals, q1: Reals, q2: Reals) -> PathRows:
        """Rows divided by their limits, of joints that have some.

        Args:
            robot: The robot.
            limits: The limits.
            q: Configurations (N + 1, nq) [rad, m].
            q1: Their first derivative.
            q2: Their second derivative.

        Raises:
            InvalidArgumentError: A motor can't hold the robot at rest.
        """
        a, t = np.isfinite(limits.acceleration), np.isfinite(limits.torque)
        by_square, by_slope, held = torque_terms(robot, q, q1, q2)
        part = np.abs(held[:, t]) / limits.torque[t]
        if part.size and part.max() >= 1.0:
            i, joint = (int(each[0]) for each in np.nonzero(part == part.max()))
            joint = int(np.flatnonzero(t)[joint])
            raise InvalidArgumentError(
                f"torque: expected limits that hold the robot at rest, but velocity coordinate {joint} needs "
                f"{held[i, joint]:.6g} at q = {np.round(q[i], 3).tolist()}, and its limit is {limits.torque[joint]:.6g}"
            )
        pairs = [(q2[:, a], q1[:, a], limits.acceleration[a]), (by_square[:, t], by_slope[:, t], limits.torque[t])]
        A = [np.stack([square, 0.5 * slope], axis=-1) / most[:, None] for square, slope, most in pairs]
        rest = np.concatenate([np.zeros_like(q[:, a]), held[:, t] / limits.torque[t]], axis=1)
        return PathRows(np.concatenate(A, axis=1), -1.0 - rest, 1.0 - rest)

    def largest_constant(self) -> float:
        """Largest b that all points allow if it is the same at all of them."""
        square = self.A[:, :, 0]
        bound = np.where(square > 0.0, self.upper, self.lower)
        return float(
            np.divide(bound, square, out=np.full_like(square, np.inf), where=square != 0.0).min(initial=np.inf)
        )


def jerk_rows(path: JointPath, limits: JointLimits, tau: Reals, side: int) -> Reals:
    """Rows J (n, joints, 3) of jerks J (b, b', b'') √b, divided by their limits, of joints that have some.

    Args:
        path: The path.
        limits: The limits.
        tau: τ (n,) [-].
        side: 1 or -1 for the jerk behind or before a waypoint.
    """
    _, q1, q2, q3 = path.derivatives(tau, 3, side)
    limited = np.isfinite(limits.jerk)
    return np.stack([q3, 1.5 * q2, 0.5 * q1], axis=-1)[:, limited] / limits.jerk[limited, None]


def torque_terms(robot: Robot, q: Reals, q1: Reals, q2: Reals) -> tuple[Reals, Reals, Reals]:
    """Torques (n, nv) [N m, N] are c b + m b' / 2 + g along a path; returns c, m and g."""
    model, zero = robot.model, np.zeros(robot.nv)
    data = model.createData()
    g = np.array([pin.rnea(model, data, x, zero, zero) for x in q])
    c = np.array([pin.rnea(model, data, x, v, a) for x, v, a in zip(q, q1, q2)]) - g
    m = np.array([pin.rnea(model, data, x, zero, v) for x, v in zip(q, q1)]) - g
    return c, m, g
