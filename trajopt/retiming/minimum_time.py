"""Minimum-time retiming: the fastest motion along a path of configurations within limits."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from trajopt.checks import check_count, check_instance
from trajopt.errors import InvalidArgumentError
from trajopt.retiming.interior_point import fastest
from trajopt.retiming.joint_path import JointPath
from trajopt.retiming.limits import JointLimits
from trajopt.retiming.path_rows import PathRows
from trajopt.retiming.result import RetimedPath
from trajopt.retiming.squared_speed import SquaredSpeed
from trajopt.robots import Robot
from trajopt.solution import SolverStatus
from trajopt.states import StateMultibody
from trajopt.types import Reals

EXCESS = 2e-4  # part of a limit by which a motion may exceed it before the whole motion is slowed [-]
ROUNDS = 20  # most solves, each with rows where the last motion exceeded limits [-]
SLOWER = 1.1  # squared speed that keeps all limits, relative to that of the guess [-]
FIRST, MOST = 100, 1600  # fewest and most intervals where their number is not given [-]
GAIN = 4e-3  # part by which twice the intervals must shorten a motion, or their number is enough [-]
OUTSIDE = 1e-4  # distance of a waypoint beyond a joint limit that counts as none [rad, m]


def retime(
    robot: Robot,
    waypoints: npt.ArrayLike,
    *,
    velocity: npt.ArrayLike | None = None,
    acceleration: npt.ArrayLike | None = None,
    torque: npt.ArrayLike | None = None,
    jerk: npt.ArrayLike | None = None,
    intervals: int | None = None,
) -> RetimedPath:
    """Finds the fastest motion from rest to rest along a path, a cubic spline through waypoints.

    The squared speed (dτ/dt)² along the path is piecewise quadratic in the path's parameter τ, and limits hold at both
    ends and in the middle of each interval. Where the motion exceeds one between them, the limit holds at that point,
    too, and the problem is solved again. When no excess is more than 0.02 %, the whole motion becomes as slow as it
    needs. The number of intervals doubles until that shortens the motion by less than 0.4 %. Without a limit of the
    jerk the problem is convex, so that the result is the global optimum for its number of intervals. Torques are those
    of inverse dynamics, without friction.

    Args:
        robot: A robot on a fixed base, whose joints have one coordinate each.
        waypoints: Configurations (n, nq) within joint limits [rad, m].
        velocity: Largest velocity of each joint, (nv,) or one number [rad/s, m/s]; inf for none. By default that of the
            robot's file.
        acceleration: Largest acceleration [rad/s², m/s²]; none by default.
        torque: Largest torque or force of each motor [N m, N]; by default that of the robot's file.
        jerk: Largest jerk [rad/s³, m/s³]; none by default.
        intervals: Number of intervals of equal length in τ, >= 2 [-]; by default 100, 200, ... 1600 until twice the
            number shortens the motion by less than 0.4 %.

    Returns:
        The motion, with the reason why the solver stopped.

    Raises:
        InvalidArgumentError: An argument has a wrong type or size, a waypoint is beyond a joint limit, nothing bounds
            accelerations of the joints that move, or a motor can't hold the robot at rest.
    """
    check_instance("robot", robot, Robot, "load one by trajopt.load_robot(name)")
    if robot.nq != robot.nv or robot.floating_base:
        raise InvalidArgumentError(
            f"robot: expected a fixed base and joints with one coordinate each, got {robot!r}; lock the other joints "
            "with robot.lock_joints"
        )
    N = None if intervals is None else check_count("intervals", intervals, least=2)
    path = JointPath(waypoints)
    if path.waypoints.shape[1] != robot.nq:
        raise InvalidArgumentError(
            f"waypoints: expected configurations (n, {robot.nq}) of {robot.name}, got shape {path.waypoints.shape}"
        )
    _check_within_limits(robot, path.waypoints)
    limits = JointLimits.of(robot, velocity, acceleration, torque, jerk)
    return _refined(robot, path, limits) if N is None else _solved(robot, path, limits, N)


def _check_within_limits(robot: Robot, waypoints: Reals) -> None:
    """Raises an InvalidArgumentError for waypoints (n, nq) beyond joint limits; it names the farthest one."""
    state = StateMultibody(robot)
    lower, upper = state.lower[: robot.nv], state.upper[: robot.nv]
    beyond = np.maximum(lower - waypoints, waypoints - upper)
    if beyond.max() <= OUTSIDE:
        return
    row, i = np.unravel_index(int(beyond.argmax()), beyond.shape)
    q, turns = waypoints[row, i], state.tangent_units[i] == "rad"
    cure = "; this looks like degrees, convert with np.radians" if turns and abs(q) > 2.0 * np.pi else ""
    raise InvalidArgumentError(
        f"waypoints[{row}]: expected joints within limits, got {robot.joint_names[i]} = {q:.6g} beyond "
        f"[{lower[i]:.6g}, {upper[i]:.6g}]{cure}"
    )


def _refined(robot: Robot, path: JointPath, limits: JointLimits) -> RetimedPath:
    """The fastest motion, whose number of intervals doubles until that shortens it by little."""
    best, N = _solved(robot, path, limits, FIRST), FIRST
    iterations, seconds, gains = best.iterations, best.seconds, True
    while gains and N < MOST:
        N *= 2
        finer = _solved(robot, path, limits, N)
        iterations, seconds = iterations + finer.iterations, seconds + finer.seconds
        better = finer.converged and (finer.duration < best.duration or not best.converged)
        gains = not best.converged or (better and finer.duration < (1.0 - GAIN) * best.duration)
        best = finer if better else best
    return replace(best, iterations=iterations, seconds=seconds)


def _solved(robot: Robot, path: JointPath, limits: JointLimits, N: int) -> RetimedPath:
    """The fastest motion with N intervals, slowed by the part of limits that it exceeds at points without a row."""
    start = time.perf_counter()
    speed = SquaredSpeed(N, 3 if np.isfinite(limits.jerk).any() else 2)
    rows, x, iterations = PathRows(robot, path, limits, speed), np.ones(speed.size), 0
    used = rows.used(x)
    if not used.any():
        raise InvalidArgumentError(
            "acceleration, torque: expected a finite limit of a joint that moves along the path; pass acceleration=..."
        )
    for _ in range(ROUNDS):
        x, taken, status = fastest(speed, rows.held(), x / (SLOWER * used.max()))
        used, iterations = rows.used(x), iterations + taken
        if status is not SolverStatus.CONVERGED or used.max() <= 1.0 + EXCESS:
            break
        rows.hold(used)
    squares, slopes, bends = speed.motion(x / max(1.0, used.max()))
    return RetimedPath(
        robot=robot,
        path=path,
        limits=limits,
        rest=speed.rest,
        squares=squares,
        slopes=slopes,
        bends=bends,
        status=status,
        iterations=iterations,
        seconds=time.perf_counter() - start,
    )
