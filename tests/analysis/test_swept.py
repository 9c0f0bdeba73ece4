"""Least distances along motions, also between knots, against many configurations in between."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.mpc.slider import controller
from tests.support.collision_arm import collision_arm
from tests.support.unsolved import solution_of
from trajopt import mpc
from trajopt.analysis import clearance
from trajopt.errors import InvalidArgumentError
from trajopt.robots.collisions.distances import body_distances
from trajopt.robots.collisions.samples import random_configurations

STATE = collision_arm()
ROBOT, SHAPES = STATE.robot, STATE.robot.collision_shapes
BALL = trajopt.Sphere(0.25, center=[0.3, 0.2, 0.3])
SCENE = trajopt.Scene({"ball": BALL, "box": trajopt.Box([0.1, 0.1, 0.1], placement=[0, 0, 3.0, 0, 0, 0, 1])})


def motion(seed: int, knots: int = 4, collisions: bool | trajopt.Scene = False) -> trajopt.Solution:
    """A motion through random configurations, which solves nothing."""
    states = np.array([STATE.at_rest(q) for q in random_configurations(ROBOT.model, knots, seed)])
    rows = trajopt.ConstraintStack.of_robot(STATE, collisions=collisions, positions=False, velocities=False)
    motors, costs = trajopt.ActuationModelFull(STATE), trajopt.CostStack(STATE)
    costs.add("torque", trajopt.ResidualModelControl(STATE), weight=1.0)
    model = trajopt.DifferentialActionModelFreeFwdDynamics(STATE, motors, costs, constraints=rows)
    steps = [trajopt.IntegratedActionModelEuler(model, dt=0.1)] * (knots - 1)
    problem = trajopt.ShootingProblem(states[0], steps, trajopt.ActionModelTerminal(trajopt.CostStack(STATE)))
    return solution_of(problem, states, np.zeros((knots - 1, 7)))


def sampled(solution: trajopt.Solution, ball: bool, at: np.ndarray | None = None, count: int = 2000) -> np.ndarray:
    """Least distance at `count` configurations of each step (T, count) [m]."""
    bodies, pairs = SHAPES.bodies, list(SHAPES.pairs)
    shares, found = np.linspace(0.0, 1.0, count), []
    for t, (a, b) in enumerate(zip(solution.xs, solution.xs[1:])):
        qs = np.array([pin.interpolate(ROBOT.model, a[:7], b[:7], s) for s in shares])
        gaps = body_distances(ROBOT.model, bodies, pairs, qs).min(axis=1)
        if ball:
            places = np.tile(BALL.center, (count, 1)) if at is None else at[t] + shares[:, None] * (at[t + 1] - at[t])
            for i in range(2, 8):
                moving = [(bodies[i], trajopt.Sphere(BALL.radius, center=c)) for c in places]
                one = [body_distances(ROBOT.model, each, [(0, 1)], q[None])[0, 0] for each, q in zip(moving, qs)]
                gaps = np.minimum(gaps, one)
        found.append(gaps)
    return np.array(found)


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_the_least_distance_between_knots_is_found(seed: int) -> None:
    solution = motion(seed)
    found, expected = clearance(solution), sampled(solution, ball=False)
    assert found.distance == pytest.approx(expected.min(), abs=3e-4)
    assert found.at_knots == pytest.approx(expected[:, [0, -1]].min(), abs=1e-9)
    assert found.distance <= found.at_knots
    step, share = np.unravel_index(expected.argmin(), expected.shape)
    near = expected[found.knot, round(found.share * 1999)]
    assert near == pytest.approx(expected[step, share], abs=3e-4)
    assert found.bodies.count("arm_left_") == 2
    for share, where in ((0.5, f"between knots {found.knot} and {found.knot + 1}"), (1.0, f"at knot {found.knot + 1}")):
        words = f"{found.distance:.4g} m {where}: {found.bodies}; "
        assert words in str(dataclasses.replace(found, share=share))


@pytest.mark.slow
def test_obstacles_of_the_problem_and_of_a_scene_are_measured() -> None:
    solution = motion(5, collisions=SCENE)
    expected = sampled(solution, ball=True, count=300).min()
    assert expected < sampled(solution, ball=False).min()
    assert clearance(solution).distance == pytest.approx(expected, abs=1e-3)
    assert clearance(motion(5), SCENE).distance == pytest.approx(expected, abs=1e-3)
    places = BALL.center + np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.1], [0.3, 0.0, 0.0], [0.0, 0.2, 0.0]])
    solution.problem.set_parameter("collisions.ball", places[:3])
    moved = solution_of(solution.problem, solution.xs, solution.us)
    at = places[[0, 1, 2, 2]]
    assert clearance(moved).distance == pytest.approx(sampled(moved, True, at, 300).min(), abs=1e-3)


def test_an_obstacle_that_flies_through_a_robot_at_rest_is_seen() -> None:
    problem = motion(5, collisions=SCENE).problem
    x = problem.x0
    hand, up = ROBOT.placement(x[:7], "arm_left_7_link")[:3, 3], np.array([0.0, 0.0, 4.0])
    problem.set_parameter("collisions.ball", hand + np.outer([-1.0, 1.0, 1.0], up))
    found = clearance(solution_of(problem, np.tile(x, (4, 1)), np.zeros((3, 7))))
    path = trajopt.Capsule(BALL.radius, start=hand - up, end=hand + up)
    moving = [(i, 6) for i in range(6)]
    expected = body_distances(ROBOT.model, (*SHAPES.bodies[2:], path), moving, x[None, :7]).min()
    assert found.distance == pytest.approx(expected, abs=1e-4)
    assert found.distance < -0.1 < found.at_knots
    assert "ball" in found.bodies
    assert (found.knot, found.share) == (0, pytest.approx(0.5, abs=0.2))


def test_a_closed_loop_is_measured_along_its_motion(tmp_path: Path) -> None:
    solution = motion(5, collisions=SCENE)
    log = dataclasses.replace(mpc.simulate(controller(), None, [0.0, 0.8], 0.3), motion=solution)
    assert clearance(log) == clearance(solution)
    assert clearance(log, SCENE) == clearance(solution, SCENE)
    with pytest.raises(InvalidArgumentError, match="path: expected a closed loop with its motion, got one without"):
        clearance(dataclasses.replace(log, motion=None))
    loaded = mpc.ClosedLoop.load(log.save(tmp_path / "loop.npz"))
    with pytest.raises(InvalidArgumentError, match="from a file, which keeps no collision shapes"):
        clearance(loaded)


def test_one_knot_and_what_has_no_robot() -> None:
    solution = motion(7, knots=1)
    found = clearance(solution)
    assert (found.knot, found.share, found.distance) == (0, 0.0, found.at_knots)
    unicycle = trajopt.problems.load("unicycle")
    with pytest.raises(InvalidArgumentError, match="path: expected the solution of a robot's problem"):
        clearance(unicycle.solve())
