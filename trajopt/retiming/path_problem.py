"""The shooting problem of a path with limits, whose bounds can be tightened interval by interval."""

from __future__ import annotations

import numpy as np

from trajopt.retiming.joint_path import JointPath
from trajopt.retiming.limits import JointLimits, PathRows, jerk_rows
from trajopt.retiming.models import LEAST, PathJerk, PathSpeed, end_of
from trajopt.retiming.used_parts import UsedParts
from trajopt.robots import Robot
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.types import Reals

START = 0.5  # squared speed of the guess, relative to the largest constant one
PLACES = (0.0, 0.5, 1.0)  # where limits hold in an interval without a limit of the jerk, of its length [-]


class PathProblem:
    """Minimum time along a path, with squared speeds in a unit, and margins by which its limits are divided.

    Args:
        robot: The robot.
        path: The path.
        limits: The limits.
        rest: 3 with a limit of the jerk, else 2, see `JointPath`.
        N: Number of intervals.

    Attributes:
        problem: The problem.
    """

    def __init__(self, robot: Robot, path: JointPath, limits: JointLimits, rest: int, N: int) -> None:
        q, q1, q2, q3 = path.derivatives(np.linspace(0.0, 1.0, (2 * N if rest == 2 else N) + 1), rest)
        self._rows, self._N, self._rest = PathRows.of(robot, limits, q, q1, q2), N, rest
        steepest = (np.abs(q1) / limits.velocity).max(axis=1)
        self._fastest = np.divide(1.0, steepest, out=np.full(len(q), np.inf), where=steepest > 0.0) ** 2
        constant = self._rows.largest_constant(), float(self._fastest.min()), _by_jerk(q3, limits.jerk)
        self._unit = START * min(constant)
        self._jerks = list[Reals]()
        if rest == 3:
            starts = np.arange(N) / N
            ends = ((starts, 1), (starts + 1.0 / N, -1))
            self._jerks = [jerk_rows(path, limits, *end) * self._unit**1.5 for end in ends]
        rows, joints = self._rows.A.shape[1], int(np.isfinite(limits.jerk).sum())
        self._margins = UsedParts(rows=np.ones((N, rows)), velocity=np.ones(N), jerk=np.ones((N, joints)))
        model = PathSpeed(1.0 / N, len(PLACES) * rows) if rest == 2 else PathJerk(1.0 / N, rows, joints)
        start = np.array([LEAST, 0.0])[: rest - 1], np.array([np.inf, 0.0])[: rest - 1]
        self.problem = ShootingProblem(np.eye(model.state.nx)[0], [model] * N, end_of(model), start=start)
        self._set_limits()

    def guess(self) -> tuple[Reals, Reals]:
        """States and controls of a constant speed."""
        return np.tile(np.eye(self.problem.state.nx)[0], (self._N + 1, 1)), np.zeros((self._N, 4 - self._rest))

    def speeds(self, solution: Solution) -> tuple[Reals, Reals, Reals]:
        """Squared speeds at the ends of intervals (N + 1,), slopes and bends in the intervals (N,) each [1/s²]."""
        x, u = self._unit * solution.xs, self._unit * solution.us
        if self._rest == 3:
            return x[:, 0], x[:-1, 1], u[:, 0]
        return x[:, 0], u[:, 0], self._N * (u[:, 1] - u[:, 0])

    def tighten(self, used: UsedParts) -> None:
        """Divides the limits of each interval by the parts of them that a motion uses, where they exceed 1."""
        self._margins = self._margins.times(used)
        self._set_limits()

    def _set_limits(self) -> None:
        """Sets bounds divided by the margins: those of an interval, or the larger ones at a knot."""
        N, at_knots, rows = self._N, self._margins.at_knots(), self._rows
        A, held, margins = rows.A * self._unit, 0.5 * (rows.upper + rows.lower), at_knots.rows
        fastest = self._fastest / self._unit
        if self._rest == 2:
            A, held, margins = self._in_intervals(A), _by_interval(held), np.tile(self._margins.rows, len(PLACES))
            middle = fastest[1::2] / self._margins.velocity**2
            self.problem.set_parameter("middle.upper", middle[:, None], knots=range(N))
            fastest = fastest[::2]
        for name, values in (("A", A), ("lower", held - 1.0 / margins), ("upper", held + 1.0 / margins)):
            self.problem.set_parameter(f"limits.{name}", values, knots=range(len(A)))
        fastest = fastest / at_knots.velocity**2
        self.problem.set_parameter("speed.upper", fastest[:, None], knots=range(N + 1))
        for name, rows_of_jerk in zip(("first", "last"), self._jerks):
            values = rows_of_jerk * self._margins.jerk[:, :, None]
            self.problem.set_parameter(f"jerk.{name}", values, knots=range(N))

    def _in_intervals(self, A: Reals) -> Reals:
        """Rows (N, 3 rows, 3) of (b, u₀, u₁), see `PathSpeed`, from rows (2 N + 1, rows, 2) of b and its slope."""
        d, step = np.repeat(PLACES, A.shape[1]), 1.0 / self._N
        square, slope = _by_interval(A[:, :, 0]), _by_interval(A[:, :, 1])
        first = square * step * d * (1.0 - 0.5 * d) + slope * (1.0 - d)
        last = square * step * 0.5 * d**2 + slope * d
        return np.stack([square, first, last], axis=-1)


def _by_interval(values: Reals) -> Reals:
    """Values (2 N + 1, n) at the ends and in the middle of intervals, those of an interval in a row (N, 3 n)."""
    return np.concatenate([values[:-1:2], values[1::2], values[2::2]], axis=1)


def _by_jerk(q3: Reals, jerk: Reals) -> float:
    """Largest constant squared speed that limits of the jerk allow."""
    steepest = float((np.abs(q3) / jerk).max())
    return steepest ** (-2.0 / 3.0) if steepest > 0.0 else np.inf
