"""Problems whose controls have tight limits: those of peers/crocoddyl_problems.py and crocoddyl_legged.py."""

from __future__ import annotations

import numpy as np

import trajopt
from tests.support.gait_robots import ARGUMENTS
from tests.support.legged_problems import FEET
from trajopt import gaits
from trajopt.problems.arm_reach_crocoddyl import REACHES, reach_problem
from trajopt.shooting import ShootingProblem


def with_effort(name: str, factor: float) -> trajopt.Robot:
    """A robot with its largest torques scaled."""
    model = trajopt.load_robot(name).model.copy()
    model.effortLimit = factor * np.array(model.effortLimit)
    return trajopt.Robot(model)


def unicycle() -> ShootingProblem:
    """|v| <= 0.8 m/s, |ω| <= 1.2 rad/s."""
    model = trajopt.ActionModelUnicycle(lower=(-0.8, -1.2), upper=(0.8, 1.2))
    return ShootingProblem([-1.0, -1.0, 1.0], [model] * 40, model)


def arm() -> ShootingProblem:
    """Talos' arm with 0.4 of its torques."""
    weights = {"goal": 1.0, "regularization": 0.1, "end": 1e3}
    return reach_problem(with_effort("talos_arm", 0.4), REACHES["talos_arm"], T=100, dt=1e-2, **weights)


def walk() -> ShootingProblem:
    """ANYmal with half of its torques, steps of 0.25 m, 0.25 m high: Crocoddyl's quadrupedal_walk_ubound."""
    robot, options = with_effort("anymal", 0.5), gaits.GaitOptions.crocoddyl()
    stance = gaits.Stance.of(robot, FEET["anymal"])
    sizes = ARGUMENTS["quadruped_walk"] | {"step_length": 0.25, "step_height": 0.25}
    return gaits.GaitModels(robot, stance, options).problem(gaits.quadruped_walk(stance, **sizes))
