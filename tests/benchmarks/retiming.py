"""Retiming of a UR5 and a Panda along random paths of 5 and 60 waypoints, beside TOPP-RA if `toppra` is installed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin

import trajopt
from tests.benchmarks.table import table
from trajopt.retiming import RetimedPath, retime
from trajopt.types import Reals

PATHS, WAYPOINTS, INTERVALS = 20, (5, 60), (200, 800)  # paths, waypoints of each, intervals for these numbers [-]
ACCELERATION, JERK = 8.0, 500.0  # [rad/s²], [rad/s³]
ROBOTS = ("ur5", "panda")
CASES: dict[str, dict[str, float]] = {
    "velocity, acceleration": {"acceleration": ACCELERATION, "torque": np.inf},
    "velocity, torque": {},
    "velocity, torque, jerk": {"jerk": JERK},
}
TITLE = f"""Minimum time along {PATHS} random cubic splines through 5 or 60 waypoints, 200 or 800 intervals; limits of
velocities and torques from the robots' files, accelerations {ACCELERATION:g} rad/s², jerks {JERK:g} rad/s³. TOPP-RA
has the same limits and as many intervals (required: at most 1.01 of its duration). Durations and times are medians."""


def measure() -> dict[tuple[str, str], dict[str, float]]:
    """Figures by robot and limits."""
    return {
        (name, f"{count} waypoints, {case}"): _figures(name, count, intervals, limits)
        for name in ROBOTS
        for count, intervals in zip(WAYPOINTS, INTERVALS)
        for case, limits in CASES.items()
    }


def _figures(name: str, count: int, intervals: int, limits: dict[str, float]) -> dict[str, float]:
    robot, rng = _arm(name), np.random.default_rng(0)
    peer = None if "jerk" in limits else _toppra(intervals)
    found, ours, ratios, theirs = list[RetimedPath](), list[float](), list[float](), list[float]()
    for _ in range(PATHS):
        waypoints = _waypoints(robot, rng, count)
        start = time.perf_counter()
        found.append(retime(robot, waypoints, intervals=intervals, **limits))
        ours.append(time.perf_counter() - start)
        if peer is not None:
            duration, seconds = peer(robot, found[-1])
            ratios.append(found[-1].duration / duration)
            theirs.append(seconds)
    return {
        "converged": sum(each.converged for each in found),
        "iterations": max(each.iterations for each in found),
        "duration": float(np.median([each.duration for each in found])),
        "excess": max(max(each.usage().values()) for each in found) - 1.0,
        "seconds": float(np.median(ours)),
        "solver": float(np.median([each.seconds for each in found])),
        "ratio": max(ratios, default=np.nan),
        "toppra": float(np.median(theirs)) if theirs else np.nan,
    }


def _arm(name: str) -> trajopt.Robot:
    robot = trajopt.load_robot(name)
    return robot.lock_joints([joint for joint in robot.joint_names if "finger" in joint])


def _waypoints(robot: trajopt.Robot, rng: np.random.Generator, count: int) -> Reals:
    """Configurations within the middle of the limits."""
    lower, upper = (
        np.clip(each, -3.0, 3.0) for each in (robot.model.lowerPositionLimit, robot.model.upperPositionLimit)
    )
    return 0.5 * (lower + upper) + 0.35 * (upper - lower) * rng.uniform(-1.0, 1.0, (count, robot.nq))


def _toppra(intervals: int) -> Callable[[trajopt.Robot, RetimedPath], tuple[float, float]] | None:
    """Duration and time of TOPP-RA for the path and the limits of a motion; None if it is not installed."""
    try:
        import toppra
        from toppra import algorithm, constraint
    except ImportError:
        return None
    toppra.setup_logging("ERROR")
    between = constraint.DiscretizationType.Interpolation

    def run(robot: trajopt.Robot, motion: RetimedPath) -> tuple[float, float]:
        limits, path, data = motion.limits, motion.path, robot.model.createData()
        v, a, most = limits.velocity, limits.acceleration, limits.torque
        rows: list[Any] = [constraint.JointVelocityConstraint(np.stack([-v, v], axis=-1))]
        if np.isfinite(a).all():
            rows.append(constraint.JointAccelerationConstraint(np.stack([-a, a], axis=-1), between))
        if np.isfinite(most).all():
            torques = lambda q, v, a: np.array(pin.rnea(robot.model, data, q, v, a))  # noqa: E731
            bounds, none = np.stack([-most, most], axis=-1), np.zeros(robot.nv)
            rows.append(constraint.JointTorqueConstraint(torques, bounds, none, discretization_scheme=between))
        start = time.perf_counter()
        curve = toppra.SplineInterpolator(path.parameters, path.waypoints)
        grid = np.linspace(0.0, 1.0, intervals + 1)
        solver = algorithm.TOPPRA(rows, curve, gridpoints=grid, solver_wrapper="seidel")
        duration = float(solver.compute_trajectory(0.0, 0.0).duration)
        return duration, time.perf_counter() - start

    return run


def report(figures: dict[tuple[str, str], dict[str, float]]) -> str:
    """The table."""
    header = ["robot, limits", "solved", "iterations", "duration [s]", "largest excess"]
    header += ["time [s]", "solver [s]", "TOPP-RA [s]", "duration / TOPP-RA's", "bar"]
    rows = []
    for (robot, case), f in figures.items():
        alone = np.isnan(f["ratio"])
        cells = [f"{robot}: {case}", f"{f['converged']:g} of {PATHS}", f"{f['iterations']:g}", f"{f['duration']:.3f}"]
        cells += [f"{f['excess']:.1%}", f"{f['seconds']:.3f}", f"{f['solver']:.3f}"]
        cells += ["", "", ""] if alone else [f"{f['toppra']:.3f}", f"{f['ratio']:.4f}", _kept(f["ratio"])]
        rows.append(cells)
    return table(TITLE, header, rows)


def _kept(ratio: float) -> str:
    return "yes" if ratio <= 1.01 else "NO"
