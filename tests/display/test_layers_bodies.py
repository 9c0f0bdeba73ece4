"""Bodies of what is no robot: each ready problem has one, and it is where the state says."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from tests.display.recording import Recording
from tests.support.unsolved import pendulum, solution_of
from trajopt import problems
from trajopt.display.layers import LAYERS
from trajopt.display.layers.bodies import Beads, PoseBody, SkeletonBody
from trajopt.display.layers.copies import Ghosts, Strobe
from trajopt.solution import Solution

WITHOUT_ROBOTS = [name for name in problems.names() if not problems.describe(name).robots]


def guess_of(name: str) -> Solution:
    """A ready problem at its guess."""
    case = problems.load(name)
    T = case.problem.T
    xs = np.tile(case.problem.x0, (T + 1, 1)) if case.xs is None else case.xs
    return solution_of(case.problem, xs, np.zeros((T, case.problem.nu)) if case.us is None else case.us)


def bodies(solution: Solution) -> list[Any]:
    return [kind for kind in LAYERS if kind.body and kind.applies(solution)]


@pytest.mark.parametrize("name", [name for name in WITHOUT_ROBOTS if name != "walk-freely"])  # takes 6 s to load
def test_every_ready_problem_has_a_robot_or_one_body(name: str) -> None:
    solution = guess_of(name)
    kinds = bodies(solution)
    assert len(kinds) == (solution.robot is None)
    for kind in kinds:
        scene = Recording()
        body = kind.build(scene, solution, "/body")
        body.at(0.5 * solution.problem.T)
        shapes = [n for n, h in scene.nodes.items() if not hasattr(h, "show_axes") and "position" in vars(h)]
        assert shapes
        assert np.isfinite(body.points()).all()
        assert body.points().shape[1] == 3


def test_copies_of_a_robot_are_where_it_is_at_their_times(reach: Solution) -> None:
    robot, scene = reach.robot, Recording()
    assert robot is not None
    last = robot.model.njoints - 1
    Strobe(scene, reach, "/strobe")
    shown = scene.nodes[f"/strobe/{last}/0"]
    for i, knot in enumerate(range(0, 101, 20)):
        place = robot.placement(reach.xs[knot, :6], "wrist_3_joint")
        np.testing.assert_allclose(shown.batched_positions[i], place[:3, 3], atol=1e-6)
        w, x, y, z = (float(each) for each in shown.batched_wxyzs[i])
        np.testing.assert_allclose(pin.Quaternion(w, x, y, z).matrix(), place[:3, :3], atol=1e-5)
    ghosts = Ghosts(scene, reach, "/ghosts")
    shown = scene.nodes[f"/ghosts/{last}/0"]
    assert not shown.batched_opacities.any()
    ghosts.at(0.15)  # two of three are later than the start
    assert (shown.batched_opacities > 0.0).tolist() == [True, True, False]
    assert shown.batched_opacities[0] > shown.batched_opacities[1]
    ghosts.at(0.08 + 1.0 / 15.0)
    np.testing.assert_allclose(
        shown.batched_positions[0], robot.placement(reach.xs[8, :6], "wrist_3_joint")[:3, 3], atol=1e-6
    )


def test_copies_of_a_body_are_translucent_and_hidden_before_the_start() -> None:
    scene, solution = Recording(), pendulum()
    ghosts = Ghosts(scene, solution, "/ghosts")
    assert not any(scene.nodes[f"/ghosts/{i}"].visible for i in range(3))
    ghosts.at(1.0)
    body = SkeletonBody(scene, solution, "/body")
    body.at(1.0 - 2.0 / 15.0)
    np.testing.assert_allclose(scene.nodes["/ghosts/0/ball1"].position, scene.nodes["/body/ball1"].position, atol=1e-12)
    assert scene.nodes["/ghosts/0"].visible
    assert 0.0 < scene.nodes["/ghosts/2/ball1"].opacity < scene.nodes["/ghosts/0/ball1"].opacity < 0.5


def test_a_pendulum_is_a_rod_from_its_pivot_to_a_ball() -> None:
    scene, solution = Recording(), pendulum()
    body = SkeletonBody(scene, solution, "/body")
    time = 0.5 * float(solution.times[40] + solution.times[41])  # type: ignore[index]
    body.at(time)
    q = solution.xs[[40, 41], 0]
    expected = (0.5 * np.stack([np.sin(q), 0 * q, -np.cos(q)], axis=1)).mean(axis=0)
    ball, rod = scene.nodes["/body/ball1"], scene.nodes["/body/rod0"]
    np.testing.assert_allclose(ball.position, expected, atol=1e-12)
    np.testing.assert_allclose(rod.position, expected / 2, atol=1e-12)
    w, x, y, z = rod.wxyz
    along = pin.Quaternion(w, x, y, z).matrix()[:, 2] * rod.scale[2]
    np.testing.assert_allclose(along, expected, atol=1e-12)


def test_a_cart_slides_on_a_rail_under_its_pole() -> None:
    case = problems.load("cart-pole")
    xs = np.tile(case.problem.x0, (51, 1))
    xs[:, 0] = np.linspace(-0.5, 1.0, 51)
    scene = Recording()
    body = SkeletonBody(scene, solution_of(case.problem, xs, np.zeros((50, 1))), "/body")
    body.at(10 * 0.05)
    np.testing.assert_allclose(scene.nodes["/body/cart0"].position, [xs[10, 0], 0.0, 0.0], atol=1e-12)
    rail = scene.nodes["/body/rail0"]
    ends = rail.position[0] + np.array([-0.5, 0.5]) * rail.height
    assert ends[0] < -0.5
    assert ends[1] > 1.0
    np.testing.assert_allclose(scene.nodes["/body/ball1"].position, [xs[10, 0], 0.0, 0.5], atol=1e-12)


@pytest.mark.parametrize(
    ("name", "kind", "parts"),
    [
        ("parking", "unicycle", ["/body/body/wheel3", "/body/body/cabin"]),
        ("unicycle", "unicycle", ["/body/body/wheel3"]),
        ("parking-wheels", "differential drive", ["/body/body/wheel1", "/body/body/nose"]),
        ("quadrotor-obstacles", "quadrotor", ["/body/body/rotor3"]),
        ("lqr-bounds", "point", ["/body/body/ball"]),
    ],
)
def test_each_kind_of_vehicle_has_its_own_body(name: str, kind: str, parts: list[str]) -> None:
    scene, solution = Recording(), guess_of(name)
    body = PoseBody(scene, solution, "/body")
    assert body.kind == kind
    assert set(parts) <= set(scene.nodes)
    if kind == "quadrotor":
        arm = float(solution.parameters["arm"][0])
        np.testing.assert_allclose(scene.nodes["/body/body/rotor1"].position[:2], [0.0, arm])
    if kind == "differential drive":
        left, L = scene.nodes["/body/body/wheel0"], float(solution.parameters["half_track"][0])
        assert left.position[1] == pytest.approx(L)
        assert left.radius == float(solution.parameters["radius"][0])
        assert left.position[2] == left.radius  # it stands on the ground
    ends = body.points().min(axis=0), body.points().max(axis=0)  # what a camera shows
    for knot in range(len(solution.xs)):
        pose = body.pose(float(body.film.times[knot]))
        for part in [node for path, node in scene.nodes.items() if path.startswith("/body/body/")]:
            sides = np.array(getattr(part, "dimensions", np.zeros(3)))
            for corner in itertools.product(*zip(-sides / 2, sides / 2)):
                place = pose[:3, :3] @ (np.array(part.position) + corner) + pose[:3, 3]
                assert np.all(ends[0] <= place)
                assert np.all(place <= ends[1])


def test_a_pose_turns_by_half_between_two_knots() -> None:
    case = problems.load("unicycle")
    xs = np.tile([1.0, 2.0, 3.0], (21, 1))
    xs[5] = [1.4, 2.0, 3.6]  # beyond π: the shorter way
    scene = Recording()
    body = PoseBody(scene, solution_of(case.problem, xs, np.zeros((20, 2))), "/body")
    times = body.film.times
    body.at(0.5 * float(times[4] + times[5]))
    handle = scene.nodes["/body/body"]
    np.testing.assert_allclose(handle.position, [1.2, 2.0, 0.0])
    w, x, y, z = handle.wxyz
    np.testing.assert_allclose(pin.Quaternion(w, x, y, z).matrix(), pin.rpy.rpyToMatrix(0.0, 0.0, 3.3), atol=1e-12)


def test_a_state_without_a_place_is_beads_on_rails() -> None:
    case = problems.load("minimum-jerk")
    xs = np.linspace([0.0, 1.0, -1.0], [1.0, 0.0, 2.0], case.problem.T + 1)
    solution = solution_of(case.problem, xs, np.zeros((case.problem.T, 1)))
    scene = Recording()
    body = Beads(scene, solution, "/body")
    body.at(float(solution.times[20]))  # type: ignore[index]
    places = np.array([scene.nodes[f"/body/{i}/bead"].position for i in range(3)])
    np.testing.assert_allclose(places[:, 0], xs[20], atol=1e-9)
    assert len(set(places[:, 1])) == 3
    assert [scene.nodes[f"/body/{i}/name"].text for i in range(3)] == [
        f"{name} [{unit}]" for name, unit in zip(solution.coordinate_names, solution.coordinate_units)
    ]
