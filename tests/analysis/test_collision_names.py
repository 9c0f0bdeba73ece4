"""Rows of collisions have the names of the bodies that they measure, in reports, pictures, files and results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trajopt
from tests.support.collision_arm import collision_arm
from tests.support.unsolved import solution_of
from trajopt import ik
from trajopt.analysis import constraint_rows
from trajopt.analysis.constraints import named_rows
from trajopt.plotting import plot_constraints
from trajopt.solution import Solution
from trajopt.types import Reals

BALL = trajopt.Sphere(0.1, center=[0.4, 0.2, 0.5])
SCENE = trajopt.Scene({"ball": BALL, "crate": trajopt.Box([0.2, 0.4, 0.6], placement=[1, 0, 0.3, 0, 0, 0, 1])})


@pytest.fixture(scope="module")
def motion() -> Solution:
    """An arm that turns its joints beside a ball and a crate."""
    state = collision_arm()
    limits = trajopt.ConstraintStack.of_robot(state, collisions=SCENE, margin=0.02)
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(
        state, trajopt.ActuationModelFull(state), trajopt.CostStack(state), constraints=limits
    )
    problem = trajopt.ShootingProblem(
        state.zero(), [trajopt.IntegratedActionModelEuler(dynamics, 0.1)] * 4, trajopt.CostStack(state)
    )
    xs = np.zeros((5, state.nx))
    xs[:, :7] = np.linspace(0.0, 1.2, 5)[:, None] * np.array([1.0, -0.5, 0.7, 0.4, -0.8, 0.3, 0.2])
    return solution_of(problem, xs, np.zeros((4, 7)))


def distance_from_ball(motion: Solution, body: str, knot: int) -> float:
    """Distance of a body of the robot from the ball [m], without the code of rows."""
    robot = motion.robot
    assert robot is not None
    shapes = robot.collision_shapes
    own = shapes.bodies[shapes.names.index(body)]
    place = robot.placement(motion.xs[knot, : robot.nq], str(own.frame))
    ends = own.points @ place[:3, :3].T + place[:3, 3]
    parts = np.linspace(0.0, 1.0, 20001)[:, None]
    points: Reals = ends[:1] + parts * (ends[-1:] - ends[:1])
    return float(np.linalg.norm(points - BALL.center, axis=1).min() - own.radius - BALL.radius)


def test_named_rows_have_the_distances_of_their_bodies(motion: Solution) -> None:
    (original,) = (rows for rows in constraint_rows(motion) if rows.name == "collisions")
    (rows,) = (rows for rows in named_rows(motion) if rows.name == "collisions")
    assert len(set(rows.rows)) == len(rows.rows)
    checked = 0
    for i, name in enumerate(rows.rows):
        body, _, other = name.partition(" and ")
        for knot in np.flatnonzero(np.isfinite(rows.values[:, i])) if other == "ball" else ():
            assert rows.values[knot, i] == pytest.approx(distance_from_ball(motion, body, knot), abs=1e-6)
            checked += 1
    assert checked >= 5 * 4
    for before, after in ((original.values, rows.values), (original.lower, rows.lower)):
        for knot in range(4):
            there = np.isfinite(after[knot])
            assert there.sum() == original.values.shape[1]  # at each knot the same rows in another order
            np.testing.assert_array_equal(np.sort(after[knot][there]), np.sort(before[knot]))
    least = np.nanmin(rows.values, axis=0)
    assert np.all(np.diff(least) >= 0.0)  # the nearest first


def test_reports_pictures_and_files_name_bodies(motion: Solution, tmp_path: Path) -> None:
    (rows,) = (rows for rows in named_rows(motion) if rows.name == "collisions")
    room = np.where(rows.enforced, rows.values - rows.lower, np.inf)
    knot, nearest = np.unravel_index(int(room.argmin()), room.shape)
    closest = f"closest: {room.min():.3g} m from its bound ({rows.rows[nearest]}, knot {knot} "
    assert closest in motion.explain()
    axes = next(a for a in plot_constraints(motion).axes if a.get_title(loc="left").startswith("collisions"))
    assert axes.get_lines()[0].get_label() == rows.rows[0]
    loaded = Solution.load(motion.save(tmp_path / "motion.npz"))
    (again,) = (rows for rows in named_rows(loaded) if rows.name == "collisions")
    assert again.rows == rows.rows


def test_a_result_of_inverse_kinematics_names_the_nearest_bodies() -> None:
    state = collision_arm()
    hand = trajopt.ResidualModelFrameTranslation(state, "gripper_left_joint", [0.4, 0.3, 0.0])
    tasks = trajopt.ConstraintStack(state).add("hand", hand, lower=-1.0, upper=1.0)
    result = ik.solve(state.robot, tasks, start=np.zeros(7), starts=1, collisions=SCENE)
    rows = result.residuals["collisions"]
    nearest = int(rows.value.argmin())
    assert len(rows.bodies) == len(rows.value)
    assert f"between {rows.bodies[nearest]}, the nearest bodies" in str(result)


@pytest.mark.slow
def test_a_robot_with_limbs_has_a_strip_of_constraints(motion: Solution) -> None:
    robot = trajopt.load_robot("panda")
    state = trajopt.StateMultibody(robot)
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(
        state,
        trajopt.ActuationModelFull(state),
        trajopt.CostStack(state),
        constraints=trajopt.ConstraintStack.of_robot(state, collisions=SCENE),
    )
    x0 = state.at_rest(robot.configuration("default"))
    problem = trajopt.ShootingProblem(
        x0, [trajopt.IntegratedActionModelEuler(dynamics, 0.1)] * 2, trajopt.CostStack(state)
    )
    solution = solution_of(problem, np.tile(x0, (3, 1)), np.zeros((2, 9)))
    names = [
        [label.get_text() for label in axes.get_yticklabels()] for axes in trajopt.plotting.plot_solution(solution).axes
    ]
    assert any("collisions" in each for each in names)
