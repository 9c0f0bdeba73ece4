"""Inverse dynamics of a humanoid on two feet: time over the number of frames, without cones and with them."""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np
import pinocchio as pin

import trajopt
from tests.benchmarks.table import table
from trajopt.inverse_dynamics import ContactFrame, Motion, multiple_contact_inverse_dynamics_over_time

ROBOT, FEET, BAR = "talos", ("left_sole_link", "right_sole_link"), 1.0  # [s]
FRAMES, ROUNDS = (1000, 4000), 5
TITLE = f"""Inverse dynamics of {ROBOT} with two feet over time, differences of positions included [s], medians
of {ROUNDS}. Required: {BAR:g} s for {FRAMES[0]} frames without cones, and time that grows linearly with the frames."""


def measure() -> dict[str, Any]:
    """Seconds for each number of frames, without and with cones."""
    robot = trajopt.load_robot(ROBOT)
    found: dict[str, Any] = {"joints": int(robot.model.njoints) - 2}
    cone = trajopt.WrenchCone(0.7, (0.2, 0.1))
    for name, contacts in (("free", list(FEET)), ("cones", [ContactFrame(foot, cone=cone) for foot in FEET])):
        found[name] = {count: _seconds(robot, contacts, count) for count in FRAMES}
    return found


def _seconds(robot: trajopt.Robot, contacts: list[Any], count: int) -> float:
    positions, seconds = _swaying(robot, count), []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        motion = Motion.of(robot, positions, 0.01)
        result = multiple_contact_inverse_dynamics_over_time(motion, contacts)
        seconds.append(time.perf_counter() - start)
        assert result.optimal
    return statistics.median(seconds)


def _swaying(robot: trajopt.Robot, count: int) -> np.ndarray:
    """Configurations around standing, all joints moving slowly."""
    rng = np.random.default_rng(0)
    size, phase = 0.05 * rng.standard_normal((2, robot.nv))
    q0 = robot.configuration("half_sitting")
    times = 0.01 * np.arange(count)
    return np.array([pin.integrate(robot.model, q0, size * np.sin(t + phase)) for t in times])


def report(figures: dict[str, Any]) -> str:
    """The table, with the ratio of times."""
    rows = []
    for name in ("free", "cones"):
        few, many = (figures[name][count] for count in FRAMES)
        bar = "" if name == "cones" else ("yes" if few < BAR and many / few < 1.3 * FRAMES[1] / FRAMES[0] else "NO")
        rows.append([name, f"{few:.3f}", f"{many:.3f}", f"{many / few:.2f}", bar])
    heads = ["contacts", *(f"{count} frames" for count in FRAMES), "ratio", "bars"]
    return table(TITLE, heads, rows)
