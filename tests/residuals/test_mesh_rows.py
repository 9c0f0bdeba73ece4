"""Rows of meshes with a grid: Coal's distances within a cell, derivatives, meshes that move, slots."""

from __future__ import annotations

import functools
import itertools
import pickle
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.residuals.test_collisions import ROBOT, SHAPES, STATE, check_derivatives, problem_of, states
from tests.support.meshes import RING, coal_distances, cube, ring
from trajopt.residuals import ResidualModelCollisions
from trajopt.residuals.link_bodies import LinkBodies
from trajopt.robots.collisions.collision_shapes import CollisionShapes
from trajopt.robots.collisions.samples import random_configurations
from trajopt.shooting.collision_slots import BodyDistances
from trajopt.solvers import SolverIpopt, SolverSQP

CELL = 0.01
PLACED = pin.SE3(pin.rpy.rpyToMatrix(0.3, -0.5, 1.1), np.array([0.2, 0.1, 0.1]))
AT = pin.SE3(pin.rpy.rpyToMatrix(-0.2, 0.1, 0.4), np.array([-0.2, -0.3, -0.2]))
MESHES = {"ring": ring(), "crate": cube()}
SCENE = trajopt.Scene(
    {
        "ball": trajopt.Sphere(0.1, center=[0.3, 0.2, 0.3]),
        "ring": trajopt.TriangleMesh(MESHES["ring"], placement=PLACED, cell=CELL),
        "table": trajopt.Box([1.0, 0.6, 0.05], placement=[0.2, 0.1, -0.4, 0.0, 0.0, 0.0, 1.0]),
        "crate": trajopt.TriangleMesh(MESHES["crate"], placement=AT, cell=CELL),
    }
)
DEEP = {
    "ring": lambda p: np.hypot(np.hypot(p[:, 0], p[:, 1]) - RING[0], p[:, 2]) - RING[1],
    "crate": lambda p: np.abs(p).max(axis=1) - 0.1,
}
WHERE = {"ring": PLACED, "crate": AT}


@pytest.fixture(scope="module")
def problem() -> trajopt.ShootingProblem:
    return problem_of(states(4), collisions=SCENE, obstacles=2)


@functools.cache
def balls() -> tuple[LinkBodies, np.ndarray]:
    """Balls along the arm's capsules, and the joint that carries each."""
    residual = ResidualModelCollisions(STATE, SCENE)
    bodies = LinkBodies.balls(residual._ends, residual._radii)
    return bodies, residual._carriers[bodies.owners]


def expected(x: np.ndarray, link: int, where: dict[str, pin.SE3]) -> np.ndarray:
    """Coal's distances of all balls of a link from each mesh, with the sign by the formula of its shape."""
    data = ROBOT.model.createData()
    pin.forwardKinematics(ROBOT.model, data, x[: ROBOT.nq])
    bodies, carriers = balls()
    own = np.flatnonzero(bodies.owners // 2 == link)
    place = data.oMi[int(carriers[own[0]])]
    centres = bodies.numbers[own, :3] @ place.rotation.T + place.translation
    found = []
    for name, mesh in where.items():
        inside = (centres - mesh.translation) @ mesh.rotation
        sign = np.where(DEEP[name](inside) < 0.0, -1.0, 1.0)
        found.append(sign * coal_distances(MESHES[name], inside) - bodies.numbers[own, 6])
    return np.concatenate(found)


def check(rows: np.ndarray, expected: np.ndarray) -> None:
    """Compares rows with the least distances: within a third of a cell near a mesh, and a tenth of those far away."""
    nearest = np.sort(expected)[: len(rows)]
    np.testing.assert_allclose(np.sort(rows), nearest, atol=0.35 * CELL, rtol=0.1 if nearest.min() > 0.1 else 0.0)


@pytest.mark.slow
def test_rows_are_those_of_coal_within_a_cell(problem: trajopt.ShootingProblem) -> None:
    for seed in (1, 2):
        xs = states(4, seed)
        rows = problem.calc(xs, np.zeros((3, 7))).rows[:, 6:].reshape(4, 3, 3, 2)[:, 2]
        for t, link in itertools.product((0, 3), (1, 2, 3)):
            check(rows[t, link - 1], expected(xs[t], link, WHERE))


def test_a_mesh_moves_at_run_time_and_between_knots(problem: trajopt.ShootingProblem) -> None:
    xs = np.tile(states(1, 2), (4, 1))
    problem.calc(xs, np.zeros((3, 7)))
    compiled = trajopt.kernels.compiler.compilations()
    path = [pin.SE3(pin.exp3(np.array([0.2, 0.1, 0.3]) * t), np.array([0.2, 0.1 * t, 0.1])) for t in range(4)]
    problem.set_parameter("collisions.ring", [each.homogeneous[:3] for each in path], "all")
    rows = problem.calc(xs, np.zeros((3, 7))).rows[:, 6:].reshape(4, 3, 3, 2)[:, 2]
    assert trajopt.kernels.compiler.compilations() == compiled
    for t, link in itertools.product(range(4), (1, 2, 3)):
        where = {**WHERE, "ring": path[t]}
        check(rows[t, link - 1], expected(xs[t], link, where))
    problem.set_parameter("collisions.ring", PLACED.homogeneous[:3], "all")


def test_derivatives_of_rows_of_meshes() -> None:
    residual = ResidualModelCollisions(STATE, SCENE, obstacles=3)
    assert residual.nr == 12 + 3 * (2 + 2 + 3)  # of one ball and one box each link has two bodies
    for x in states(3, 12):
        assert np.abs(check_derivatives(residual, x)[-9:]).max() > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("solver", [SolverSQP, SolverIpopt])
def test_solvers_keep_the_margin_from_a_mesh(solver: Any) -> None:
    """A posture with the gripper in the middle of the crate: as near as the margin allows, by Coal."""
    middle = ROBOT.placement(random_configurations(ROBOT.model, 40, 8)[11], "gripper_left_joint")[:3, 3]
    at = pin.SE3(AT.rotation, middle)
    crate = trajopt.TriangleMesh(MESHES["crate"], placement=at, cell=CELL)
    goal = trajopt.ResidualModelFrameTranslation(STATE, "gripper_left_joint", middle)
    end = trajopt.CostStack(STATE).add("goal", goal, weight=100.0)
    end.add("motion", trajopt.ResidualModelState(STATE), weight=1e-2)
    limits = trajopt.ConstraintStack.of_robot(STATE, collisions=trajopt.Scene({"crate": crate}), margin=0.02)
    terminal = trajopt.ActionModelTerminal(end, constraints=limits)
    solution = solver(trajopt.ShootingProblem(STATE.zero(), [], terminal, start="free")).solve()
    assert solution.converged
    nearest = min(expected(solution.xs[0], link, {"crate": at}).min() for link in (1, 2, 3))
    assert nearest == pytest.approx(0.02, abs=0.5 * CELL)


def test_balls_contain_their_capsules() -> None:
    (bodies, _), points = balls(), np.random.default_rng(0)
    for i, body in enumerate(SHAPES.bodies):
        ends = np.broadcast_to(body.points, (2, 3))
        own = bodies.owners == i
        centres = ends[0] + bodies.shares[own, :1] * (ends[1] - ends[0])
        radii = bodies.numbers[own, 6]
        assert np.all(radii <= 1.0311 * body.radius)
        on = ends[0] + points.uniform(size=(500, 1)) * (ends[1] - ends[0])
        ways = points.normal(size=(500, 3))
        surface = on + body.radius * ways / np.linalg.norm(ways, axis=1)[:, None]
        assert np.all((np.linalg.norm(surface[:, None] - centres, axis=2) - radii).min(axis=1) < 1e-12)


def test_names_of_bodies_near_a_mesh_are_those_of_links() -> None:
    residual = ResidualModelCollisions(STATE, SCENE)
    labels, distances = residual.labels(), BodyDistances(residual)
    q, own = states(3)[:, : ROBOT.nq], np.tile(residual.layout.column(), (3, 1))
    gaps = distances(q, own)
    assert sum(each.shape[1] for each in gaps) == len(labels) == len(residual.indices())
    values = {name: own[:, part] for name, part in residual.layout.slices.items()}
    hidden = residual.without_row(gaps, values)
    assert set(hidden) == set(labels)
    assert residual.indices()[labels.index("arm_left_5_link_1 and ring")][0] == SHAPES.names.index("arm_left_5_link_1")
    words = residual.bodies_of_rows(values)[0]
    assert sum(" and ring" in each or " and crate" in each for each in words) == 3 * 4


def test_a_robot_with_one_ball_and_a_pickle() -> None:
    alone = CollisionShapes(bodies=(trajopt.Sphere(0.05, frame="arm_left_7_link"),), pairs=())
    state = trajopt.StateMultibody(ROBOT.with_collision_shapes(alone))
    residual = ResidualModelCollisions(state, trajopt.Scene({"crate": SCENE["crate"]}))
    assert residual.nr == 1
    again = pickle.loads(pickle.dumps(residual))
    np.testing.assert_array_equal(again.layout.column(), residual.layout.column())
    np.testing.assert_array_equal(check_derivatives(again, states(1)[0]), check_derivatives(residual, states(1)[0]))
