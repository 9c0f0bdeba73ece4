"""Valid arguments of retiming, and objects to call methods on."""

from __future__ import annotations

import functools
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

import trajopt
from tests.fuzz.worlds import World
from trajopt.retiming import JointPath, RetimedPath, retime

WAYPOINTS = np.array([[0.0, 0.2], [0.6, -0.3], [0.4, 0.5]])


@functools.cache
def _robot() -> trajopt.Robot:
    return trajopt.load_robot("planar-2r")


@functools.cache
def _retimed() -> RetimedPath:
    return retime(_robot(), WAYPOINTS, acceleration=3.0, intervals=10)


def _limit(w: World, rng: Random) -> Any:
    return rng.choice([None, 20.0, [20.0, 30.0], np.inf])


FIXED_RETIMED: dict[str, Callable[[World, Random], Any]] = {
    "JointPath": lambda w, rng: JointPath(WAYPOINTS),
    "RetimedPath": lambda w, rng: _retimed(),
}

RETIMED: dict[str, Callable[[World, Random], Any]] = {
    "retime.robot": lambda w, rng: _robot(),
    "retime.waypoints": lambda w, rng: WAYPOINTS[: rng.choice([2, 3])],
    "retime.velocity": _limit,
    "retime.acceleration": lambda w, rng: rng.choice([3.0, [2.0, 5.0]]),
    "retime.torque": _limit,
    "retime.jerk": lambda w, rng: rng.choice([None, 100.0]),
    "retime.intervals": lambda w, rng: rng.choice([2, 10]),
    "JointPath.waypoints": lambda w, rng: WAYPOINTS,
    "JointPath.at.parameters": lambda w, rng: np.linspace(0.0, 1.0, 5),
    "JointPath.waypoint_times.rest": lambda w, rng: rng.choice([2, 3]),
    "JointPath.derivatives.tau": lambda w, rng: np.linspace(0.0, 1.0, 5),
    "JointPath.derivatives.rest": lambda w, rng: rng.choice([2, 3]),
    "JointPath.derivatives.side": lambda w, rng: rng.choice([-1, 0, 1]),
    "RetimedPath.at.times": lambda w, rng: rng.choice([0.1, [0.1, 0.2]]),
    "RetimedPath.torques.times": lambda w, rng: [0.1, 0.2],
    "RetimedPath.parts.times": lambda w, rng: [0.1, 0.2],
    "plot_retimed.result": lambda w, rng: _retimed(),
}
