"""Advice on solves whose motion leads through an obstacle."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import trajopt
from tests.support.posts import GOAL, POSTS, drive
from trajopt.analysis.advice.in_the_way import in_the_way
from trajopt.analysis.constraints import named_rows
from trajopt.solution import Solution
from trajopt.solvers import SolverSQP, SQPOptions


def advice(solution: Solution) -> list[str]:
    return [line.removeprefix("-> ") for line in solution.explain().splitlines() if line.startswith("-> ")]


def test_a_motion_through_posts_is_to_begin_with_a_way_around() -> None:
    """The field is feasible: neither posts and goal exclude each other, nor are the wheels to blame."""
    problem = drive()
    solution = SolverSQP(problem).solve(np.tile(problem.x0, (problem.T + 1, 1)))
    assert not solution.converged
    first, *others = advice(solution)
    assert first.startswith("the motion leads through 'posts[circle 0]' at knots 1")
    assert "planar.around(start, goal, circles, problem.times, margin=...)" in first
    assert first.endswith("or with solver.solve(starts=8)")
    assert any(each.startswith("if no way leads around: relax 'posts[circle 0]'") for each in others)
    false = ("may exclude each other", "may be infeasible", "begin with wider ones")
    assert not any(words in each for words in false for each in (first, *others))


@pytest.mark.slow
def test_several_guesses_have_a_way_around_among_them() -> None:
    """Their trajectory leads through posts, as the time is too short for the way: this is to be said."""
    problem = drive()
    for side, most in (("lower", -6.0), ("upper", 6.0)):
        problem.set_parameter(f"wheels.{side}", np.full(2, most))
    solution = SolverSQP(problem).solve(starts=4)
    assert not solution.converged
    words = advice(solution)
    assert not any("leads through" in each or each.endswith(": ") for each in words)
    assert any("give the motion more time" in each for each in words)


def test_a_goal_inside_of_a_post_has_no_way_around() -> None:
    solution = SolverSQP(drive(np.array([[*GOAL[:2], 0.4]]))).solve()
    assert not solution.converged
    assert in_the_way(solution, named_rows(solution)) == []


def test_small_violations_are_no_ways_through_a_post() -> None:
    solution = SolverSQP(drive(POSTS[:1])).solve()
    rows = named_rows(solution)
    assert solution.converged
    assert in_the_way(solution, rows) == []
    (posts,) = [each for each in rows if each.name == "posts"]
    nearer = dataclasses.replace(posts, values=posts.values - 1e-4)  # by 0.1 mm
    assert in_the_way(solution, [nearer]) == []
    through = dataclasses.replace(posts, values=posts.values - 0.1)
    assert in_the_way(solution, [through])[0].startswith("the motion leads through 'posts' at knots ")


@pytest.mark.slow
def test_an_arm_through_a_ball_is_to_begin_with_a_plan() -> None:
    robot = trajopt.load_robot("ur5")
    state = trajopt.StateMultibody(robot)
    motors = trajopt.ActuationModelFull(state)
    start, goal = np.array([[-0.9, -0.9, 1.5, -2.2, -1.57, 0.0], [0.9, -0.9, 1.5, -2.2, -1.57, 0.0]])
    scene = trajopt.Scene({"post": trajopt.Capsule(0.08, start=[0.55, -0.1, 0.0], end=[0.55, -0.1, 1.2])})
    limits = trajopt.ConstraintStack.of_robot(state, motors, collisions=scene)
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), 1e-4)
    arm = trajopt.DifferentialActionModelFreeFwdDynamics(state, motors, costs, constraints=limits)
    problem = trajopt.ShootingProblem(
        np.r_[start, np.zeros(6)], [trajopt.IntegratedActionModelEuler(arm, dt=0.05)] * 20, trajopt.CostStack(state)
    )
    xs = np.linspace(np.r_[start, np.zeros(6)], np.r_[goal, np.zeros(6)], 21)
    solution = SolverSQP(problem, SQPOptions(max_iterations=1)).solve(xs)
    solution = dataclasses.replace(solution, xs=xs)
    first = in_the_way(solution, named_rows(solution))[0]
    assert first.startswith("the trajectory leads through 'collisions[")
    assert " and post]' at knots " in first
    assert "trajopt.plan for an arm" in first
