"""Collision shapes of robots: they contain the meshes, waste little, and are kept, saved and declared."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import coal
import numpy as np
import pinocchio as pin
import pytest
from scipy.optimize import minimize

import trajopt
from tests.support.link_distances import link_distances
from trajopt import cache
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.robots import CollisionShapes, Robot, fit_collision_shapes, load_robot
from trajopt.robots.collisions import fitted
from trajopt.robots.collisions.cover import MOST, cover
from trajopt.robots.collisions.distances import body_distances
from trajopt.robots.collisions.fit import fit_capsule, fit_capsules
from trajopt.robots.collisions.samples import random_configurations
from trajopt.robots.collisions.simplex import nelder_mead
from trajopt.robots.collisions.surfaces import surfaces
from trajopt.robots.collisions.triangles import bisected
from trajopt.robots.round_bodies import Capsule, Sphere
from trajopt.solvers import SolverSQP
from trajopt.types import Reals

BOX = """<robot name="boxes">
  <link name="base"><collision><geometry><box size="0.4 0.2 0.1"/></geometry></collision></link>
  <link name="arm"><collision><origin xyz="0.3 0 0.2" rpy="0 0.5 0"/><geometry><cylinder radius="0.05" length="0.4"/>
  </geometry></collision></link>
  <link name="hand"><collision><origin xyz="0.1 0 0"/><geometry><sphere radius="0.07"/></geometry></collision></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <origin xyz="0 0 0.3"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
  <joint name="wrist" type="revolute"><parent link="arm"/><child link="hand"/><axis xyz="0 1 0"/>
    <origin xyz="0.5 0 0.3"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
</robot>"""


def boxes(folder: Path, text: str = BOX) -> Robot:
    path = folder / "boxes.urdf"
    path.write_text(text)
    return load_robot(path)


def outside(points: Reals, bodies: Any) -> Reals:
    """By how much points (n, 3) are outside each body (bodies, n) [m]."""
    gaps = []
    for body in bodies:
        start, end = body.points[0], body.points[-1]
        square = float((end - start) @ (end - start))
        part = np.clip((points - start) @ (end - start) / max(square, 1e-30), 0.0, 1.0)[:, None]
        gaps.append(np.linalg.norm(points - start - part * (end - start), axis=1) - body.radius)
    return np.array(gaps)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "waste", "middle"),
    [("panda", 30.0, 30.0), ("ur5", 40.0, 40.0), ("go2", 40.0, 40.0)],
)
def test_distances_are_those_of_the_meshes_within_the_bars(name: str, waste: float, middle: float) -> None:
    """50 random configurations; `tests.benchmarks.collisions` has 10,000, and Talos."""
    robot = load_robot(name)
    found = link_distances(robot, robot.collision_shapes, random_configurations(robot.model, 50, seed=5))
    assert found.waste().size > 100
    assert found.excess <= 1e-3
    assert np.percentile(found.waste(), 95) <= 1e-3 * waste
    assert np.median(found.waste()) <= 1e-3 * middle


@pytest.mark.slow
def test_links_of_several_boxes_and_cylinders_waste_little() -> None:
    """One capsule around the base of ANYmal is up to 10 cm thicker: its shins seem to touch it where it walks."""
    robot = load_robot("anymal")
    found = link_distances(robot, robot.collision_shapes, random_configurations(robot.model, 50, seed=5))
    assert found.excess <= 1e-3
    assert np.percentile(found.waste(), 95) <= 0.06
    assert sum(body.frame == "base" for body in robot.collision_shapes.bodies) > MOST


@pytest.mark.parametrize("name", ["panda", "go2"])
def test_each_triangle_lies_in_shapes(name: str) -> None:
    robot = load_robot(name)
    for link, surface in surfaces(robot).items():
        bodies = [body for body in robot.collision_shapes.bodies if body.frame == link]
        assert 1 <= len(bodies) <= MOST
        pieces = bisected(np.concatenate(surface.triangles), 0.01)
        gaps = outside(pieces.reshape(-1, 3), bodies).reshape(len(bodies), -1, 3)
        assert gaps.max(axis=2).min(axis=0).max() < 1e-3  # pieces across a cut lie in two bodies together
        assert outside(pieces.reshape(-1, 3), bodies).min(axis=0).max() < 1e-8


def test_a_capsule_around_points_of_a_capsule_is_that_capsule() -> None:
    rng = np.random.default_rng(0)
    for radius, start, end in ((0.1, [0.0, 0, 0], [0.3, 0.2, 0.1]), (0.05, [1.0, 1, 1], [1.0, 1, 1.0])):
        away = rng.normal(size=(4000, 3))
        away /= np.linalg.norm(away, axis=1)[:, None]
        ends = np.where((away @ (np.array(end) - start) > 0)[:, None], end, start)
        fit = fit_capsule(ends + radius * away)
        assert fit.radius == pytest.approx(radius, rel=0.03)
        reach = sorted([fit.start.tolist(), fit.end.tolist()])
        np.testing.assert_allclose(reach, sorted([start, end]), atol=0.05 * radius)


def test_searches_at_once_are_those_of_scipy() -> None:
    """Points, values and numbers of evaluations, on functions with bumps, where simplices shrink."""
    rng = np.random.default_rng(0)
    slopes, corners = rng.normal(size=(30, 3, 3)), np.vstack([np.zeros(3), 0.2 * np.eye(3)])
    starts, counts = rng.normal(size=(30, 1, 3)) + corners, np.zeros(30, dtype=int)

    def one(point: Reals, slope: Reals) -> float:
        return float((np.abs(slope @ point - 1.0) ** 1.5).sum() + np.cos(30.0 * point).sum())

    def every(indices: Any, points: Reals) -> Reals:
        np.add.at(counts, indices, 1)
        return np.array([one(point, slopes[row]) for row, point in zip(indices, points, strict=True)])

    points, values = nelder_mead(every, starts, evaluations=10_000)
    for slope, start, point, value, count in zip(slopes, starts, points, values, counts, strict=True):
        options = {"xatol": 1e-4, "fatol": 1e-5, "initial_simplex": start}
        right = minimize(one, start[0], (slope,), method="Nelder-Mead", options=options)
        np.testing.assert_allclose(point, right.x, atol=1e-9)
        assert value == pytest.approx(right.fun, abs=1e-12)
        assert count == right.nfev
    counts[:] = 0
    nelder_mead(every, starts, evaluations=20)
    assert np.all((counts >= 20) & (counts < 20 + 5))  # the last iteration is completed


def test_capsules_fitted_together_are_those_of_single_fits() -> None:
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(count, 3)) * [0.3, 0.1, 0.05] for count in (5, 12, 200, 260)]
    for rough in (True, False):
        for fit, points in zip(fit_capsules(parts, rough=rough), parts, strict=True):
            alone = fit_capsule(points, rough=rough)
            np.testing.assert_allclose([*fit.start, *fit.end, fit.radius], [*alone.start, *alone.end, alone.radius])


def test_a_flat_plate_and_a_single_point_have_shapes() -> None:
    square = np.array([[0.0, 0, 0], [0.3, 0, 0], [0.3, 0.2, 0], [0, 0.2, 0]])
    (fits,) = cover([[square[[[0, 1, 2], [0, 2, 3]]]]], 0.02)
    assert 1 < len(fits) <= MOST
    assert fit_capsule(np.ones((1, 3))).radius < 1e-6


@pytest.mark.slow
def test_less_waste_takes_more_shapes() -> None:
    robot = load_robot("ur5")
    counts = [len(fit_collision_shapes(robot, waste=waste).bodies) for waste in (1.0, 0.04)]
    assert counts[0] == len(surfaces(robot)) < counts[1]
    with pytest.raises(InvalidArgumentError, match="waste: expected a number > 0"):
        fit_collision_shapes(robot, waste=0.0)


def test_boxes_cylinders_and_spheres(tmp_path: Path) -> None:
    robot = boxes(tmp_path)
    shapes = robot.collision_shapes
    (hand,) = [body for body in shapes.bodies if body.frame == "hand"]
    assert isinstance(hand, Sphere)
    assert hand.radius == 0.07
    np.testing.assert_allclose(hand.points, [[0.1, 0, 0]])
    box = np.random.default_rng(0).uniform(-1, 1, (2000, 3)) * [0.2, 0.1, 0.05]
    box[np.arange(2000), np.arange(2000) % 3] = np.array([0.2, 0.1, 0.05])[np.arange(2000) % 3]
    assert outside(box, [body for body in shapes.bodies if body.frame == "base"]).min(axis=0).max() < 1e-8
    turn, z = np.random.default_rng(1).uniform(0, 2 * np.pi, 500), np.linspace(-0.2, 0.2, 500)
    place = pin.SE3(pin.rpy.rpyToMatrix(0, 0.5, 0), np.array([0.3, 0, 0.2]))
    rod = np.array([place.act(p) for p in np.stack([0.05 * np.cos(turn), 0.05 * np.sin(turn), z], axis=1)])
    assert outside(rod, [body for body in shapes.bodies if body.frame == "arm"]).min(axis=0).max() < 1e-8
    assert {reason for reason, pairs in shapes.left_out.items() if pairs} >= {"neighbours"}


def test_pairs_and_those_left_out_are_all_pairs_on_different_joints() -> None:
    robot = load_robot("ur5")
    shapes, model = robot.collision_shapes, robot.model
    every = [*shapes.pairs, *(pair for pairs in shapes.left_out.values() for pair in pairs)]
    joint = [model.frames[model.getFrameId(str(body.frame))].parentJoint for body in shapes.bodies]
    n, same = len(joint), {(number, number) for number in range(model.njoints)}
    assert sorted(every) == [(i, j) for i in range(n) for j in range(i + 1, n) if joint[i] != joint[j]]
    near = [
        pair for pair in sorted(every) if {(joint[k], model.parents[joint[m]]) for k, m in (pair, pair[::-1])} & same
    ]
    assert sorted(shapes.left_out["neighbours"]) == near
    links = {frozenset(str(shapes.bodies[k].frame) for k in pair) for pair in shapes.left_out["always"]}
    assert frozenset(("base_link", "upper_arm_link")) in links
    others = random_configurations(model, 300, seed=5)
    assert body_distances(model, shapes.bodies, shapes.left_out["never"], others).min() > 0.0


@pytest.mark.slow
def test_the_hands_of_a_humanoid_may_meet() -> None:
    """Of a thousand random configurations none brings them close; in two of 203 solved ones they overlapped."""
    shapes = load_robot("talos").collision_shapes
    links = {frozenset((shapes.bodies[i].frame, shapes.bodies[j].frame)) for i, j in shapes.pairs}
    assert frozenset(("gripper_left_base_link", "gripper_right_inner_double_link")) in links
    assert frozenset(("gripper_left_fingertip_1_link", "gripper_right_motor_single_link")) in links


def test_an_srdf_disables_pairs(tmp_path: Path) -> None:
    before = boxes(tmp_path).collision_shapes
    links = {frozenset(str(before.bodies[k].frame) for k in pair) for pair in before.pairs}
    assert frozenset(("base", "hand")) in links
    (tmp_path / "boxes.srdf").write_text(
        '<robot name="b"><disable_collisions link1="hand" link2="base" reason="User"/></robot>'
    )
    after = boxes(tmp_path).collision_shapes
    assert not after.pairs
    assert after.left_out["disabled"]
    (tmp_path / "other.srdf").write_text("<robot")
    with pytest.raises(InvalidArgumentError, match="srdf: expected an SRDF that can be read"):
        fit_collision_shapes(boxes(tmp_path), srdf=tmp_path / "other.srdf")


@pytest.mark.slow
def test_pairs_that_touch_at_a_reference_configuration_are_left_out(tmp_path: Path) -> None:
    robot = boxes(tmp_path, BOX.replace("0.07", "0.2"))
    model, bodies, pairs = robot.model, robot.collision_shapes.bodies, robot.collision_shapes.pairs
    rows = random_configurations(model, 500, seed=3)
    distances = body_distances(model, bodies, pairs, rows)
    row, column = np.unravel_index(distances.argmin(), distances.shape)
    assert distances[row, column] < 0.0
    (i, j), touching = pairs[column], rows[row]
    other = Robot(model, configurations={"folded": touching}, source=robot.source).collision_shapes
    assert (i, j) in other.left_out["reference"]
    assert (i, j) not in other.pairs


def test_distances_of_bodies_are_those_of_coal() -> None:
    robot = load_robot("ur5")
    bodies = [
        Sphere(0.1, frame="tool0", center=[0.1, 0, 0]),
        Capsule(0.05, start=[0, 0, 0], end=[0, 0.1, 0.4], frame="forearm_link"),
        Sphere(0.2, frame="base_link"),
        Capsule(0.06, start=[0, 0, 0], end=[0.3, 0, 0.2], frame="shoulder_link"),
    ]
    pairs, rows = [(0, 1), (0, 2), (1, 3), (1, 2), (2, 3)], random_configurations(robot.model, 30)
    found = body_distances(robot.model, bodies, pairs, rows)
    for row, q in zip(found, rows):
        for (i, j), distance in zip(pairs, row):
            assert distance == pytest.approx(coal_distance(robot, bodies[i], bodies[j], q), abs=1e-6)


def coal_distance(robot: Robot, first: Any, second: Any, q: Reals) -> float:
    placed = []
    for body in (first, second):
        place = pin.SE3(robot.placement(q, body.frame))
        points = [place.act(point) for point in body.points]
        along = points[-1] - points[0]
        length = float(np.linalg.norm(along))
        upright = np.array([0.0, 0.0, 1.0])
        turn = pin.Quaternion.FromTwoVectors(upright, along / length if length else upright)
        solid = coal.Capsule(body.radius, length) if length else coal.Sphere(body.radius)
        placed += [solid, coal.Transform3s(turn.toRotationMatrix(), (points[0] + points[-1]) / 2)]
    return float(coal.distance(*placed, coal.DistanceRequest(), coal.DistanceResult()))


def test_shapes_are_kept_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", str(tmp_path / "cache"))
    first = boxes(tmp_path).collision_shapes
    assert any("collision shapes of boxes" in label for label, _ in cache.labels())

    def refused(*arguments: Any) -> Any:
        raise AssertionError("fitted again")

    monkeypatch.setattr(fitted, "cover", refused)
    assert boxes(tmp_path).collision_shapes.to_json() == first.to_json()
    with pytest.raises(AssertionError, match="fitted again"):
        fit_collision_shapes(boxes(tmp_path, BOX.replace("0.4 0.2 0.1", "0.4 0.2 0.2")))


def test_shapes_in_a_file(tmp_path: Path) -> None:
    robot = boxes(tmp_path)
    shapes, path = robot.collision_shapes, tmp_path / "shapes.json"
    shapes.save(path)
    loaded = CollisionShapes.load(path)
    assert loaded.to_json() == shapes.to_json()
    assert (loaded.pairs, loaded.names, repr(loaded)) == (shapes.pairs, shapes.names, repr(shapes))
    assert robot.with_collision_shapes(path).collision_shapes.to_json() == shapes.to_json()
    text = shapes.to_json()
    for damaged in (
        "",
        "{}",
        "[1]",
        text[:-9],
        text.replace("shapes 1", "shapes 0"),
        text.replace('"pairs": [[', '"pairs": [[0, 999], ['),
    ):
        path.write_text(damaged)
        with pytest.raises(InvalidArgumentError, match="path: expected collision shapes in"):
            CollisionShapes.load(path)
    (tmp_path / "picture.json").write_bytes(b"\x89PNG")
    with pytest.raises(InvalidArgumentError, match="cannot be read"):
        CollisionShapes.load(tmp_path / "picture.json")
    with pytest.raises(InvalidArgumentError, match="cannot be read"):
        CollisionShapes.load(tmp_path / "none.json")


def test_shapes_of_the_user() -> None:
    robot = load_robot("ur5")
    bodies = [Sphere(0.1, frame="base_link"), Sphere(0.05, frame="tool0"), Sphere(0.06, frame="wrist_3_link")]
    other = robot.with_collision_shapes(bodies)
    assert other.collision_shapes.bodies == tuple(bodies)
    assert other.collision_shapes.pairs == ((0, 1), (0, 2))
    child_first = [Sphere(0.1, frame="wrist_3_link"), Sphere(0.1, frame="wrist_2_link")]
    assert robot.with_collision_shapes(child_first).collision_shapes.left_out["neighbours"] == ((0, 1),)
    again = pickle.loads(pickle.dumps(other))
    assert again.collision_shapes.to_json() == other.collision_shapes.to_json()
    with pytest.raises(UnknownNameError, match="frame 'hand' not found"):
        robot.with_collision_shapes([Sphere(0.1, frame="hand")])
    for wrong in ([Sphere(0.1)], ["tool0"]):
        with pytest.raises(InvalidArgumentError, match="shapes: expected spheres and capsules on frames"):
            robot.with_collision_shapes(wrong)  # type: ignore[arg-type]


def test_a_robot_of_code_has_its_own_shapes_and_one_without_geometry_is_refused() -> None:
    own = load_robot("four-limbs")
    if own.shapes:
        assert own.collision_shapes.bodies
    with pytest.raises(InvalidArgumentError, match="robot: expected one from a file or with shapes"):
        _ = Robot(own.model, name="bare").collision_shapes
    with pytest.raises(InvalidArgumentError, match="expected collision geometry in the file of"):
        _ = load_robot("planar-2r").collision_shapes


def test_declared_shapes_stay_when_joints_are_locked_and_parameters_added() -> None:
    robot = load_robot("talos_arm")
    frames = ("arm_left_2_link", "arm_left_4_link", "arm_left_5_link")
    bodies = tuple(trajopt.Sphere(0.05, frame=frame) for frame in frames)
    shapes = CollisionShapes(bodies=bodies, pairs=((0, 1), (0, 2)), left_out={"neighbours": ((1, 2),)})
    own = robot.with_collision_shapes(shapes)
    locked = pickle.loads(pickle.dumps(own)).lock_joints(["arm_left_5_joint"])
    assert [body.frame for body in locked.collision_shapes.bodies] == list(frames)
    assert locked.collision_shapes.pairs == ((0, 1), (0, 2))
    assert locked.collision_shapes.left_out == {"neighbours": ()}
    both = own.lock_joints(["arm_left_3_joint", "arm_left_4_joint"])
    assert both.collision_shapes.pairs == ((0, 2),)
    twice = own.lock_joints(["arm_left_3_joint"]).lock_joints(["arm_left_4_joint"])
    assert twice.collision_shapes.pairs == ((0, 2),)
    assert own.with_parameters("arm_left_7_link.mass").collision_shapes.pairs == ((0, 1), (0, 2))


@pytest.mark.parametrize("pairs", ["", "01", [(0, 2)], [(1, 0)], [0, 1], 3])
def test_pairs_that_are_none(pairs: object) -> None:
    bodies = (trajopt.Sphere(0.05, frame="link_1"), trajopt.Sphere(0.05, frame="tool"))
    with pytest.raises(InvalidArgumentError, match="pairs: expected .*pairs of indices i < j of 2 bodies, got"):
        CollisionShapes(bodies=bodies, pairs=pairs)  # type: ignore[arg-type]


def test_solids_are_the_bodies() -> None:
    for body, solid in zip((shapes := load_robot("ur5").collision_shapes).bodies, shapes.solids(), strict=True):
        ends = np.array(sorted(solid.ends.tolist()))
        np.testing.assert_allclose(ends, sorted(body.points.tolist()), atol=1e-12)
        assert (solid.link, solid.size[0]) == (body.frame, body.radius)


def test_constraints_of_a_robot_keep_its_links_apart() -> None:
    robot = load_robot("ur5")
    state = trajopt.StateMultibody(robot)
    plain = trajopt.ConstraintStack.of_robot(state)
    stack = trajopt.ConstraintStack.of_robot(state, collisions=True, margin=0.02)
    assert stack.names == (*plain.names, "collisions")
    np.testing.assert_array_equal((stack["collisions"].lower, stack["collisions"].upper), ([0.02] * 12, [np.inf] * 12))
    with pytest.raises(InvalidArgumentError, match="collisions: expected"):
        trajopt.ConstraintStack.of_robot(state, collisions="all")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="margin: expected"):
        trajopt.ConstraintStack.of_robot(state, collisions=True, margin=np.nan)


@pytest.mark.slow
def test_a_reach_into_the_own_arm_keeps_the_margin() -> None:
    robot = load_robot("ur5")
    state, shapes = trajopt.StateMultibody(robot), robot.collision_shapes
    motors, motion = trajopt.ActuationModelFull(state), trajopt.ResidualModelState(state)
    velocities = trajopt.ActivationModelWeightedQuad(np.repeat([0.0, 1.0], 6))
    goal = trajopt.ResidualModelFrameTranslation(state, "tool0", [0.1, 0.0, 0.12])
    nearest = {}
    for collisions in (False, True):
        rows = trajopt.ConstraintStack.of_robot(state, motors, collisions=collisions, margin=0.01)
        running = trajopt.CostStack(state).add("velocity", motion, weight=0.1, activation=velocities)
        running.add("torque", trajopt.ResidualModelControl(state), weight=1e-4)
        end = trajopt.CostStack(state).add("goal", goal, weight=1e3)
        end.add("stop", motion, weight=10.0, activation=velocities)
        arm = trajopt.DifferentialActionModelFreeFwdDynamics(state, motors, running, constraints=rows)
        knots = [trajopt.IntegratedActionModelEuler(arm, dt=0.05)] * 20
        x0 = np.r_[-0.4, -0.9, 1.5, -2.2, -1.57, 0.0, np.zeros(6)]
        solution = SolverSQP(trajopt.ShootingProblem(x0, knots, end)).solve()
        assert solution.converged
        distances = body_distances(robot.model, shapes.bodies, shapes.pairs, solution.xs[:-1, : robot.nq])
        nearest[collisions] = float(distances.min())
    assert nearest[False] < 0.0
    assert nearest[True] == pytest.approx(0.01, abs=1e-6)
