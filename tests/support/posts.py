"""A robot with two driven wheels and five round posts between it and its goal: the straight line is a bad guess."""

from __future__ import annotations

import numpy as np

import trajopt
from trajopt import planar
from trajopt.types import Reals

POSTS = np.array([[1.2, 0.15, 0.35], [2.2, -0.7, 0.4], [2.6, 0.75, 0.35], [3.9, 0.05, 0.4], [5.0, -0.6, 0.3]])  # [m]
BODY, MARGIN = 0.25, 0.12  # [m]
GOAL = np.array([6.0, 0.0, 0.0])  # [m, m, rad]


def drive(posts: Reals = POSTS, T: int = 100) -> trajopt.ShootingProblem:
    """minimise Σ dt ½ 0.01 |u|² to the goal, with wheel rates of at most 8 rad/s and the margin from all posts."""
    state = planar.state_of_pose()
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), weight=1e-2)
    rows = planar.limit_wheels(trajopt.ConstraintStack(state), 8.0)
    rows.add("posts", trajopt.ResidualModelObstacleDistance(state, posts, BODY), lower=MARGIN)
    model = planar.DifferentialActionModelDiffDrive(costs, radius=0.1, half_track=0.2, constraints=rows)
    there = trajopt.ConstraintStack(state).add("goal", trajopt.ResidualModelState(state, GOAL), equals=0.0)
    end = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=there)
    return trajopt.ShootingProblem(np.zeros(3), [trajopt.IntegratedActionModelRK4(model, dt=10.0 / T)] * T, end)
