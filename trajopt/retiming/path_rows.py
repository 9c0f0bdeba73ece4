"""Limits at points within the intervals of a path, as rows of the coefficients of the squared speed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trajopt.retiming.joint_path import ASIDE, JointPath
from trajopt.retiming.limits import JointLimits, limits_at
from trajopt.retiming.squared_speed import SquaredSpeed
from trajopt.robots import Robot
from trajopt.types import Reals

PARTS = 10  # parts of an interval, at whose ends limits are evaluated, for each of 2 + its waypoints; even [-]
WAYPOINTS = 16  # most waypoints of an interval that are points, too [-]
FAR = 0.8  # part of a limit below which its row is dropped for the next motion [-]
SLIGHT = 5e-5  # part of a limit by which a motion may exceed it before a row holds there [-]


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldRows:
    """Rows linear · y <= 1, |jerk · y| √b <= 1 with b = square · y, and y > 0, of coefficients y of each interval.

    Attributes:
        linear: Of velocities, accelerations and torques (3, m, N).
        jerk: Of jerks (3, n, N).
        square: Squared speeds at their points (3, n, N).
    """

    linear: Reals
    jerk: Reals
    square: Reals

    def at(self, y: Reals) -> tuple[Reals, Reals]:
        """Returns gradients (3, rows, N) and slacks (rows, N) at coefficients y (3, N).

        A jerk is limited by ± jerk · y <= 1 / √b. This bound is convex, so that its tangent is a tighter one: a step
        that keeps the tangent keeps the limit.
        """
        jerk, b = (np.einsum("irk,ik->rk", rows, y) for rows in (self.jerk, self.square))
        tangent, bound = 0.5 * b**-1.5 * self.square, b**-0.5
        positive = np.broadcast_to(-np.eye(3)[:, :, None], (3, *y.shape))
        gradients = np.concatenate([self.linear, tangent + self.jerk, tangent - self.jerk, positive], axis=1)
        return gradients, np.concatenate([1.0 - np.einsum("irk,ik->rk", self.linear, y), bound - jerk, bound + jerk, y])


class PathRows:
    """Limits at equally many points of each interval, and on both sides of its waypoints.

    They hold at the ends and in the middle of intervals at first, then as `hold` chooses.

    Args:
        robot: The robot.
        path: The path.
        limits: The limits.
        speed: The squared speed.

    Raises:
        InvalidArgumentError: A motor can't hold the robot at rest.
    """

    def __init__(self, robot: Robot, path: JointPath, limits: JointLimits, speed: SquaredSpeed) -> None:
        d, side, parts = _points(path, speed)
        tau = np.minimum((np.arange(speed.N)[:, None] + d) / speed.N, 1.0)
        linear, jerk = (
            rows.reshape(*d.shape, *rows.shape[1:], 1)
            for rows in limits_at(robot, path, limits, speed.rest, tau.ravel(), side.ravel())
        )
        b, slope, bend = (rows[:, :, None] for rows in speed.basis(d))
        self._linear = linear[..., 0, :] * b + linear[..., 1, :] * slope
        self._jerk = jerk[..., 0, :] * b + jerk[..., 1, :] * slope + jerk[..., 2, :] * bend
        self._square, self._of_interval = b, speed.of_interval
        self._held = np.zeros((*d.shape, linear.shape[2] + jerk.shape[2]), dtype=bool)
        self._held[:, [0, parts // 2, parts]] = True

    def used(self, x: Reals) -> Reals:
        """Returns parts of limits (N, points, rows), of powers such that those at half the speed are a quarter [-]."""
        y = x[self._of_interval]
        linear, jerk, b = (np.einsum("kpri,ik->kpr", rows, y) for rows in (self._linear, self._jerk, self._square))
        return np.concatenate([linear, np.cbrt(jerk**2 * b)], axis=2)

    def hold(self, used: Reals) -> None:
        """Adds a row at each point where a motion exceeds a limit, and drops rows that are far from theirs."""
        self._held = (self._held & (used > FAR)) | (used > 1.0 + SLIGHT)

    def held(self) -> HeldRows:
        """Returns the rows that hold, and others in intervals where fewer do than in one of them."""
        linear, jerk = np.split(self._held, [self._linear.shape[2]], axis=2)
        return HeldRows(
            linear=_chosen(self._linear, linear),
            jerk=_chosen(self._jerk, jerk),
            square=_chosen(np.broadcast_to(self._square, self._jerk.shape), jerk),
        )


def _chosen(rows: Reals, held: npt.NDArray[np.bool_]) -> Reals:
    """Of rows (N, points, rows, 3) those that hold and others, equally many in all intervals, (3, m, N)."""
    N = len(held)
    order = np.argsort(~held.reshape(N, -1), axis=1, kind="stable")[:, : held.sum(axis=(1, 2)).max()]
    chosen = np.take_along_axis(rows.reshape(N, -1, 3), order[..., None], axis=1)
    return np.ascontiguousarray(chosen.transpose(2, 1, 0))


def _points(path: JointPath, speed: SquaredSpeed) -> tuple[Reals, Reals, int]:
    """Points of each interval (N, points) as parts of its length, and on which side of a waypoint they are.

    The ends of equal parts come first; the last result is the number of these parts.
    """
    N, waypoints = speed.N, path.waypoint_times(speed.rest) * speed.N
    k = np.minimum(waypoints.astype(int), N - 1)
    number = np.arange(len(k)) - np.searchsorted(k, k)  # of a waypoint among those of its interval
    inside = (np.abs(waypoints - k - 0.5) < 0.5 - ASIDE) & (number < WAYPOINTS)
    k, waypoints, number = k[inside], waypoints[inside], number[inside]
    most = int(number.max(initial=-1)) + 1
    parts = PARTS * (2 + most)
    d = np.full((N, parts + 1 + 2 * most), 0.5)
    d[:, : parts + 1] = np.linspace(0.0, 1.0, parts + 1)
    d[k, parts + 1 + 2 * number] = d[k, parts + 2 + 2 * number] = waypoints - k
    side = np.ones_like(d)
    side[:, parts::2] = -1.0
    return d, side, parts
