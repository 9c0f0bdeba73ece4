"""Solutions see a robot with its parameters as in the solve."""

from __future__ import annotations

import numpy as np
import pytest

import trajopt
from trajopt.solvers import SolverSQP

NAME = "robot.joint_2.translation"
GOAL = [1.0, 0.0, 0.3]  # [m], out of reach of the robot in the file


def problem() -> trajopt.ShootingProblem:
    """An arm of two links reaches a point with its tool."""
    robot = trajopt.load_robot("planar-2r").with_parameters(["joint_2.translation", "tool.mass"])
    state = trajopt.StateMultibody(robot)
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), weight=1e-2)
    arm = trajopt.DifferentialActionModelFreeFwdDynamics(state, trajopt.ActuationModelFull(state), costs)
    tool = trajopt.ResidualModelFrameTranslation(state, "tool", GOAL)
    reach = trajopt.ConstraintStack(state).add("goal", tool, equals=0.0)
    end = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=reach)
    start = state.zero() + np.array([-0.5, 0.3, 0.0, 0.0])
    return trajopt.ShootingProblem(start, [trajopt.IntegratedActionModelEuler(arm, dt=0.05)] * 20, end)


@pytest.mark.parametrize("free", [False, True], ids=["set", "free"])
def test_a_longer_link_reaches_the_goal(free: bool) -> None:
    """Its tool was told, and drawn, away from the goal, with the link of the robot's file."""
    longer, about = [0.57, 0.0, 0.0], problem()
    if free:
        about.free(NAME, [0.57, 0.0, 0.0], [0.6, 0.0, 0.0], guess=longer)
    else:
        about.set_parameter(NAME, longer, knots="all")
    solution = SolverSQP(about).solve()
    assert solution.converged
    length = solution.unknowns[NAME] if free else longer
    changed = about.state.robot.with_values({NAME: length})
    tool = changed.placement(solution.xs[-1, :2], "tool")[:3, 3]
    np.testing.assert_allclose(tool, GOAL, atol=1e-6)
    np.testing.assert_allclose(solution.frame_path("tool")[-1], tool, atol=1e-12)
    assert "from its goal" not in solution.explain()
    about.set_parameter(NAME, [0.5, 0.0, 0.0], knots="all")  # a solution keeps the values of its solve
    np.testing.assert_allclose(solution.frame_path("tool")[-1], tool, atol=1e-12)


def test_values_that_differ_between_knots_are_those_of_the_robot() -> None:
    about = problem()
    about.set_parameter("robot.tool.mass", 0.5, knots=range(10))
    solution = SolverSQP(about).solve()
    assert solution.robot is about.state.robot
