"""Valid arguments of planning, and objects to call methods on."""

from __future__ import annotations

import functools
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

import trajopt
from tests.fuzz.worlds import World
from trajopt.planning import Plan, PlanStatus, plan

START, GOAL = np.array([-0.9, 0.3]), np.array([0.9, -0.3])


@functools.cache
def _robot() -> trajopt.Robot:
    links = [trajopt.Capsule(0.05, start=[0.0, 0.0, 0.0], end=[0.5, 0.0, 0.0], frame=f"link_{i}") for i in (1, 2)]
    return trajopt.load_robot("planar-2r").with_collision_shapes(links)


@functools.cache
def _scene() -> trajopt.Scene:
    return trajopt.Scene({"ball": trajopt.Sphere(0.1, center=[0.9, 0.0, 0.0])})


@functools.cache
def _plan() -> Plan:
    return plan(_robot(), START, GOAL, _scene(), acceleration=3.0, paths=1)


FIXED_PLANNED: dict[str, Callable[[World, Random], Any]] = {
    "Plan": lambda w, rng: _plan(),
    "PlanStatus": lambda w, rng: rng.choice(list(PlanStatus)),
}

PLANNED: dict[str, Callable[[World, Random], Any]] = {
    "plan.robot": lambda w, rng: _robot(),
    "plan.start": lambda w, rng: START,
    "plan.goal": lambda w, rng: GOAL,
    "plan.scene": lambda w, rng: rng.choice([None, _scene()]),
    "plan.frame": lambda w, rng: None,
    "plan.margin": lambda w, rng: rng.choice([0.0, 0.02]),
    "plan.paths": lambda w, rng: rng.choice([1, 2]),
    "plan.time_limit": lambda w, rng: 5.0,
    "plan.velocity": lambda w, rng: rng.choice([None, 2.0]),
    "plan.acceleration": lambda w, rng: 3.0,
    "plan.torque": lambda w, rng: None,
    "plan.jerk": lambda w, rng: rng.choice([None, 100.0]),
    "Plan.plot.path": lambda w, rng: None,
    "Plan.plot.frame": lambda w, rng: rng.choice([None, "tool"]),
    "Plan.optimise.dt": lambda w, rng: rng.choice([0.05, 0.1]),
    "Plan.solution.dt": lambda w, rng: rng.choice([None, 0.05]),
}
