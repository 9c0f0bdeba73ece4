"""Layers of what stands around a motion: goals, obstacles that move, planes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.analysis.test_goals import POINT, TURNED, arm, placement, translation
from tests.display.recording import Recording
from tests.support.collision_arm import collision_arm
from tests.support.unsolved import solution_of
from trajopt import problems
from trajopt.analysis.approaches import approaches_of
from trajopt.analysis.goals import pose_goals
from trajopt.analysis.obstacles import obstacles_of
from trajopt.display.layers.around import around
from trajopt.display.layers.obstacles import Obstacles, Planes, tilted_planes
from trajopt.display.layers.paths import Goals, has_goals
from trajopt.errors import InvalidArgumentError
from trajopt.plotting.obstacles import obstacles_to_draw, solids_around
from trajopt.solution import Solution

BALLS = np.array([[0.5, 0.2, 0.4, 0.1], [0.1, 0.6, 0.3, 0.2]])  # [m]


CORNERS = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3, indexing="ij")).reshape(3, 8).T


def test_a_goal_is_a_ball_with_axes_if_it_has_a_rotation() -> None:
    scene = Recording()
    Goals(scene, arm(placement, equals=0.0), "/goals")
    np.testing.assert_allclose(scene.nodes["/goals/0"].position, POINT)
    axes = scene.nodes["/goals/axes0"]
    np.testing.assert_allclose(axes.position, POINT)
    w, x, y, z = axes.wxyz
    np.testing.assert_allclose(pin.Quaternion(w, x, y, z).matrix(), TURNED.rotation, atol=1e-12)
    scene = Recording()
    Goals(scene, arm(translation, equals=0.0), "/goals")
    assert "/goals/0" in scene.nodes
    assert "/goals/axes0" not in scene.nodes


def test_a_goal_of_rotation_alone_is_drawn_at_the_end_of_its_frame() -> None:
    solution = arm(lambda state: trajopt.ResidualModelFrameRotation(state, "tool0", TURNED.rotation), equals=0.0)
    scene = Recording()
    assert has_goals(solution)
    Goals(scene, solution, "/goals")
    np.testing.assert_allclose(scene.nodes["/goals/axes0"].position, solution.frame_path("tool0")[-1])
    assert "/goals/0" not in scene.nodes


def point_among(residual: Any, T: int = 4) -> Solution:
    """A point (x, y, z) that rests beside obstacles."""
    state = trajopt.StateVector(3, names=["x", "y", "z"], units=["m"] * 3)
    rows = trajopt.ConstraintStack(state).add("balls", residual(state))
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), weight=1.0)

    class Slides(trajopt.DifferentialActionModelSymbolic):
        """dx/dt = u."""

        def xdot(self, x: Any, u: Any) -> Any:
            return u

    node = trajopt.IntegratedActionModelEuler(Slides(state, 3, costs, constraints=rows), dt=0.1)
    problem = trajopt.ShootingProblem(np.zeros(3), [node] * T, trajopt.CostStack(state))
    return solution_of(problem, np.linspace([0.0, 0.0, 0.2], [1.0, 0.0, 0.2], T + 1), np.zeros((T, 3)))


def test_obstacles_are_where_their_parameters_say_at_each_time() -> None:
    solution = point_among(lambda state: trajopt.ResidualModelObstacleDistance(state, BALLS))
    rows = np.array(solution.parameters["balls.spheres"])
    rows[:, 1, 0] += 0.1 * np.arange(len(rows))
    solution = trajopt.Solution(**{**vars(solution), "parameters": {**solution.parameters, "balls.spheres": rows}})
    assert [each.name for each in obstacles_of(solution)] == ["balls[0]", "balls[1]"]
    scene = Recording()
    layer = Obstacles(scene, solution, "/obstacles")
    layer.at(0.15)  # halfway from knot 1 to 2
    first, second = (scene.nodes[f"/obstacles/{i}/ball0"] for i in range(2))
    np.testing.assert_allclose(first.position, BALLS[0, :3])
    np.testing.assert_allclose(second.position, BALLS[1, :3] + [0.15, 0.0, 0.0])
    assert (first.scale[0], second.scale[0]) == pytest.approx((0.1, 0.2))
    assert layer.points()[:, 0].max() == pytest.approx(0.1 + 0.3 + 0.2)  # in front of the last knot that has it
    layer.at(0.4)  # the end has no such constraint: they stay where they were
    np.testing.assert_allclose(second.position, BALLS[1, :3] + [0.3, 0.0, 0.0])


def test_circles_are_upright_cylinders_from_the_ground_up() -> None:
    scene = Recording()
    solution = point_among(lambda state: trajopt.ResidualModelObstacleDistance(state, BALLS[:, [0, 1, 3]]))
    Obstacles(scene, solution, "/obstacles")
    cylinder = scene.nodes["/obstacles/1/cylinder"]
    assert cylinder.position[:2] == pytest.approx((0.1, 0.6))
    assert cylinder.scale[0] == pytest.approx(0.2)
    low, high = (cylinder.position[2] + sign * cylinder.scale[2] / 2 for sign in (-1, 1))
    assert low == pytest.approx(0.0)
    assert high > 0.2


def test_an_obstacle_far_away_does_not_move_the_camera_away() -> None:
    """Sectors of a scan without a reading have circles out of range."""
    for away, within in ((1.0, True), (40.0, False)):
        balls = np.vstack([BALLS[:, [0, 1, 3]], [away, 0.0, 0.1]])
        solution = point_among(lambda state, balls=balls: trajopt.ResidualModelObstacleDistance(state, balls))
        reached = Obstacles(Recording(), solution, "/obstacles").points()[:, 0].max()
        assert (reached > away) == within
        assert reached > 0.3


def test_a_capsule_in_the_world_is_a_rod_between_two_balls() -> None:
    state = trajopt.StateMultibody(trajopt.load_robot("planar-3r"))
    pair = trajopt.ResidualModelPairDistance(
        state, trajopt.Sphere(0.05, frame="tool"), trajopt.Capsule(0.1, start=(0.0, 1.0, 0.0), end=(0.0, 1.0, 2.0))
    )
    end = trajopt.ConstraintStack(state).add("post", pair)
    terminal = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=end)
    solution = solution_of(trajopt.ShootingProblem(state.zero(), [], terminal), state.zero()[None], np.zeros((0, 3)))
    (post,) = obstacles_of(solution)
    np.testing.assert_allclose(post.points[0], [[0.0, 1.0, 0.0], [0.0, 1.0, 2.0]])
    assert post.radii == pytest.approx(0.1)
    scene = Recording()
    Obstacles(scene, solution, "/obstacles")
    rod = scene.nodes["/obstacles/0/rod"]
    assert rod.scale == pytest.approx((0.1, 0.1, 2.0))
    assert rod.position == pytest.approx((0.0, 1.0, 1.0))


def test_a_scene_is_drawn_with_its_boxes() -> None:
    state = collision_arm()
    turn = pin.exp3(np.array([0.0, 0.0, 0.5]))
    crate = trajopt.Box([0.2, 0.4, 0.6], placement=pin.SE3(turn, np.array([1.0, 0.0, 0.3])))
    scene = trajopt.Scene({"ball": trajopt.Sphere(0.1, center=[0.0, 1.0, 0.0]), "crate": crate})
    limits = trajopt.ConstraintStack.of_robot(state, collisions=scene)
    terminal = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=limits)
    solution = solution_of(trajopt.ShootingProblem(state.zero(), [], terminal), state.zero()[None], np.zeros((0, 7)))
    ball, box = obstacles_of(solution)
    assert (ball.name, box.name, box.box, ball.radii[0]) == ("collisions.ball", "collisions.crate", True, 0.1)
    np.testing.assert_allclose((box.points[0] - [1.0, 0.0, 0.3]) @ turn, CORNERS * [0.2, 0.4, 0.6] / 2, atol=1e-12)
    drawn = Recording()
    Obstacles(drawn, solution, "/obstacles")
    node = drawn.nodes["/obstacles/1/box"]
    assert node.scale == pytest.approx((0.2, 0.4, 0.6))
    assert node.position == pytest.approx((1.0, 0.0, 0.3))
    assert node.wxyz == pytest.approx((np.cos(0.25), 0.0, 0.0, np.sin(0.25)))
    (hull,) = solids_around(obstacles_to_draw(solution))
    np.testing.assert_allclose(hull, box.points[0])
    assert approaches_of(solution) == []


def test_the_ground_of_a_replay_is_no_plane_of_its_own() -> None:
    """Its height is 0 to rounding; a second ground would hide what lies on it."""
    rows = ((0.0, 0.0, 1.0, 2.8e-17), (0.0, 0.0, 1.0, -0.1))
    solution: Any = SimpleNamespace(description=SimpleNamespace(planes=rows))
    ((_, offset),) = tilted_planes(solution)
    assert offset == -0.1


def test_tilted_planes_a_simulator_lie_below_the_motion() -> None:
    case = problems.load("block-on-incline", angle=0.35)
    solution = solution_of(case.problem, case.xs, case.us)
    ((normal, offset),) = tilted_planes(solution)
    np.testing.assert_allclose(normal, [-np.sin(0.35), 0.0, np.cos(0.35)])
    scene = Recording()
    Planes(scene, solution, "/planes")
    corners = np.asarray(scene.nodes["/planes/0"].vertices)
    np.testing.assert_allclose(corners @ normal + offset, 0.0, atol=1e-12)


def test_obstacles_and_lines_of_the_caller_become_a_layer() -> None:
    gate = [[1.0, -0.5, 0.5], [1.0, 0.5, 0.5], [1.0, 0.5, 1.5]]
    (kind,) = around([[0.5, 0.2, 0.4, 0.1]], [gate])
    scene, solution = Recording(), arm(translation, equals=0.0)
    layer = kind.build(scene, solution, "/around")
    ball, lines = scene.nodes["/around/bodies/0/ball0"], scene.nodes["/around/lines"]
    assert (ball.position, ball.scale[0]) == ((0.5, 0.2, 0.4), 0.1)
    np.testing.assert_allclose(lines.points, [gate[:2], gate[1:]])
    assert layer.points().max(axis=0) == pytest.approx([1.0, 0.5, 1.5])
    (kind,) = around([[0.5, 0.2, 0.1]])
    kind.build(scene, solution, "/posts")
    post = scene.nodes["/posts/bodies/0/cylinder"]
    lowest = layer.film.skeleton.points[..., 2].min()
    assert post.position[2] - post.scale[2] / 2 == pytest.approx(min(lowest, 0.0))
    (kind,) = around(trajopt.Scene({"crate": trajopt.Box([0.2, 0.4, 0.6])}))
    kind.build(scene, solution, "/crates")
    assert scene.nodes["/crates/bodies/0/box"].scale == pytest.approx((0.2, 0.4, 0.6))
    assert around() == ()
    with pytest.raises(InvalidArgumentError, match=r"lines\[0\]: expected points"):
        around((), [[1.0, 2.0]])


@pytest.mark.parametrize(("name", "axes"), [("parking", 1), ("unicycle", 1), ("lqr-bounds", 0)])
def test_the_goal_of_a_pose_has_axes_unless_the_body_is_a_point(name: str, axes: int) -> None:
    case = problems.load(name)
    T = case.problem.T
    solution = solution_of(case.problem, np.tile(case.problem.x0, (T + 1, 1)), np.zeros((T, case.problem.nu)))
    scene = Recording()
    Goals(scene, solution, "/goals")
    found = [handle for node, handle in scene.nodes.items() if "axes" in node]
    assert len(found) == axes
    for handle in found:
        assert np.linalg.norm(pose_goals(solution) - handle.position, axis=1).min() < 1e-12
        np.testing.assert_allclose(handle.wxyz, [1.0, 0.0, 0.0, 0.0], atol=1e-12)


def test_a_moving_reference_is_followed() -> None:
    state = trajopt.StateMultibody(trajopt.load_robot("planar-3r"))
    costs = trajopt.CostStack(state).add(
        "track", trajopt.ResidualModelFrameTranslation(state, "tool", POINT), weight=1.0
    )
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(state, trajopt.ActuationModelFull(state), costs)
    node = trajopt.IntegratedActionModelEuler(dynamics, dt=0.1)
    problem = trajopt.ShootingProblem(state.zero(), [node] * 4, trajopt.CostStack(state))
    still = solution_of(problem, np.tile(state.zero(), (5, 1)), np.zeros((4, 3)))
    assert not has_goals(still)
    rows = POINT + np.arange(4.0)[:, None] * [0.1, 0.0, 0.0]
    moving = trajopt.Solution(**{**vars(still), "parameters": {**still.parameters, "track.reference": rows}})
    scene = Recording()
    layer = Goals(scene, moving, "/goals")
    layer.at(0.15)  # halfway from knot 1 to 2
    handle = scene.nodes["/goals/of tool"]
    np.testing.assert_allclose(handle.position, np.add(POINT, [0.15, 0.0, 0.0]))
    layer.at(0.38)  # at the end nothing is asked for
    assert not handle.visible
