"""Pictures of a single body that floats and has no joints, from which no bones follow."""

from __future__ import annotations

import re

import casadi
import numpy as np
import pinocchio as pin
import pytest
from matplotlib.text import Text

import trajopt
from tests.support.unsolved import trot
from trajopt.analysis.legs import is_legged, legged_motion
from trajopt.analysis.moved import displacement, fallen_words, moved_words
from trajopt.analysis.skeleton import skeleton_of
from trajopt.articulations import ArticulationBuilder
from trajopt.errors import InvalidArgumentError
from trajopt.plotting import plot_motion, plot_pages, plot_strip, plot_summary
from trajopt.plotting.film import film_of
from trajopt.plotting.ground import draw_planes
from trajopt.plotting.scene import scene_of
from trajopt.plotting.stage import FilmStage
from trajopt.plotting.style import RAMP
from trajopt.plotting.window import new_figure
from trajopt.simulator import ActionModelSimulator, MDPContact, Simulator
from trajopt.solvers import SolverFDDP

SIZE = (0.4, 0.3, 0.2)


def box() -> trajopt.Robot:
    builder = ArticulationBuilder()
    builder.add_box(builder.add_link("box"), SIZE)
    builder.add_free("world", "box")
    return builder.build("box")


@pytest.fixture(scope="module")
def dropped() -> trajopt.Solution:
    """A box that falls on its middle, solved through the simulator."""
    robot = box()
    state = trajopt.StateMultibody(robot)
    costs = trajopt.CostStack(state).add("rest", trajopt.ResidualModelState(state), weight=1.0)
    simulator = Simulator(robot, [MDPContact("box", (0.0, 0.0, -SIZE[2] / 2), name="middle")])
    knots = [ActionModelSimulator(simulator, costs, dt=0.02)] * 5
    end = trajopt.ActionModelTerminal(
        trajopt.CostStack(state).add("end", trajopt.ResidualModelState(state), weight=1.0)
    )
    x0 = np.r_[0, 0, 0.6 * SIZE[2], 0, 0, 0, 1, np.zeros(6)]
    return SolverFDDP(trajopt.ShootingProblem(x0, knots, end)).solve()


def test_a_free_body_is_drawn_as_its_box(dropped: trajopt.Solution) -> None:
    robot = box()
    skeleton, _ = skeleton_of(robot.model, dropped.xs[:, :7])
    corners = skeleton.points[0, 2:] - dropped.xs[0, :3]
    np.testing.assert_allclose(np.abs(corners), np.tile(np.divide(SIZE, 2), (8, 1)), rtol=1e-6)
    assert len(skeleton.bones) == 12
    plain, _ = skeleton_of(robot.model, dropped.xs[:, :7], shapes=robot.shapes)
    assert not plain.bones  # its solid is drawn


def test_a_floating_base_is_held_by_nothing() -> None:
    """A single configuration does not move, and yet no line leads from the world to it, as to an arm's base."""
    walker, arm = trajopt.load_robot("small-biped"), trajopt.load_robot("planar-2r")
    assert not skeleton_of(walker.model, pin.neutral(walker.model)[None])[0].fixed
    assert skeleton_of(arm.model, np.zeros((1, arm.nq)))[0].fixed == [(0, 1)]


def test_pictures_of_a_free_body(dropped: trajopt.Solution) -> None:
    axes = plot_strip(dropped).axes[0]
    low, high = axes.get_ylim()
    assert SIZE[2] <= high - low < 4 * SIZE[2]
    plot_summary(dropped)


def test_pictures_of_a_free_body_have_no_legs(dropped: trajopt.Solution) -> None:
    assert not is_legged(dropped)
    for figure in (plot_strip(dropped), plot_summary(dropped)):
        words = " ".join(text.get_text() for text in figure.findobj(Text))
        assert not re.search(r"\b(left|right|trunk|steps|feet|foot)\b", words.replace("to the left", ""))
    heading = plot_summary(dropped).get_suptitle()
    assert "moved +0.000 m along x, +0.000 m along y" in heading  # a box has no front
    assert set(plot_pages(dropped)) == {"summary", "solver"}


def test_a_rollout_says_its_axes_and_shows_the_planes(dropped: trajopt.Solution) -> None:
    """A tilted box flies: its velocity is in its own axes, its way in those of the world, above an incline."""
    plane = (-np.sin(0.3), 0.0, np.cos(0.3), 0.5)
    simulator = Simulator(box(), [MDPContact("box", (0.0, 0.0, -SIZE[2] / 2), surface=plane, name="middle")])
    turn = pin.Quaternion(pin.utils.rotate("z", 0.5) @ pin.utils.rotate("x", 0.6))
    x0 = np.concatenate([[0.0, 0.0, 0.6], turn.coeffs(), turn.inverse() * np.array([1.5, 0.4, 0.0]), [3.0, 9.0, 2.0]])
    motion = simulator.rollout(x0, steps=40, dt=5e-3).solution()
    x, y = motion.xs[-1, :2]
    figure = motion.plot()
    assert f"moved {x:+.3f} m along x, {y:+.3f} m along y in 0.20 s" in figure.get_suptitle()
    titles = {axes.get_ylabel(): axes.get_title(loc="left") for axes in figure.axes if "[" in axes.get_ylabel()}
    assert titles["position [m]"] == "box_joint"
    assert titles["velocity [m/s]"] == titles["velocity [rad/s]"] == "box_joint, body axes"
    np.testing.assert_allclose(motion.description.planes, [plane])
    assert [each.get_label() for axes in figure.axes for each in axes.get_children()].count("_ground") == 1


def test_a_film_of_a_free_body_has_no_dot_at_the_origin(dropped: trajopt.Solution) -> None:
    film = film_of(dropped)
    stage = FilmStage(film)
    stage.show(0.05, "")
    assert not film.side
    assert film.skeleton.solids or film.skeleton.bones
    dots = [line for line in stage.figure.axes[0].lines if line.get_marker() == "o" and line.get_color() == RAMP[2]]
    drawn = np.concatenate([np.column_stack(line.get_data()) for line in dots])
    assert not np.any(np.all(np.abs(drawn[np.isfinite(drawn).all(axis=1)]) < 1e-9, axis=1))


def test_obstacles_that_are_no_numbers_are_refused(dropped: trajopt.Solution) -> None:
    with pytest.raises(InvalidArgumentError, match="obstacles: expected"):
        plot_summary(dropped, obstacles=casadi.SX.sym("x"))


def thrown(sideways: float) -> trajopt.Solution:
    """A ball that is thrown against a wall at x = 0.6 m, falls to the floor and rolls."""
    builder = ArticulationBuilder()
    builder.add_sphere(builder.add_link("ball"), 0.06)
    builder.add_free("world", "ball")
    ball = builder.build("ball")
    surfaces = {"floor": (0.0, 0.0, 1.0, 0.0), "wall": (-1.0, 0.0, 0.0, 0.6)}
    contacts = [MDPContact("ball", radius=0.06, surface=each, name=name) for name, each in surfaces.items()]
    x0 = np.r_[0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0, 3.0, sideways, 0.4, 0.0, 0.0, 0.0]
    return Simulator(ball, contacts).rollout(x0, steps=90, dt=5e-3).solution()


def test_a_ball_that_rolls_does_not_tip_over() -> None:
    motion = thrown(0.2)
    assert displacement(motion).tips_over  # its z axis ends far from the vertical
    assert "tipped" not in moved_words(motion)
    assert "fell" not in moved_words(motion)
    assert fallen_words(motion, legged_motion(motion)) == []


@pytest.mark.parametrize("sideways", [0.0, 0.2])
def test_walls_of_a_simulator_are_drawn(sideways: float) -> None:
    """In the plane of the motion as ground beyond x = 0.6 m, in space as a face at x = 0.6 m."""
    faces = [each for each in plot_motion(thrown(sideways)).axes[0].get_children() if each.get_label() == "_ground"]
    corners = [each.get_xy()[:-1] if sideways == 0.0 else np.array(each._faces).reshape(-1, 3) for each in faces]
    wall, floor = sorted(corners, key=lambda each: -each[:, 0].min())
    assert wall[:, 0].min() == pytest.approx(0.6)
    assert (wall[:, 0].max() > 5.0) if sideways == 0.0 else wall[:, 0].max() == pytest.approx(0.6)
    assert floor[:, -1].max() == pytest.approx(0.0, abs=1e-9)


def test_a_wall_beside_the_motion_is_not_drawn() -> None:
    """It would hang beside the box of the axes, and a plane view has it only where it is seen edge on."""
    points = np.random.default_rng(0).uniform(size=(9, 1, 3))
    scene = scene_of(new_figure(5.0, 5.0, apart=True), points, np.zeros((0, 3)), None)
    draw_planes(scene, [(-1.0, 0.0, 0.0, 9.0), (0.0, 0.0, -1.0, 9.0)])
    assert "_ground" not in [each.get_label() for each in scene.axes.get_children()]
    draw_planes(scene, [(-1.0, 0.0, 0.0, 0.5), (0.0, 0.0, 1.0, 9.0)])
    assert [each.get_label() for each in scene.axes.get_children()].count("_ground") == 2


@pytest.fixture(scope="module")
def pushed() -> trajopt.Solution:
    """A block of 0.1 m that a ball on a rail pushes along x."""
    builder = ArticulationBuilder()
    builder.add_link("block")
    builder.add_box("block", (0.1, 0.1, 0.1), density=400.0)
    builder.add_free("world", "block")
    builder.add_link("finger", mass=0.5)
    builder.add_sphere("finger", 0.02, density=0.0)
    builder.add_prismatic("world", "finger", axis="x", X_p=(0, 0, 0.05), effort=20.0)
    robot = builder.build("push")
    corners = [(x, y, -0.05) for x in (-0.05, 0.05) for y in (-0.05, 0.05)]
    contacts = [MDPContact("block", corner, friction=0.3, name=f"corner{i}") for i, corner in enumerate(corners)]
    face = trajopt.Box([0.1, 0.1, 0.1], frame="block")
    contacts.append(MDPContact("finger", radius=0.02, surface=face, friction=0.2, name="tip"))
    x0 = np.r_[0.0, 0.0, 0.0495, 0.0, 0.0, 0.0, 1.0, -0.0705, np.zeros(7)]
    force = np.zeros((30, 7))
    force[:, 6] = 4.0  # [N]
    return Simulator(robot, contacts).rollout(x0, force, steps=30, dt=0.01).solution()


def test_a_pushed_block_has_its_size_in_pictures(pushed: trajopt.Solution) -> None:
    """Seen along y in world axes: the block is 0.1 m wide, and the ball beside it."""
    assert not is_legged(pushed)
    film = film_of(pushed)
    ball, block = sorted(film.skeleton.solids, key=lambda solid: solid.points[0, :, 0].mean())
    assert np.ptp(block.points[0, :, 0]) == pytest.approx(0.1, abs=1e-9)
    assert pushed.xs[-1, 0] > 0.03
    assert (ball.points[..., 0].max(axis=1) <= block.points[..., 0].min(axis=1) + 4e-3).all()
    stage = FilmStage(film)
    stage.show(0.3, "")
    assert stage._axes.get_xlabel() == "x [m]"
    for figure in (plot_strip(pushed), plot_summary(pushed)):
        words = " ".join(text.get_text() for text in figure.findobj(Text))
        assert not re.search(r"\b(left|right|trunk|steps|feet|foot|forward)\b", words)
    assert "position [m]" in [axes.get_ylabel() for axes in plot_summary(pushed).axes]


def test_a_pushed_block_is_told_along_axes(pushed: trajopt.Solution) -> None:
    """Block and finger have panels of their own, and a robot that walks has legs as before."""
    figure = plot_summary(pushed)
    assert f"moved {pushed.xs[-1, 0]:+.3f} m along x, +0.000 m along y in 0.30 s" in figure.get_suptitle()
    titles = [axes.get_title(loc="left") for axes in figure.axes if axes.get_ylabel() == "position [m]"]
    assert titles == ["block_joint", "finger_joint"]
    assert is_legged(trot())
