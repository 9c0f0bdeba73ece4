"""States through bodies' poses and twists and back again."""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np
import pinocchio as pin

import trajopt
from tests.benchmarks.table import table
from trajopt.articulations import ArticulationBuilder, generalized_to_maximal, maximal_to_generalized

STATES, ROUNDS, BAR, EXACT = 100_000, 5, 2.0, 1e-12  # [s]
ROBOTS = ("ur5", "small-quadruped")
TITLE = f"""{STATES} random states to poses and twists of the bodies and back [s], one thread, medians of {ROUNDS}.
Required: {BAR:g} s, and errors below {EXACT:g}."""


def measure() -> dict[str, Any]:
    """Seconds and the largest error of each robot."""
    robots = [*map(trajopt.load_robot, ROBOTS), every_type()]
    return {robot.name: _measured(robot) for robot in robots}


def every_type() -> trajopt.Robot:
    """A robot in code with a joint of each type, one on another, anchored beside their links."""
    builder, turn = ArticulationBuilder(), pin.exp3(np.array([0.3, -0.5, 0.2]))
    kinds = ("free", "revolute", "prismatic", "ball", "fixed", "universal", "planar", "d6", "distance")
    for parent, kind in zip(("world", *kinds), kinds):
        builder.add_link(kind)
        builder.add_box(kind, (0.1, 0.2, 0.3), placement=(0.05, 0.0, 0.1))
        axes = {"linear": ["x", (0, 1, 1)], "angular": ["x", "y", "z"]} if kind == "d6" else {}
        anchors = {"X_p": pin.SE3(turn, np.array([0.1, 0.2, 0.3])), "X_c": pin.SE3(turn.T, np.array([0.0, 0.1, 0.0]))}
        getattr(builder, f"add_{kind}")(parent, kind, **anchors, **axes)
    return builder.build("every type")


def _measured(robot: trajopt.Robot) -> dict[str, float]:
    rng = np.random.default_rng(0)
    most = 1.4 if robot.name == "every type" else 2.0  # away from the gimbal lock of D6 joints, at π/2 [rad]
    model, neutral = robot.model, pin.neutral(robot.model)
    few = [pin.integrate(model, neutral, rng.uniform(-most, most, robot.nv)) for _ in range(1000)]
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
