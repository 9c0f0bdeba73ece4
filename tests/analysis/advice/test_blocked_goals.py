"""A goal inside of an obstacle is named with its distance."""

from __future__ import annotations

import numpy as np
import pytest

import trajopt
from trajopt import planar
from trajopt.analysis.advice.blocked_goals import blocked_goals
from trajopt.solvers import SolverSQP, SQPOptions

POSTS = np.array([[1.0, 0.2, 0.3], [2.0, -0.6, 0.35]])


def stopped(goal: list[float]) -> trajopt.Solution:
    """A robot of 0.25 m keeps 0.1 m from two posts before its goal; its solve stops after ten iterations."""
    state = planar.state_of_pose()
    rows = planar.limit_wheels(trajopt.ConstraintStack(state), 8.0)
    rows.add("posts", trajopt.ResidualModelObstacleDistance(state, POSTS, 0.25), lower=0.1)
    effort = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), weight=1e-2)
    robot = planar.DifferentialActionModelDiffDrive(effort, constraints=rows, radius=0.1, half_track=0.2)
    end = trajopt.ConstraintStack(state).add("goal", trajopt.ResidualModelState(state, goal), equals=0.0)
    knots = [trajopt.IntegratedActionModelRK4(robot, dt=0.1)] * 60
    problem = trajopt.ShootingProblem(
        np.zeros(3), knots, trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=end)
    )
    return SolverSQP(problem, SQPOptions(max_iterations=10)).solve()


def test_a_goal_in_a_post_is_to_be_moved() -> None:
    """Its centre is 0.1 m from that of a post of 0.35 m: 0.5 m too near for the body, and 0.1 m more for the bound."""
    solution = stopped([2.0, -0.5, 0.0])
    advice = [line for line in solution.explain().splitlines() if line.startswith("->")]
    (line,) = advice
    assert line.startswith(
        "-> move 'goal', where 'posts[circle 1]' is 0.6 m beyond its bound, which holds until knot 59"
    )


@pytest.mark.parametrize("goal", [[3.0, 0.0, 0.0], [2.0, 0.07, 0.0]])
def test_a_goal_that_is_free_or_within_a_step_of_it_is_none(goal: list[float]) -> None:
    assert blocked_goals(stopped(goal)) == []
