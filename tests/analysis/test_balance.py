"""Balance: distances from the border of the support polygon, by hand and by scipy's hull."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import trajopt
from tests.support.unsolved import solution_of, trot
from trajopt import gaits
from trajopt.analysis import legged_motion, motion_report
from trajopt.analysis.advice.explanation import _gait
from trajopt.analysis.balance import balance_words, support_margins
from trajopt.analysis.feet import Foot, LeggedMotion
from trajopt.analysis.hull import convex_hull, depth_in_hull
from trajopt.robots.legged import LEGGED_ROBOTS
from trajopt.solution import Solution


def test_the_depth_is_that_of_a_dense_border_and_of_scipy() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(7, 2))
    hull = convex_hull(points)
    share = np.linspace(0.0, 1.0, 20001)[:, None]
    border = np.concatenate([a + share * (b - a) for a, b in zip(hull, np.roll(hull, -1, axis=0))])
    for point in rng.normal(scale=1.5, size=(40, 2)):
        inside = bool(np.all(ConvexHull(points).equations @ [*point, 1.0] < 0.0))
        far = float(np.linalg.norm(border - point, axis=1).min())
        assert depth_in_hull(hull, point) == pytest.approx(far if inside else -far, abs=1e-6)
    line = np.array([[0.0, 0.0], [2.0, 0.0]])
    assert depth_in_hull(line, np.array([1.0, 0.3])) == pytest.approx(-0.3)
    assert depth_in_hull(line, np.array([3.0, 0.0])) == pytest.approx(-1.0)
    assert depth_in_hull(line[:1], np.array([0.0, 0.5])) == pytest.approx(-0.5)


def standing(places: list[list[float]], forces: list[float], com: list[float], stands: list[bool]) -> LeggedMotion:
    """Two knots with these feet, normal forces, and a centre of mass above a point."""
    up = np.array([[0.0, 0.0, 1.0]])
    feet = [
        Foot.at_points(
            f"foot{i}", f"foot{i}", np.tile(place, (2, 1)), stands=np.array([on]), torques=np.zeros((1, 3)),
            forces=force * up if on else np.full((1, 3), np.nan), normals=up, mu=np.full(1, np.nan),
        )
        for i, (place, force, on) in enumerate(zip(places, forces, stands))
    ]  # fmt: skip
    return LeggedMotion(
        abscissa=np.array([0.0, 0.1]), label="time [s]", takes_time=np.array([True]), feet=tuple(feet),
        com=np.tile(com, (2, 1)), com_references=np.full((2, 3), np.nan), weight=10.0,
    )  # fmt: skip


def test_margins_of_a_square_a_triangle_and_a_line_by_hand() -> None:
    square = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
    com, pressure = support_margins(standing(square, [4.0, 4.0, 1.0, 1.0], [0.3, 0.4, 0.5], [True] * 4))
    np.testing.assert_allclose([com[0], pressure[0]], [0.3, 0.2])  # pressure at (0.5, 0.2)
    com, pressure = support_margins(standing(square, [2.0, 6.0, 2.0, 0.0], [0.2, 0.5, 0.5], [True, True, True, False]))
    np.testing.assert_allclose([com[0], pressure[0]], [-0.3 / np.sqrt(2), 0.2])  # (0.8, 0.2)
    com, pressure = support_margins(standing(square, [5.0, 0.0, 5.0, 0.0], [0.5, 0.4, 0.5], [True, False, True, False]))
    assert com[0] == pytest.approx(-0.1 / np.sqrt(2))
    assert np.isnan(pressure[0])  # a line has no inside
    square[0][2] = 0.1
    com, pressure = support_margins(standing(square, [4.0, 4.0, 1.0, 1.0], [0.3, 0.4, 0.5], [True] * 4))
    assert com[0] == pytest.approx(0.3)
    assert np.isnan(pressure[0])  # on no level
    assert np.isnan(support_margins(standing(square, [0.0] * 4, [0.3, 0.4, 0.5], [False] * 4))[0][0])


@functools.cache
def stand() -> Solution:
    robot = trajopt.load_robot("small-quadruped")
    stance = gaits.Stance.of(robot, LEGGED_ROBOTS["small-quadruped"].feet)
    phase = gaits.Phase(name="stand", knots=6, stance=stance.names, com=stance.com)
    schedule = gaits.ContactSchedule(start=stance, phases=(phase,), dt=0.02)
    problem = gaits.gait_problem(robot, schedule)
    return solution_of(problem, *gaits.gait_guess(problem, schedule, "references"))


def test_reports_say_the_least_margin_with_its_knot() -> None:
    plan = stand()
    xs = plan.xs.copy()
    xs[3, 0] += 0.05  # the robot as a whole, with its feet: no change
    moved = dataclasses.replace(plan, xs=xs)
    motion = legged_motion(moved)
    com, pressure = support_margins(motion)
    least, place = int(np.nanargmin(com)), int(np.nanargmin(pressure))
    inside = "at least {:.0f} mm inside the support polygon (knot {},"
    words = motion_report(moved)["balance"]
    assert words.startswith(f"centre of mass {inside.format(1e3 * com[least], least)}")
    assert f"zero moment point {inside.format(1e3 * pressure[place], place)}" in words
    shifted = dataclasses.replace(motion, com=motion.com + np.array([0.0, 1.0, 0.0]))
    far = 1e3 * (1.0 - max(foot.positions[0, 1] - motion.com[0, 1] for foot in motion.feet))
    words = balance_words(moved, shifted)["balance"]
    assert f"centre of mass up to {far:.0f} mm outside of the support polygon (knot " in words


def test_explanations_of_gaits_have_a_line_on_balance() -> None:
    assert f"  balance: {motion_report(trot())['balance']}" in _gait(trot())
