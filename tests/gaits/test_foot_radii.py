"""Radii of round feet, which the page on gaits lists, are those of the robots' collision geometry."""

from __future__ import annotations

from pathlib import Path

import coal
import numpy as np
import pinocchio as pin
import pytest

import trajopt
from trajopt import gaits
from trajopt.gaits.terrain_bodies import shanks_and_base
from trajopt.robots import configuration_on_ground
from trajopt.robots.collisions.foot_balls import foot_ball
from trajopt.robots.geometry import load_geometry
from trajopt.robots.legged import LEGGED_ROBOTS
from trajopt.solvers import SolverSQP

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "quadruped-trot.md"


@pytest.mark.parametrize(
    ("name", "radius", "above"),
    [("a1", 20, 20), ("go1", 20, 20), ("b1", 40, 40), ("hyq", 21.7, 21.7), ("anymal", 31, 7.8), ("anymal_c", 30, 7.5)],
)
def test_radii_of_feet(name: str, radius: float, above: float) -> None:
    """The frame is `above` [mm] the ground, below the middle of the lowest sphere of the foot."""
    robot = trajopt.load_robot(name)
    assert robot.source is not None
    shapes = load_geometry(robot.source, robot.model, "collision").geometryObjects
    for foot in LEGGED_ROBOTS[name].feet:
        frame = robot.model.frames[robot.frame_id(foot)]
        spheres = [s for s in shapes if s.parentJoint == frame.parentJoint and isinstance(s.geometry, coal.Sphere)]
        lowest = min(spheres, key=lambda sphere: float(sphere.placement.translation[2]))
        offset = np.linalg.norm(frame.placement.translation - lowest.placement.translation)
        assert 1e3 * lowest.geometry.radius == pytest.approx(radius, abs=0.1)
        assert 1e3 * (lowest.geometry.radius - offset) == pytest.approx(above, abs=0.1)
    assert f"{radius:g} mm" in PAGE.read_text()
    assert f"{above:g} mm" in PAGE.read_text()


@pytest.mark.parametrize(("name", "above"), [("anymal", 0.0232), ("anymal_c", 0.0225), ("b1", None), ("go2", None)])
def test_balls_whose_centre_is_not_the_frame(name: str, above: float | None) -> None:
    robot = trajopt.load_robot(name)
    for foot in LEGGED_ROBOTS[name].feet:
        ball = foot_ball(robot, foot)
        assert (ball is None) == (above is None)
        if ball is not None:
            np.testing.assert_allclose(ball.center, [0.0, 0.0, above], atol=1e-4)


def test_a_robot_in_code_has_no_balls() -> None:
    assert foot_ball(trajopt.load_robot("small-quadruped"), "lf_foot") is None


@pytest.mark.slow
def test_anymal_c_has_capsules_around_its_legs_and_base_on_terrain() -> None:
    """Its links and joints share names, so that link LF_HFE, a part of the hip, was no one frame."""
    robot, feet = trajopt.load_robot("anymal_c"), LEGGED_ROBOTS["anymal_c"].feet
    q = configuration_on_ground(robot, feet, "standing")
    bodies = shanks_and_base(robot, dict.fromkeys(feet, 0.0075), 0.01)
    assert {str(body.frame) for body in bodies} == {*feet, "base", *(f"{foot[:2]}_shank_fixed" for foot in feet)}
    for shin in [body for body in bodies if body.frame in feet]:  # a cylinder of 17.5 mm from the knee to the ball
        heights = [(robot.placement(q, str(shin.frame)) @ [*point, 1.0])[2] for point in shin.points]
        assert 0.0175 < shin.radius < 0.023
        assert min(heights) < 0.1 < 0.25 < max(heights)
    assert robot.model.frames[robot.frame_id("LF_HFE")].type == pin.FrameType.BODY


def test_shanks_above_soles_are_above_the_ankles() -> None:
    """What the joint above a sole moves is the foot, which is in the ground by any margin."""
    robot, soles = trajopt.load_robot("talos_legs"), ("right_sole_link", "left_sole_link")
    q = robot.configuration("half_sitting")
    bodies = shanks_and_base(robot, dict.fromkeys(soles, 0.0), 0.01, soles)
    assert {body.frame for body in bodies if "leg" in str(body.frame)} == {"leg_right_4_link", "leg_left_4_link"}
    for body in bodies:
        heights = [(robot.placement(q, str(body.frame)) @ [*point, 1.0])[2] for point in body.points]
        assert min(heights) - body.radius > 0.01


@pytest.mark.slow
def test_a_biped_climbs_a_step_within_all_limits() -> None:
    robot, soles = trajopt.load_robot("talos_legs"), ("right_sole_link", "left_sole_link")
    stance = gaits.Stance.of(robot, soles, soles=True)
    step = gaits.Terrain.stairs(1, rise=0.06, depth=0.28, start=0.2)
    climb = gaits.biped_walk(stance, step_length=0.4, step_height=0.06, first_step="full").on(step)
    problem = gaits.gait_problem(robot, climb, options=gaits.GaitOptions(sole=(0.2, 0.1)), limits=True)
    solution = SolverSQP(problem).solve(*gaits.gait_guess(problem, climb))
    assert solution.status.name == "CONVERGED"
    assert max(violated.max() for violated in solution.violations().values()) < 1e-6
    ends = [robot.placement(solution.xs[-1, : robot.nq], sole)[2, 3] for sole in soles]
    np.testing.assert_allclose(ends, 0.06, atol=1e-3)
