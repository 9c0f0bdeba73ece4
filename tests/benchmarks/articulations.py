"""States through bodies' poses and twists and back again."""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np
import pinocchio as pin

import trajopt
from tests.benchmarks.table import table
from trajopt.articulations import generalized_to_maximal, maximal_to_generalized

STATES, ROUNDS, BAR, EXACT = 100_000, 5, 2.0, 1e-12  # [s]
ROBOTS = ("ur5", "small-quadruped")
TITLE = f"""{STATES} random states to poses and twists of the bodies and back [s], one thread, medians of {ROUNDS}.
Required: {BAR:g} s, and errors below {EXACT:g}."""


def measure() -> dict[str, Any]:
    """Seconds and the largest error of each robot."""
    return {name: _measured(trajopt.load_robot(name)) for name in ROBOTS}


def _measured(robot: trajopt.Robot) -> dict[str, float]:
    rng = np.random.default_rng(0)
    few = [pin.integrate(robot.model, pin.neutral(robot.model), rng.uniform(-2, 2, robot.nv)) for _ in range(1000)]
    q, v = np.tile(few, (STATES // 1000, 1)), rng.standard_normal((STATES, robot.nv))
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        poses, twists = generalized_to_maximal(robot, q, v)
        there, back, residual = maximal_to_generalized(robot, poses, twists)
        seconds.append(time.perf_counter() - start)
    apart = max(np.abs(pin.difference(robot.model, a, b)).max() for a, b in zip(q[:1000], there[:1000]))
    error = max(float(apart), float(np.abs(back - v).max()), residual.largest())
    return {"joints": robot.model.njoints - 1, "seconds": statistics.median(seconds), "error": error}


def report(figures: dict[str, Any]) -> str:
    """The table."""
    rows = []
    for name, found in figures.items():
        kept = "yes" if found["seconds"] < BAR and found["error"] < EXACT else "NO"
        rows.append([name, str(found["joints"]), f"{found['seconds']:.2f}", f"{found['error']:.1e}", kept])
    return table(TITLE, ["robot", "joints", "seconds", "error", "bars"], rows)
