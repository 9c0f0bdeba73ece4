"""The world beside a motion: walls, floors, spheres of feet, thick links, obstacles of constraints, pillars."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.few_iterations import few_iterations
from trajopt import problems
from trajopt.analysis.legs import legged_motion
from trajopt.analysis.thick_links import thick_links
from trajopt.analysis.walls import walls_of
from trajopt.plotting import plot_motion, plot_path, plot_strip
from trajopt.plotting.obstacles import obstacles_around, obstacles_to_draw
from trajopt.plotting.scene import scene_of
from trajopt.plotting.walls import near_walls, wall_points
from trajopt.plotting.window import new_figure
from trajopt.problems.arm_spheres import LINKS, SPHERES
from trajopt.solution import Solution


@pytest.fixture(scope="module")
def parking() -> Solution:
    return few_iterations("parking")[1]


@pytest.fixture(scope="module")
def spheres() -> Solution:
    return few_iterations("arm-spheres")[1]


@pytest.fixture(scope="module")
def hopper() -> Solution:
    return few_iterations("hopper")[1]


def labelled(axes: Any, label: str) -> list[Any]:
    return [artist for artist in axes.get_children() if artist.get_label() == label]


def test_a_lane_has_four_walls_in_its_picture(parking: Solution) -> None:
    (box,) = walls_of(parking)
    np.testing.assert_allclose(box[:, :2], [[-0.25, -1e-3], [0.25, 1.501]])
    assert not np.isfinite(box[:, 2]).any()
    axes = plot_path(parking).axes[0]
    axes.figure.draw_without_rendering()
    first, *others = labelled(axes, "walls") + labelled(axes, "_wall")
    assert len(others) == 3
    assert first.get_x() == -0.25
    assert first.get_x() + first.get_width() < axes.get_xlim()[0] < -0.25
    assert axes.get_xlim()[1] < 5.0  # walls do not widen the picture


def test_the_box_of_a_tool_is_that_of_its_constraint() -> None:
    case = problems.load("arm-limits", lower=(-np.inf, 0.1, -np.inf), upper=(1.0, 0.4, np.inf))
    (box,) = walls_of(case.solve(max_iterations=1))
    np.testing.assert_allclose(box, [[-np.inf, 0.1, -np.inf], [1.0, 0.4, np.inf]], atol=1e-12)


def test_a_bound_at_some_knots_is_no_wall() -> None:
    """The tool stops within a small box at the last knots only."""
    case = problems.load("arm-limits", T=20)
    for bound, size in (("lower", -1e-2), ("upper", 1e-2)):
        case.problem.set_parameter(f"box.{bound}", np.full(3, np.copysign(np.inf, size)), knots=range(15))
        case.problem.set_parameter(f"box.{bound}", np.full(3, 0.4 + size), knots=range(15, 21))
    assert walls_of(case.solve(max_iterations=1)).shape == (0, 2, 3)


def test_walls_of_a_gap_thinner_than_a_line_are_left_out() -> None:
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.5, 0.0]])
    box = np.array([[[-1e-4, -0.1, -1e-4], [1e-4, 0.6, np.inf]]])
    expected = [[[-np.inf, -0.1, -1e-4], [np.inf, 0.6, np.inf]]]
    np.testing.assert_array_equal(near_walls(box, points), expected)


def test_far_walls_are_left_out() -> None:
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.5, 0.0]])
    boxes = np.array([[[-0.5, -9.0, -np.inf], [1.5, np.inf, np.inf]]])
    near = near_walls(boxes, points)
    np.testing.assert_array_equal(near, [[[-0.5, -np.inf, -np.inf], [1.5, np.inf, np.inf]]])
    np.testing.assert_array_equal(wall_points(near, points), [[-0.5, 0.25, 0.0], [1.5, 0.25, 0.0]])


def test_links_are_as_thick_as_their_constraints_say(spheres: Solution) -> None:
    robot = spheres.robot
    assert robot is not None
    links = thick_links(spheres)
    assert len(links) == len(LINKS)
    tool = robot.placement(spheres.xs[:, : robot.nq], "tool0")[:, :3, 3]
    np.testing.assert_allclose(np.linalg.norm(links[-1].points - tool[:, None], axis=2), 0.05)
    forearm = links[list(LINKS).index("forearm")].points
    assert np.ptp(forearm[0], axis=0).max() <= 0.392 + 2 * 0.05 + 1e-12


def test_obstacles_of_constraints_are_drawn_unless_others_are_passed(spheres: Solution) -> None:
    np.testing.assert_allclose(obstacles_around(obstacles_to_draw(spheres)), SPHERES)
    np.testing.assert_allclose(
        obstacles_around(obstacles_to_draw(spheres, [0.0, 0.0, 1.0, 0.1])), [[0.0, 0.0, 1.0, 0.1]]
    )
    axes = plot_motion(spheres).axes[0]
    assert len(labelled(axes, "_obstacle")) == len(SPHERES)


def test_the_floor_is_below_the_spheres_of_feet(hopper: Solution) -> None:
    figure = plot_motion(hopper)
    figure.draw_without_rendering()
    axes = figure.axes[0]
    (floor,) = labelled(axes, "_ground")
    assert floor.get_xy()[:, 1].max() == 0.0
    low, high = axes.get_xlim()
    assert floor.get_xy()[:, 0].min() < low < high < floor.get_xy()[:, 0].max()
    (foot,) = legged_motion(hopper).feet
    first = labelled(axes, "_ball")[0]
    assert first.radius == foot.radius > 0.0
    assert first.center[1] - first.radius == pytest.approx(foot.positions[0, 2], abs=1e-12)


def test_a_strip_has_the_spheres_of_all_feet() -> None:
    solution = few_iterations("stand-up")[1]
    axes = plot_strip(solution, 3).axes[0]
    motion = legged_motion(solution)
    balls = labelled(axes, "_ball")
    assert len(balls) == 3 * len(motion.feet)
    radii = {foot.radius for foot in motion.feet}
    assert {ball.radius for ball in balls} == radii


def test_a_pillar_begins_at_the_floor_and_ends_above_the_path() -> None:
    solution = few_iterations("quadrotor-obstacles")[1]
    axes = plot_path(solution, obstacles=[[2.0, 0.0, 0.3]]).axes[0]
    poses = solution.description.poses
    assert poses is not None
    low, high = axes.get_zlim()
    assert low < 0.0 < poses[:, 2, 3].max() < high


def test_outlines_of_a_large_vehicle_are_few() -> None:
    """A robot of 8 m on a way of 6 m: its first and last place; a car of a part of its way has more."""
    for name, least, most in (("hermite-path", 2, 2), ("parking", 8, 12)):
        axes = plot_path(few_iterations(name)[1]).axes[0]
        (line,) = [line for line in axes.get_lines() if str(line.get_label()).startswith("vehicle")]
        assert least <= np.isnan(line.get_xdata()).sum() <= most


def test_axes_in_space_have_two_ticks_where_there_is_room() -> None:
    points = np.array([[-1.3, -0.9, -0.3], [1.3, 0.9, 0.3]])
    axes = scene_of(new_figure(5.4, 5.4, apart=True), points[:, None], np.zeros((0, 3)), (18.0, -40.0)).axes
    axes.figure.draw_without_rendering()
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        assert np.count_nonzero((axis.get_ticklocs() >= low) & (axis.get_ticklocs() <= high)) >= 2
