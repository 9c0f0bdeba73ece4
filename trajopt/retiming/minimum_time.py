"""Minimum-time retiming: the fastest motion along a path of configurations within limits."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trajopt.checks import check_count, check_instance
from trajopt.errors import InvalidArgumentError
from trajopt.retiming.joint_path import JointPath
from trajopt.retiming.limits import JointLimits, PathRows
from trajopt.retiming.models import LEAST, PathJerk, PathSpeed, end_of
from trajopt.retiming.result import RetimedPath
from trajopt.robots import Robot
from trajopt.shooting import ShootingProblem
from trajopt.solvers import SolverSQP, SQPOptions
from trajopt.types import Reals

START = 0.5  # squared speed of the guess, relative to the largest constant one


def retime(
    robot: Robot,
    waypoints: npt.ArrayLike,
    *,
    velocity: npt.ArrayLike | None = None,
    acceleration: npt.ArrayLike | None = None,
    torque: npt.ArrayLike | None = None,
    jerk: npt.ArrayLike | None = None,
    intervals: int = 200,
) -> RetimedPath:
    """Finds the fastest motion from rest to rest along a path, a cubic spline through waypoints.

    The squared speed (dτ/dt)² along the path is piecewise linear in the path's parameter τ, or quadratic with a limit
    of the jerk, and limits hold at both ends of each interval. Without a limit of the jerk the problem is convex, so
    that the result is the global optimum. Torques are those of inverse dynamics, without friction.

    Args:
        robot: A robot on a fixed base, whose joints have one coordinate each.
        waypoints: Configurations (n, nq) [rad, m].
        velocity: Largest velocity of each joint, (nv,) or one number [rad/s, m/s]; inf for none. By default that of the
            robot's file.
        acceleration: Largest acceleration [rad/s², m/s²]; none by default.
        torque: Largest torque or force of each motor [N m, N]; by default that of the robot's file.
        jerk: Largest jerk [rad/s³, m/s³]; none by default.
        intervals: Number of intervals of equal length in τ [-].

    Returns:
        The motion, with the reason why the solver stopped.

    Raises:
        InvalidArgumentError: An argument has a wrong type or size, nothing bounds accelerations, or a motor can't hold
            the robot at rest.
    """
    check_instance("robot", robot, Robot, "load one by trajopt.load_robot(name)")
    if robot.nq != robot.nv or robot.floating_base:
        raise InvalidArgumentError(
            f"robot: expected a fixed base and joints with one coordinate each, got {robot!r}; lock the other joints "
            "with robot.lock_joints"
        )
    N = check_count("intervals", intervals, least=2)
    path = JointPath(waypoints)
    if path.waypoints.shape[1] != robot.nq:
        raise InvalidArgumentError(
            f"waypoints: expected configurations (n, {robot.nq}) of {robot.name}, got shape {path.waypoints.shape}"
        )
    limits = JointLimits.of(robot, velocity, acceleration, torque, jerk)
    return _solved(robot, path, limits, N)


def _solved(robot: Robot, path: JointPath, limits: JointLimits, N: int) -> RetimedPath:
    with_jerk = bool(np.isfinite(limits.jerk).any())
    rest, tau = 3 if with_jerk else 2, np.linspace(0.0, 1.0, N + 1)
    q, q1, q2, q3 = path.derivatives(tau, rest)
    rows = PathRows.of(robot, limits, q, q1, q2)
    steepest = (np.abs(q1) / limits.velocity).max(axis=1)
    fastest = np.divide(1.0, steepest, out=np.full(N + 1, np.inf), where=steepest > 0.0) ** 2
    unit = min(rows.largest_constant(), float(fastest.min()), _by_jerk(q3, limits.jerk))
    unit *= START
    problem = _problem(path, limits, rows, fastest / unit, unit, rest)
    nx = problem.state.nx
    guess = np.tile(np.eye(nx)[0], (N + 1, 1)), np.zeros((N, 1))
    solution = SolverSQP(problem, SQPOptions(steps="linear")).solve(*guess)
    x, u = unit * solution.xs, unit * solution.us[:, 0]
    slopes, bends = (x[:-1, 1], u) if with_jerk else (u, np.zeros(N))
    return RetimedPath(
        robot=robot,
        path=path,
        limits=limits,
        rest=rest,
        squares=x[:, 0],
        slopes=slopes,
        bends=bends,
        status=solution.status,
        iterations=solution.iterations,
        seconds=solution.seconds,
    )


def _by_jerk(q3: Reals, jerk: Reals) -> float:
    """Largest constant squared speed that limits of the jerk allow."""
    steepest = float((np.abs(q3) / jerk).max())
    return steepest ** (-2.0 / 3.0) if steepest > 0.0 else np.inf


def _problem(
    path: JointPath, limits: JointLimits, rows: PathRows, fastest: Reals, unit: float, rest: int
) -> ShootingProblem:
    """The problem with squared speeds in a unit."""
    N = len(fastest) - 1
    A, lower, upper = rows.A * unit, rows.lower, rows.upper
    jerked = np.flatnonzero(np.isfinite(limits.jerk))
    if rest == 2:  # at both ends of an interval, with its slope
        after = np.stack([A[1:, :, 0], A[1:, :, 1] + A[1:, :, 0] / N], axis=-1)
        A = np.concatenate([A[:-1], after], axis=1)
        lower, upper = (np.concatenate([each[:-1], each[1:]], axis=1) for each in (lower, upper))
    count = A.shape[1]
    model = PathSpeed(1.0 / N, count) if rest == 2 else PathJerk(1.0 / N, count, len(jerked))
    start = np.array([LEAST, 0.0])[: rest - 1], np.array([np.inf, 0.0])[: rest - 1]
    problem = ShootingProblem(np.eye(model.state.nx)[0], [model] * N, end_of(model), start=start)
    for t in range(len(A)):
        for name, values in (("A", A), ("lower", lower), ("upper", upper)):
            problem.set_parameter(f"limits.{name}", values[t], knots=t)
    for t in range(N + 1):
        problem.set_parameter("speed.upper", [fastest[t]], knots=t)
    if rest == 3:
        most = limits.jerk[jerked][:, None] / unit**1.5
        for name, side, first in (("first", 1, 0), ("last", -1, 1)):
            _, q1, q2, q3 = path.derivatives(np.arange(first, N + first) / N, rest, side)
            J = np.stack([q3, 1.5 * q2, 0.5 * q1], axis=-1)[:, jerked]
            for t in range(N):
                problem.set_parameter(f"jerk.{name}", J[t] / most, knots=t)
    return problem
