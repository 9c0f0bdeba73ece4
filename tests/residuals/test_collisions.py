"""Rows of the nearest pairs of links: their choice, values and derivatives are those of the pairs themselves."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import trajopt
from tests.support.collision_arm import collision_arm
from tests.support.model_list import state_of
from tests.support.slow_twin import assert_close, central_differences
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.residuals import ResidualModelCollisions
from trajopt.residuals.nearest import in_place, nearest_pairs
from trajopt.robots.collisions import CollisionShapes
from trajopt.robots.collisions.distances import axis_distances, body_distances
from trajopt.robots.collisions.samples import random_configurations

STATE = collision_arm()
SHAPES, ROBOT = STATE.robot.collision_shapes, STATE.robot


def problem_of(states: np.ndarray, pairs: int = 6) -> trajopt.ShootingProblem:
    """A problem that does not move, with a row for each slot, also at the end."""
    rows = trajopt.ConstraintStack.of_robot(STATE, collisions=True, pairs=pairs, positions=False, velocities=False)
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
    shares = np.linspace(0.0, 1.0, 401)
    lines = [side[:, None, 0] + shares[:, None] * (side[:, None, 1] - side[:, None, 0]) for side in (first, second)]
    expected = np.linalg.norm(lines[0][:, :, None] - lines[1][:, None, :], axis=3).min(axis=(1, 2))
    np.testing.assert_allclose(axis_distances(first, second), expected, atol=1e-4)
    np.testing.assert_allclose(axis_distances(first, second)[10:20], np.linalg.norm(first - second, axis=2)[10:20, 0])


def test_bounding_spheres_leave_the_nearest_pairs_over() -> None:
    rng = np.random.default_rng(1)
    points = rng.uniform(-1.0, 1.0, (20, 30, 1, 3)) + rng.uniform(-0.1, 0.1, (20, 30, 2, 3))
    pairs = np.array([(i, j) for i in range(30) for j in range(i)])
    radii = rng.uniform(0.01, 0.05, 30)
    chosen, gaps = nearest_pairs(points, radii, pairs, np.arange(len(pairs)), 8)
    all_gaps = axis_distances(points[:, pairs[:, 0]], points[:, pairs[:, 1]]) - radii[pairs].sum(axis=1)
    np.testing.assert_allclose(gaps, np.sort(all_gaps, axis=1)[:, :8], atol=1e-12)
    np.testing.assert_allclose(np.take_along_axis(all_gaps, chosen, axis=1), gaps, atol=1e-12)
    old, new = np.array([[4, 7, 1, 9]]), np.array([[9, 2, 4, 3]])
    np.testing.assert_array_equal(in_place(old, new), [[4, 2, 3, 9]])


def test_wrong_collisions_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="pairs: expected an integer >= 1, got 0"):
        ResidualModelCollisions(STATE, pairs=0)
    none = ROBOT.with_collision_shapes(CollisionShapes(bodies=SHAPES.bodies, pairs=()))
    with pytest.raises(InvalidArgumentError, match="state: expected a robot with links that may touch"):
        ResidualModelCollisions(trajopt.StateMultibody(none))
    assert ResidualModelCollisions(STATE, pairs=100).nr == len(SHAPES.pairs)
