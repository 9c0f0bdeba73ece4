"""Rows of the nearest links and obstacles: their choice, values and derivatives are those of single pairs."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.support.collision_arm import collision_arm
from tests.support.model_list import state_of
from tests.support.slow_twin import assert_close, central_differences
from tests.support.unsolved import solution_of
from trajopt.analysis.advice.crowded_slots import crowded_slots
from trajopt.constraints.collisions import collision_rows
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.instant import Instant
from trajopt.residuals import ResidualModelCollisions
from trajopt.residuals.nearest import in_place, nearest
from trajopt.robots.collisions import CollisionShapes
from trajopt.robots.collisions.distances import axis_distances, body_distances
from trajopt.robots.collisions.samples import random_configurations
from trajopt.solvers import SolverIpopt, SolverSQP

STATE = collision_arm()
SHAPES, ROBOT, INSTANT = STATE.robot.collision_shapes, STATE.robot, Instant(STATE, 0)


def problem_of(
    states: np.ndarray, collisions: bool | trajopt.Scene = True, obstacles: int = 2
) -> trajopt.ShootingProblem:
    """A problem that does not move, with a row for each slot, also at the end."""
    options: dict[str, Any] = {"pairs": 6, "obstacles": obstacles, "positions": False, "velocities": False}
    rows = trajopt.ConstraintStack.of_robot(STATE, collisions=collisions, **options)
    motors, costs = trajopt.ActuationModelFull(STATE), trajopt.CostStack(STATE)
    costs.add("torque", trajopt.ResidualModelControl(STATE), weight=1.0)
    model = trajopt.DifferentialActionModelFreeFwdDynamics(STATE, motors, costs, constraints=rows)
    end = trajopt.ActionModelTerminal(trajopt.CostStack(STATE), constraints=rows)
    return trajopt.ShootingProblem(
        states[0], [trajopt.IntegratedActionModelEuler(model, dt=0.01)] * (len(states) - 1), end
    )


@pytest.fixture(scope="module")
def problem() -> trajopt.ShootingProblem:
    return problem_of(states(4))


def states(count: int, seed: int = 0) -> np.ndarray:
    return np.array([STATE.at_rest(q) for q in random_configurations(ROBOT.model, count, seed)])


def indices(problem: trajopt.ShootingProblem) -> np.ndarray:
    """Pair of each slot (T + 1, pairs)."""
    return problem.get_parameter("collisions.pair_slots", "all")[:, 0].astype(int)


def test_rows_are_the_nearest_pairs_of_each_knot(problem: trajopt.ShootingProblem) -> None:
    for seed in range(3):
        xs = states(4, seed)
        rows = problem.calc(xs, np.zeros((3, 7))).rows
        expected = body_distances(ROBOT.model, SHAPES.bodies, SHAPES.pairs, xs[:, : ROBOT.nq])
        chosen = indices(problem)
        np.testing.assert_allclose(rows, np.take_along_axis(expected, chosen, axis=1), atol=1e-12)
        carriers = [ROBOT.model.frames[ROBOT.frame_id(str(body.frame))].parentJoint for body in SHAPES.bodies]
        for t, row in enumerate(expected):
            first: list[int] = []
            links: list[tuple[int, int]] = []
            for pair in np.argsort(row):
                on = tuple(carriers[i] for i in SHAPES.pairs[pair])
                if links.count(on) < 2 and len(first) < 6:
                    links.append(on)
                    first.append(int(pair))
            assert sorted(chosen[t].tolist()) == sorted(first)


def test_a_pair_keeps_its_slot_while_it_is_among_the_nearest(problem: trajopt.ShootingProblem) -> None:
    xs = states(4, 7)
    problem.calc(xs, np.zeros((3, 7)))
    before = indices(problem)
    moved = xs.copy()
    moved[:, : ROBOT.nq] += 0.15
    problem.calc(moved, np.zeros((3, 7)))
    after = indices(problem)
    assert np.any(before != after)
    for old, new in zip(before, after):
        assert len(set(new)) == 6
        for slot, pair in enumerate(old):
            assert new[slot] == pair or pair not in new


def test_slots_that_others_have_emptied_are_filled_again(problem: trajopt.ShootingProblem) -> None:
    """At the same states, where no body has moved."""
    xs, name = states(4, 7), "collisions.pair_slots"
    rows, before = problem.calc(xs, np.zeros((3, 7))).rows, indices(problem)
    empty = problem.get_parameter(name, "all")
    empty[:, 0] = -1.0
    problem.set_parameter(name, list(empty), "all")
    again = problem.calc(xs, np.zeros((3, 7))).rows
    np.testing.assert_array_equal(np.sort(again), np.sort(rows))
    np.testing.assert_array_equal(np.sort(indices(problem)), np.sort(before))


def functions(residual: ResidualModelCollisions) -> tuple[ca.Function, np.ndarray]:
    """(x, parameters) -> rows and their derivative by x, and the initial values of the parameters."""
    i = Instant(residual.state, 0)
    rows = [residual.evaluate(i), residual.derivative(i)[0]]
    return ca.Function("rows", [i.x, residual.layout.symbols], rows), residual.layout.column()


def check_derivatives(residual: ResidualModelCollisions, x: np.ndarray) -> np.ndarray:
    """Compares with central differences; returns the derivative (rows, ndx)."""
    state, (rows, values) = residual.state, functions(residual)

    def at(e: np.ndarray) -> np.ndarray:
        return np.array(rows(state.integrate(x, e), values)[0]).ravel()

    found = np.array(rows(x, values)[1])
    assert_close(found, central_differences(at, state.ndx))
    return found


def test_derivatives_are_those_of_differences_and_of_single_pairs() -> None:
    residual = ResidualModelCollisions(STATE, pairs=9)
    i, chosen = Instant(STATE, 0), residual.parameters()["pair_slots"].default.T[:, 0].astype(int)
    for x in states(4, 11):
        for row, pair in zip(check_derivatives(residual, x)[:3], chosen):
            single = trajopt.ResidualModelPairDistance(STATE, *(SHAPES.bodies[k] for k in SHAPES.pairs[pair]))
            of_pair = ca.Function("J", [i.x, single.layout.symbols], [single.derivative(i)[0]])
            np.testing.assert_allclose(row, np.array(of_pair(x, single.layout.column()))[0], atol=1e-12)


def test_derivatives_where_joints_mimic_others() -> None:
    robot = state_of("mimic").robot
    frames = [name for name in robot.frame_names if name != "universe"][:8]
    bodies = tuple(trajopt.Sphere(0.01, frame=frame, center=[0.1, 0.2, 0.3]) for frame in frames)
    pairs = tuple((0, j) for j in range(1, len(bodies))) + tuple((j - 1, j) for j in range(2, len(bodies)))
    state = trajopt.StateMultibody(robot.with_collision_shapes(CollisionShapes(bodies=bodies, pairs=pairs)))
    residual = ResidualModelCollisions(state, pairs=len(pairs))
    assert np.abs(check_derivatives(residual, state.rand(1))).max() > 0.1


def test_axes_that_are_points_are_measured_as_points() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 40, 2, 3))
    first[:20, 1], second[10:30, 1] = first[:20, 0], second[10:30, 0]
    shares = np.linspace(0.0, 1.0, 201)
    lines = [side[:, None, 0] + shares[:, None] * (side[:, None, 1] - side[:, None, 0]) for side in (first, second)]
    expected = np.linalg.norm(lines[0][:, :, None] - lines[1][:, None, :], axis=3).min(axis=(1, 2))
    np.testing.assert_allclose(axis_distances(first, second), expected, atol=4e-4)
    np.testing.assert_allclose(axis_distances(first, second)[10:20], np.linalg.norm(first - second, axis=2)[10:20, 0])


def test_the_least_distances_are_chosen_and_keep_their_places() -> None:
    gaps, groups = np.array([[3.0, 1.0, 4.0, 1.5, 9.0, 2.0, 6.0]]), np.array([0, 0, 1, 0, 1, 0, 2])
    np.testing.assert_array_equal(nearest(gaps, 3), [[1, 3, 5]])
    np.testing.assert_array_equal(nearest(gaps, 5, groups), [[1, 3, 2, 6, 4]])
    np.testing.assert_array_equal(nearest(gaps, 6, groups), [[1, 3, 2, 6, 4, 5]])
    old, new = np.array([[4, 7, 1, 9]]), np.array([[9, 2, 4, 3]])
    np.testing.assert_array_equal(in_place(old, new), [[4, 2, 3, 9]])


@pytest.mark.slow
def test_a_wide_margin_holds_from_obstacles_alone() -> None:
    """A Panda at rest, whose links are 4 cm apart by their shapes, keeps its posture 15 cm beside a ball."""
    state = trajopt.StateMultibody(trajopt.load_robot("panda"))
    scene = trajopt.Scene({"ball": trajopt.Sphere(0.1, center=[0.9, 0.0, 0.6])})
    (residual, lower, _), (_, own, _), (_, small, _) = (
        collision_rows(state, collisions=collisions, margin=margin)["collisions"]
        for collisions, margin in ((scene, 0.15), (True, 0.15), (scene, 0.005))
    )
    values = {name: p.flat(p.default)[None] for name, p in residual.parameters().items()}
    of_ball = ["ball" in words for words in residual.bodies_of_rows(values)[0]]
    assert 0 < sum(of_ball) < len(of_ball)
    np.testing.assert_array_equal(lower[12:], 0.15)
    np.testing.assert_array_equal(lower[:12], 0.01)
    assert not any(of_ball[:12])
    assert set(own) == {0.15}
    assert set(small) == {0.005}
    q = state.robot.configuration("default")
    tasks = trajopt.ConstraintStack(state).add("rest", trajopt.ResidualModelState(state, state.at_rest(q)), equals=0.0)
    assert trajopt.ik.solve(state.robot, tasks, start=q, collisions=scene, margin=0.15).solved
    assert not trajopt.ik.solve(state.robot, tasks, start=q, collisions=True, margin=0.15).solved


def test_wrong_collisions_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="pairs: expected an integer >= 1, got 0"):
        ResidualModelCollisions(STATE, pairs=0)
    none = ROBOT.with_collision_shapes(CollisionShapes(bodies=SHAPES.bodies, pairs=()))
    with pytest.raises(InvalidArgumentError, match="state: expected a robot with links that may touch"):
        ResidualModelCollisions(trajopt.StateMultibody(none))
    assert ResidualModelCollisions(STATE, pairs=100).nr == len(SHAPES.pairs)


SCENE = trajopt.Scene(
    {
        "ball": trajopt.Sphere(0.1, center=[0.3, 0.2, 0.3]),
        "table": trajopt.Box([1.0, 0.6, 0.05], placement=[0.2, 0.1, -0.4, 0.0, 0.0, 0.0, 1.0]),
        "pole": trajopt.Capsule(0.05, start=[-0.3, 0.3, -0.5], end=[-0.3, 0.3, 0.6]),
        "crate": trajopt.Box([0.2, 0.3, 0.4], placement=pin.SE3(pin.exp3(np.array([0.3, 0.5, 0.1])), np.ones(3) * 0.3)),
        "stone": trajopt.Sphere(0.2, center=[0.5, -0.5, 0.0]),
    }
)


@pytest.fixture(scope="module")
def scene_problem() -> trajopt.ShootingProblem:
    return problem_of(states(4), collisions=SCENE, obstacles=2)


def nearest_of(link: int, scene: trajopt.Scene, x: np.ndarray, every: bool = False) -> tuple[list[float], list[float]]:
    """The two least distances of a link's bodies from round obstacles, then from boxes, each in ascending order [m]."""
    found: dict[bool, list[float]] = {False: [], True: []}
    for body, obstacle in itertools.product(SHAPES.bodies[2 * link : 2 * link + 2], scene.obstacles.values()):
        single = trajopt.ResidualModelPairDistance(STATE, body, obstacle)
        value = ca.Function("r", [INSTANT.x, single.layout.symbols], [single.evaluate(INSTANT)])(
            x, single.layout.column()
        )
        found[isinstance(obstacle, trajopt.Box)].append(float(value))
    count = None if every else 2
    return sorted(found[False])[:count], sorted(found[True])[:count]


def test_rows_are_the_nearest_obstacles_of_each_link(scene_problem: trajopt.ShootingProblem) -> None:
    xs = states(4, 1)
    rows = scene_problem.calc(xs, np.zeros((3, 7))).rows[:, 6:].reshape(4, 2, 3, 2)
    for link in (1, 2, 3):  # the first one is fixed in the world
        for t in (0, 3):
            expected = nearest_of(link, SCENE, xs[t])
            np.testing.assert_allclose(np.sort(rows[t, :, link - 1], axis=1), expected, atol=1e-9)


def test_obstacles_move_at_run_time_and_between_knots(scene_problem: trajopt.ShootingProblem) -> None:
    xs = np.tile(states(1, 2), (4, 1))
    still = scene_problem.calc(xs, np.zeros((3, 7))).rows.copy()
    compiled = trajopt.kernels.compiler.compilations()
    path = [[0.3, 0.2, 0.3], [0.1, 0.1, 0.1], [0.0, 0.0, 0.0], [0.0, 0.1, 0.0]]
    scene_problem.set_parameter("collisions.ball", path, "all")
    scene_problem.set_parameter("collisions.table", [0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0])
    scene_problem.set_parameter("collisions.table_size", [0.5, 0.5, 0.1])
    rows = scene_problem.calc(xs, np.zeros((3, 7))).rows
    assert trajopt.kernels.compiler.compilations() == compiled
    assert np.any(rows != still)
    for t, centre in enumerate(path):
        moved = {**SCENE.obstacles, "ball": trajopt.Sphere(0.1, center=centre)}
        moved["table"] = trajopt.Box([0.5, 0.5, 0.1], placement=[0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0])
        found = np.sort(rows[t, 6:].reshape(2, 3, 2)[:, 2], axis=1)
        np.testing.assert_allclose(found, nearest_of(3, trajopt.Scene(moved), xs[t]), atol=1e-9)
    for name, value in (("ball", SCENE["ball"].center), ("table", SCENE["table"].placement)):
        scene_problem.set_parameter(f"collisions.{name}", value, "all")
    scene_problem.set_parameter("collisions.table_size", SCENE["table"].size)
    np.testing.assert_allclose(np.sort(scene_problem.calc(xs, np.zeros((3, 7))).rows), np.sort(still), atol=1e-12)


def test_derivatives_of_obstacles() -> None:
    residual = ResidualModelCollisions(STATE, SCENE, obstacles=3)
    assert residual.nr == 12 + 3 * 3 + 3 * 3
    for x in states(3, 12):
        assert np.abs(check_derivatives(residual, x)[12:]).max() > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("solver", [SolverSQP, SolverIpopt])
def test_solvers_keep_the_margin_with_few_slots(solver: Any) -> None:
    target = ROBOT.placement(random_configurations(ROBOT.model, 40, 8), "gripper_left_joint")[:, :3, 3]
    goal, motion = trajopt.ResidualModelFrameTranslation(STATE, "gripper_left_joint", target[0]), "motion"
    end = trajopt.CostStack(STATE).add("goal", goal, weight=100.0)
    end.add(motion, trajopt.ResidualModelState(STATE), weight=1e-2)
    terminal = [
        trajopt.ActionModelTerminal(end, constraints=trajopt.ConstraintStack.of_robot(STATE, collisions=on, pairs=3))
        for on in (False, True)
    ]
    least = []
    for at_end in terminal:
        nearest = []
        problem = trajopt.ShootingProblem(STATE.zero(), [], at_end, start="free")
        for each in target[11:14]:
            problem.set_parameter("goal.reference", each)
            solution = solver(problem).solve()
            found = body_distances(ROBOT.model, SHAPES.bodies, SHAPES.pairs, solution.xs[:, : ROBOT.nq])
            nearest.append(found.min() if solution.converged else np.inf)
        least.append(min(nearest))
        assert np.isfinite(nearest).sum() == 3
    assert least[0] < 0.0
    assert least[1] > 0.01 - 1e-5


@pytest.mark.parametrize("pairs", [1, 24])
def test_pairs_that_are_too_near_without_a_row_are_told(pairs: int) -> None:
    limits = trajopt.ConstraintStack.of_robot(STATE, collisions=SCENE, pairs=pairs, obstacles=1 if pairs == 1 else 9)
    end = trajopt.ActionModelTerminal(trajopt.CostStack(STATE), constraints=limits)
    x = STATE.zero()
    problem = trajopt.ShootingProblem(x, [], end)
    problem.set_parameter("collisions.lower", 0.5)
    rows = problem.calc([x], np.zeros((0, 0))).rows[0, -limits["collisions"].residual.size(0) :]
    lines = crowded_slots(solution_of(problem, x[None], np.zeros((0, 0))))
    gaps = body_distances(ROBOT.model, SHAPES.bodies, SHAPES.pairs, x[None, : ROBOT.nq])[0].tolist()
    for link in (1, 2, 3):
        gaps += itertools.chain(*nearest_of(link, SCENE, x, every=True))
    hidden = int((np.array(gaps) < 0.5).sum()) - int((rows < 0.5).sum())
    assert (hidden > 5) == (pairs == 1)
    assert len(lines) == (hidden > 0)
    if lines:
        assert f"too near without a row of 'collisions', {hidden} in all: arm_left_" in lines[0]
        assert "m apart at knot 0" in lines[0]


@pytest.mark.parametrize(
    ("obstacles", "message"),
    [
        ({}, "obstacles: expected at least one obstacle, got none"),
        ({"a b": trajopt.Sphere(0.1)}, "expected identifiers such as 'table'"),
        (
            {"ball": trajopt.Sphere(0.1, frame="tool0")},
            r"obstacles\['ball'\]: expected an obstacle that is fixed",
        ),
        ({"ball": [0.0, 0.0, 1.0]}, r"obstacles\['ball'\]: expected a Sphere, a Capsule, a Box or a TriangleMesh"),
        ({"shelf": trajopt.Box([800.0, 300.0, 20.0])}, r"obstacles\['shelf'\]: expected metres, got a number of 800"),
    ],
)
def test_wrong_scenes_are_refused(obstacles: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        trajopt.Scene(obstacles)


def test_wrong_obstacles_are_refused(scene_problem: trajopt.ShootingProblem) -> None:
    with pytest.raises(InvalidArgumentError, match="collisions: expected True, False or a Scene"):
        trajopt.ConstraintStack.of_robot(STATE, collisions={"ball": trajopt.Sphere(0.1)})  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="collisions.table_size: expected three sides > 0"):
        scene_problem.set_parameter("collisions.table_size", [0.0, 1.0, 1.0])
    with pytest.raises(InvalidArgumentError, match="collisions.ball_radius: expected a number > 0"):
        scene_problem.set_parameter("collisions.ball_radius", 0.0)
    with pytest.raises(UnknownNameError, match="obstacle 'tabel' not found; did you mean 'table'"):
        _ = SCENE["tabel"]
    assert repr(SCENE) == "Scene(ball: Sphere, table: Box, pole: Capsule, crate: Box, stone: Sphere)"
    assert [each.kind for each in SCENE.solids()] == ["sphere", "box", "capsule", "box", "sphere"]
    again = pickle.loads(pickle.dumps(ResidualModelCollisions(STATE, SCENE)))
    np.testing.assert_array_equal(again.layout.column(), ResidualModelCollisions(STATE, SCENE).layout.column())
