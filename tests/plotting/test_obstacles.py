"""Obstacles in pictures and films: those of the problem, those that a caller passes, those that move."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.display.recording import Recording
from tests.display.test_layers_around import BALLS, point_among
from tests.plotting.test_world import labelled
from tests.support.collision_arm import collision_arm
from tests.support.meshes import ring
from tests.support.unsolved import solution_of
from trajopt import problems
from trajopt.analysis.obstacles import as_obstacles
from trajopt.display.layers.obstacles import Obstacles
from trajopt.errors import InvalidArgumentError
from trajopt.plotting import plot_configurations, plot_motion, plot_path
from trajopt.plotting.film import film_of
from trajopt.plotting.obstacles import moving_around, obstacles_to_draw
from trajopt.plotting.scene import scene_of
from trajopt.plotting.stage import FilmStage
from trajopt.plotting.window import new_figure
from trajopt.robots.scene import ObstaclesLike
from trajopt.solution import Solution

RING_AT = np.array([0.3, 0.5, 0.2, 0.0, 0.0, 0.0, 1.0])
CRATE = trajopt.Box([0.2, 0.4, 0.6], placement=[1.0, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0])
SCENE = trajopt.Scene({"ball": trajopt.Sphere(0.1, center=[0.0, 1.0, 0.0]), "crate": CRATE})


@pytest.fixture(scope="module")
def arm() -> Solution:
    """An arm that rests beside a ball and a crate."""
    state = collision_arm()
    limits = trajopt.ConstraintStack.of_robot(state, collisions=SCENE)
    terminal = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=limits)
    return solution_of(trajopt.ShootingProblem(state.zero(), [], terminal), state.zero()[None], np.zeros((0, 7)))


@pytest.fixture(scope="module")
def point() -> Solution:
    """A point that passes two balls, of which the second one moves."""
    solution = point_among(lambda state: trajopt.ResidualModelObstacleDistance(state, BALLS))
    rows = np.array(solution.parameters["balls.spheres"])
    rows[:, 1, 0] += 0.1 * np.arange(len(rows))
    return dataclasses.replace(solution, parameters={**solution.parameters, "balls.spheres": rows})


def test_a_film_has_the_obstacles_of_the_problem(arm: Solution) -> None:
    film = film_of(arm)
    np.testing.assert_allclose(film.obstacles, [[0.0, 1.0, 0.0, 0.1]])
    (crate,) = film.hulls
    np.testing.assert_allclose(crate[0].min(axis=0), [0.9, -0.2, 0.0], atol=1e-12)
    np.testing.assert_allclose(crate[0].max(axis=0), [1.1, 0.2, 0.6], atol=1e-12)
    axes = FilmStage(film)._axes
    assert (len(labelled(axes, "_obstacle")), len(axes.collections) > 1) == (1, True)
    assert len(labelled(axes, "_solid")) == len(film.skeleton.solids) + 1


@pytest.mark.parametrize("passed", [trajopt.Scene({"crate": CRATE}), CRATE, [CRATE]])
def test_a_film_draws_what_is_passed_instead_and_a_film_of_meshes_draws_both(
    arm: Solution, passed: ObstaclesLike
) -> None:
    film = film_of(arm, passed)
    assert (len(film.obstacles), len(film.hulls)) == (0, 1)
    film = film_of(arm, passed, more=True)
    assert (len(film.obstacles), len(film.hulls)) == (1, 2)
    film = film_of(arm, passed, aside=False)  # for views, which have layers of their own
    assert (len(film.obstacles), len(film.hulls)) == (0, 0)


def test_obstacles_that_move_do_so_in_a_film(point: Solution) -> None:
    film = film_of(point)
    np.testing.assert_allclose(film.obstacles, BALLS[:1])
    (ball,) = film.hulls
    np.testing.assert_allclose(ball.mean(axis=1)[:, 0], 0.1 + 0.1 * np.array([0, 1, 2, 3, 3]), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(ball[2] - [0.3, 0.6, 0.3], axis=1), 0.2)
    stage = FilmStage(film)
    (hull,) = stage._around
    stage.show(0.15, "")  # halfway from knot 1 to 2
    corners = hull._artist.get_xy()  # in the plane of x and z
    np.testing.assert_allclose([corners[:, 0].min(), corners[:, 0].max()], [0.25 - 0.2, 0.25 + 0.2], atol=1e-12)


def test_an_upright_cylinder_that_moves_stands_on_the_floor() -> None:
    solution = point_among(lambda state: trajopt.ResidualModelObstacleDistance(state, BALLS[:, [0, 1, 3]]))
    rows = np.array(solution.parameters["balls.circles"])
    rows[:, 1, 0] += 0.1 * np.arange(len(rows))
    moving = dataclasses.replace(solution, parameters={**solution.parameters, "balls.circles": rows})
    (cylinder,) = obstacles_to_draw(moving)[1:]
    (hull,) = moving_around([cylinder], np.array([[0.0, 0.0, 0.1], [1.0, 0.0, 0.5]]))
    np.testing.assert_allclose([hull[..., 2].min(), hull[..., 2].max()], [0.0, 0.5 + 0.1])
    np.testing.assert_allclose(np.linalg.norm(hull[1, :, :2] - [0.2, 0.6], axis=1), 0.2)
    FilmStage(film_of(moving)).show(0.1, "")


def test_an_obstacle_is_hidden_at_knots_without_it(point: Solution) -> None:
    film = film_of(point)
    ball = np.array(film.hulls[0])
    ball[1] = np.nan
    stage = FilmStage(dataclasses.replace(film, hulls=[ball]))
    (hull,) = stage._around
    stage.show(0.1, "")
    assert not hull._artist.get_visible()
    stage.show(0.3, "")
    assert hull._artist.get_visible()


def test_pictures_draw_a_scene(arm: Solution, point: Solution) -> None:
    plain = len(labelled(plot_motion(arm, obstacles=[[0.0, 1.0, 0.0, 0.1]]).axes[0], "_solid"))
    assert len(labelled(plot_motion(arm, obstacles=SCENE).axes[0], "_solid")) == plain + 1
    axes = plot_path(point, obstacles=SCENE).axes[0]
    assert (len(labelled(axes, "_obstacle")), len(labelled(axes, "_solid"))) == (1, 1)


def test_a_file_has_the_obstacles(arm: Solution, tmp_path: Path) -> None:
    loaded = trajopt.Solution.load(arm.save(tmp_path / "arm.npz"))
    assert [each.name for each in loaded.description.obstacles] == ["collisions.ball", "collisions.crate"]
    np.testing.assert_array_equal(film_of(loaded).hulls[0], film_of(arm).hulls[0])
    drawn, again = (labelled(plot_motion(each).axes[0], "_obstacle") for each in (arm, loaded))
    assert len(drawn) == len(again) == 1


@pytest.fixture(scope="module")
def beside_a_ring() -> Solution:
    """An arm that rests beside a ring, whose grid it measures."""
    state = collision_arm()
    scene = trajopt.Scene({"ring": trajopt.TriangleMesh(ring(), placement=RING_AT, cell=0.02)})
    limits = trajopt.ConstraintStack.of_robot(state, collisions=scene)
    terminal = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=limits)
    return solution_of(trajopt.ShootingProblem(state.zero(), [], terminal), state.zero()[None], np.zeros((0, 7)))


@pytest.mark.slow
def test_a_mesh_with_a_grid_is_drawn_itself(beside_a_ring: Solution, tmp_path: Path) -> None:
    """Its triangles, not its hull: no point lies in the hole. A file has them as well."""
    loaded = trajopt.Solution.load(beside_a_ring.save(tmp_path / "ring.npz"))
    for solution in (beside_a_ring, loaded):
        (triangles,) = film_of(solution).hulls
        np.testing.assert_allclose(triangles[0], ring() + RING_AT[:3], atol=1e-12)
        axes = plot_motion(solution, view=(20, 40)).axes[0]
        assert len(labelled(axes, "_solid")) == len(film_of(solution).skeleton.solids) + 1
    flat = plot_motion(beside_a_ring).axes[0]
    stage = FilmStage(film_of(beside_a_ring))
    stage._around[0].move(triangles[0] + 1.0)
    assert labelled(flat, "_solid")
    scene = Recording()
    layer = Obstacles(scene, beside_a_ring, "/obstacles")
    mesh = scene.nodes["/obstacles/0/mesh"]
    np.testing.assert_allclose(vertices_of(mesh) + mesh.position, triangles[0].reshape(-1, 3), atol=1e-12)
    np.testing.assert_allclose(layer.points().max(axis=0), triangles[0].max(axis=(0, 1)), atol=1e-12)


def vertices_of(mesh: Any) -> np.ndarray:
    return np.asarray(mesh.vertices) @ pin.Quaternion(*mesh.wxyz).matrix().T


def test_a_mesh_in_a_plane_is_drawn_by_its_triangles() -> None:
    axes = plot_configurations(
        trajopt.load_robot("planar-3r"),
        np.zeros(3),
        obstacles=trajopt.Scene({"ring": trajopt.TriangleMesh(ring(), cell=0.02)}),
    ).axes[0]
    (drawn,) = [each for each in axes.collections if each.get_label() == "_solid"]
    assert len(drawn.get_paths()) == len(ring())


def test_a_body_on_a_frame_is_no_obstacle_of_a_picture() -> None:
    (row,) = as_obstacles([[0.0, 1.0, 0.3]])
    assert row.upright
    with pytest.raises(InvalidArgumentError, match="fixed in the world, got one on frame 'tool'"):
        as_obstacles([trajopt.Sphere(0.1, frame="tool")])


def test_a_summary_draws_obstacles_and_lines(point: Solution) -> None:
    """Those of the caller, for example parked cars that the problem only has as a formula."""
    car = trajopt.Box([0.3, 0.2, 0.2], placement=[0.5, 0.4, 0.2, 0.0, 0.0, 0.0, 1.0])
    lane = [[0.0, -0.5], [1.0, -0.5]]
    axes = point.plot(obstacles=[car], lines=[lane]).axes[0]
    assert len(labelled(axes, "_solid")) == 1
    (line,) = labelled(axes, "_line")
    assert len(line.get_xdata()) == 2
    assert not labelled(point.plot().axes[0], "_line")
    with pytest.raises(InvalidArgumentError, match="lines: expected none for a solution without a motion"):
        problems.load("lqr").solve().plot(lines=[lane])


def test_obstacles_that_move_are_drawn_at_several_times(point: Solution) -> None:
    """In the colours of these times, with an entry in the legend; the one that stays is grey."""
    for figure in (plot_motion(point), plot_path(point)) if point.robot is not None else (plot_path(point),):
        axes = figure.axes[0]
        hulls = labelled(axes, "_solid")
        middles = sorted(float(np.mean(hull.get_xy()[:-1, 0])) for hull in hulls)
        assert middles[0] == pytest.approx(0.1, abs=0.02)
        assert middles[-1] == pytest.approx(0.4, abs=0.02)
        assert len(hulls) == len({hull.get_facecolor() for hull in hulls}) == 5
        assert "moving obstacle" in [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    still = plot_path(
        dataclasses.replace(point, parameters={**point.parameters, "balls.spheres": rows_of_balls(point)})
    )
    assert "moving obstacle" not in [text.get_text() for legend in still.legends for text in legend.get_texts()]


def rows_of_balls(point: Solution) -> np.ndarray:
    return np.tile(point.parameters["balls.spheres"][:1], (len(point.parameters["balls.spheres"]), 1, 1))


@pytest.mark.parametrize(("length", "stretch"), [(120.0, 5.0), (60.0, 2.0), (39.0, 1.0), (1.0, 1.0)])
def test_a_long_road_is_stretched_and_says_so(length: float, stretch: float) -> None:
    """Up to four times as long as wide, where a road of 5 m is much longer."""
    points = np.zeros((20, 1, 3))
    points[:, 0, :2] = np.linspace([0.0, -2.5], [length, 2.5], 20)
    axes = scene_of(new_figure(6.0, 4.0, apart=True), points, np.zeros((0, 3)), None).axes
    assert axes.get_aspect() == stretch
    assert axes.get_ylabel() == ("y [m]" if stretch == 1.0 else f"y [m], stretched {stretch:g} times")


def test_a_film_of_a_road_is_stretched_as_its_picture(point: Solution) -> None:
    xs = np.linspace([0.0, 0.0, 0.0], [200.0, 5.0, 0.0], len(point.xs))
    film = film_of(dataclasses.replace(point, xs=xs), obstacles=[[0.0, 0.0, 0.1]])
    axes = FilmStage(film).figure.axes[0]
    assert (
        axes.get_aspect() == plot_path(dataclasses.replace(point, xs=xs), obstacles=[[0, 0, 0.1]]).axes[0].get_aspect()
    )
    assert axes.get_aspect() > 1.0
