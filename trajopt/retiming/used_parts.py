"""Parts of the limits that a motion along a path uses within each interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajopt.retiming.joint_path import JointPath
from trajopt.retiming.limits import JointLimits, PathRows, jerk_rows
from trajopt.robots import Robot
from trajopt.types import Reals

POINTS = 20  # parts of an interval, at whose ends limits are evaluated [-]


@dataclass(frozen=True, kw_only=True, eq=False)
class UsedParts:
    """Parts of limits in each interval, or at each knot [-].

    Attributes:
        rows: Of accelerations and torques (n, rows), see `PathRows`.
        velocity: Of the joint velocity that is nearest to its limit (n,).
        jerk: Of jerks that have a limit (n, joints).
    """

    rows: Reals
    velocity: Reals
    jerk: Reals

    @property
    def largest(self) -> float:
        """Largest part of all."""
        return float(max(each.max(initial=0.0) for each in (self.rows, self.velocity, self.jerk)))

    def times(self, other: UsedParts) -> UsedParts:
        """These parts times those of another that exceed 1."""
        pairs = ((name, getattr(self, name), getattr(other, name)) for name in ("rows", "velocity", "jerk"))
        return UsedParts(**{name: mine * np.maximum(1.0, theirs) for name, mine, theirs in pairs})

    def at_knots(self) -> UsedParts:
        """The larger parts of the two intervals at each knot."""
        return UsedParts(**{name: _larger(getattr(self, name)) for name in ("rows", "velocity", "jerk")})


def _larger(values: Reals) -> Reals:
    return np.maximum(np.concatenate([values[:1], values]), np.concatenate([values, values[-1:]]))


class LimitsBetween:
    """Limits at points within the intervals of a path.

    Args:
        robot: The robot.
        path: The path.
        limits: The limits.
        rest: 3 with a limit of the jerk, else 2, see `JointPath`.
        N: Number of intervals.
    """

    def __init__(self, robot: Robot, path: JointPath, limits: JointLimits, rest: int, N: int) -> None:
        self._d, self._N = np.tile(np.linspace(0.0, 1.0 / N, POINTS + 1), (N, 1)), N
        for each in path.waypoint_times(rest):  # where the third derivative of the path jumps
            k = min(int(each * N), N - 1)
            self._d[k, min(round((each - k / N) * N * POINTS), POINTS)] = each - k / N
        tau = np.minimum(np.arange(N)[:, None] / N + self._d, 1.0).ravel()
        q, q1, q2, _ = path.derivatives(tau, rest)
        self._rows = PathRows.of(robot, limits, q, q1, q2)
        self._steepest = (np.abs(q1) / limits.velocity).max(axis=1)
        self._jerk = [jerk_rows(path, limits, tau, side) for side in (1, -1)] if rest == 3 else []

    def used(self, squares: Reals, slopes: Reals, bends: Reals) -> UsedParts:
        """Largest parts in each interval.

        Args:
            squares: b at the ends of intervals (N + 1,) [1/s²].
            slopes: b' at the start of each interval (N,) [1/s²].
            bends: b'' in each interval (N,) [1/s²].
        """
        parts = self._at_points(squares, slopes, bends)
        shaped = {name: each.reshape(self._N, POINTS + 1, *each.shape[1:]) for name, each in parts.items()}
        return UsedParts(**{name: values.max(axis=1) for name, values in shaped.items()})

    def slowing(self, squares: Reals, slopes: Reals, bends: Reals) -> float:
        """Least factor >= 1 of all times with which the motion keeps its limits; arguments as in `used` [-].

        A motion that is k times slower has velocities, accelerations and jerks that are k, k² and k³ times smaller, and
        torques whose difference from those at rest is k² times smaller.
        """
        parts = self._at_points(squares, slopes, bends)
        rest = 0.5 * np.abs(self._rows.upper + self._rows.lower)  # held at rest, < 1
        beyond = np.maximum(parts["rows"] - rest, 1.0 - rest) / (1.0 - rest)
        return float(
            max(
                np.sqrt(beyond.max(initial=1.0)),
                parts["velocity"].max(initial=1.0),
                np.cbrt(parts["jerk"].max(initial=1.0)),
            )
        )

    def _at_points(self, squares: Reals, slopes: Reals, bends: Reals) -> dict[str, Reals]:
        """Parts of each limit at the points of all intervals, by its field of `UsedParts`."""
        d = self._d
        b = (squares[:-1, None] + d * (slopes[:, None] + 0.5 * d * bends[:, None])).ravel()
        slope = (slopes[:, None] + d * bends[:, None]).ravel()
        bend, pace = np.repeat(bends, POINTS + 1), np.sqrt(np.maximum(b, 0.0))
        held = 0.5 * (self._rows.upper + self._rows.lower)
        rows = np.abs(self._rows.A[:, :, 0] * b[:, None] + self._rows.A[:, :, 1] * slope[:, None] - held)
        motion = np.stack([b, slope, bend], axis=-1)
        jerks = [np.abs(np.einsum("nji,ni->nj", J, motion)) * pace[:, None] for J in self._jerk]
        jerk = np.maximum(*jerks) if jerks else np.zeros((len(b), 0))
        return {"rows": rows, "velocity": self._steepest * pace, "jerk": jerk}
