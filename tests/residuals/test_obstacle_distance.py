"""Distances of a body from many circles and balls: numbers of the robotics notebook, centres, costs, rows, misuse."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest

import trajopt
from tests.support.model_list import state_of
from trajopt.analysis import clearance
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.kernels import compilations
from trajopt.solvers import SolverSQP

Reals = npt.NDArray[np.float64]
PLANE = trajopt.StateVector(2, names=["x", "y"])


def values(residual: trajopt.ResidualModelObstacleDistance, x: npt.ArrayLike) -> tuple[Reals, Reals]:
    """r and its derivative."""
    i = Instant(residual.state, 0)
    function = ca.Function("r", [i.x, residual.layout.symbols], [residual.evaluate(i), residual.derivative(i)[0]])
    r, by_x = function(x, residual.layout.column())
    return np.asarray(r).ravel(), np.asarray(by_x)


def test_two_circles_collide() -> None:
    """collide((4, 5), 2, (7, 7.6), 2) of the robotics notebook, in the plane, and of balls, pillars and two spheres."""
    expected = -0.0301133517
    plane = trajopt.ResidualModelObstacleDistance(PLANE, [[7.0, 7.6, 2.0], [7.0, 5.0, 0.5]], 2.0)
    np.testing.assert_allclose(values(plane, [4.0, 5.0])[0], [expected, 0.5], atol=1e-10)
    assert clearance([[4.0, 5.0]], [7.0, 7.6, 2.0], 2.0) == pytest.approx(expected, abs=1e-10)
    state: Any = state_of("drone")
    x = state.zero()
    place = state.robot.placement(x[: state.nq], "tip")[:3, 3]
    body = trajopt.Sphere(2.0, frame="tip")
    for ends in ([3.0, 2.6], [3.0, 2.6, 0.0]):
        n = len(ends)
        residual = trajopt.ResidualModelObstacleDistance(state, [[*(place[:n] + ends), 2.0]], body)
        assert values(residual, x)[0] == pytest.approx(expected, abs=1e-10)
    ball = trajopt.Sphere(2.0, center=place + np.array([3.0, 2.6, 0.0]))
    two = trajopt.ResidualModelPairDistance(state, body, ball)
    i = Instant(state, 0)
    found = ca.Function("r", [i.x, two.layout.symbols], [two.evaluate(i)])(x, two.layout.column())
    assert float(found) == pytest.approx(expected, abs=1e-10)


def test_it_is_smooth_at_the_centre() -> None:
    """The slope falls to 0 within a tenth of the radii, without a jump, and second derivatives are finite."""
    residual = trajopt.ResidualModelObstacleDistance(PLANE, [[0.0, 0.0, 0.8]], 0.2)
    r, by_x = values(residual, [0.0, 0.0])
    np.testing.assert_array_equal(by_x, [[0.0, 0.0]])
    assert r[0] == pytest.approx(-1.0 + 0.05)
    for x in (0.02, 0.0999999, 0.1000001, 0.5, 3.0):
        r, by_x = values(residual, [x, 0.0])
        exact, slope = (x - 1.0, 1.0) if x > 0.1 else (x**2 / 0.2 + 0.05 - 1.0, x / 0.1)
        assert r[0] == pytest.approx(exact, abs=1e-12)
        np.testing.assert_allclose(by_x, [[slope, 0.0]], atol=1e-12)
    i = Instant(PLANE, 0)
    second = ca.hessian(residual.evaluate(i), i.x)[0]
    at = ca.Function("h", [i.x, residual.layout.symbols], [second])
    np.testing.assert_allclose(np.asarray(at([0.0, 0.0], residual.layout.column())), 10.0 * np.eye(2), atol=1e-9)


def test_a_capsule_is_the_nearest_of_its_spheres() -> None:
    state: Any = state_of("talos_arm")
    frame, start, end = "gripper_left_joint", np.array([0.0, 0.1, 0.0]), np.array([0.1, 0.0, -0.4])
    balls = np.array([[0.4, 0.3, 0.1, 0.1], [-0.2, 0.5, -0.3, 0.15], [0.1, 0.2, -0.6, 0.2]])
    residual = trajopt.ResidualModelObstacleDistance(
        state, balls, trajopt.Capsule(0.05, start=start, end=end, frame=frame)
    )
    for seed in range(5):
        x = state.rand(seed)
        placement = state.robot.placement(x[: state.nq], frame)
        along = start + np.linspace(0.0, 1.0, 4001)[:, None] * (end - start)
        points = along @ placement[:3, :3].T + placement[:3, 3]
        away = np.linalg.norm(points[:, None] - balls[:, :3], axis=2).min(axis=0) - balls[:, 3] - 0.05
        np.testing.assert_allclose(values(residual, x)[0], away, atol=1e-7)


# In problems


def point_among(circles: Any, **options: Any) -> trajopt.ShootingProblem:
    """A point moves by 2 m in 20 steps of its velocity, around circles; they are rows, or a cost without `rows`."""
    body = trajopt.ResidualModelObstacleDistance(PLANE, circles, 0.2)
    costs = trajopt.CostStack(PLANE).add("control", trajopt.ResidualModelControl(PLANE), weight=1.0)
    rows = trajopt.ConstraintStack(PLANE)
    if options.pop("as_cost", False):
        barrier = trajopt.ActivationModelQuadraticBarrier([0.05], [np.inf])
        costs.add("obstacles", body, weight=1e4, activation=barrier)
    else:
        rows.add("obstacles", body, lower=0.05, **options)
    end = trajopt.ConstraintStack(PLANE).add("goal", trajopt.ResidualModelState(PLANE, [2.0, 0.0]), equals=0.0)
    node = trajopt.IntegratedActionModelEuler(Velocity(costs, rows), dt=0.1)
    terminal = trajopt.ActionModelTerminal(trajopt.CostStack(PLANE), constraints=end)
    return trajopt.ShootingProblem(np.zeros(2), [node] * 20, terminal)


class Velocity(trajopt.DifferentialActionModelSymbolic):
    """ẋ = u."""

    def __init__(self, costs: trajopt.CostStack, rows: trajopt.ConstraintStack) -> None:
        super().__init__(PLANE, 2, costs, constraints=rows)

    def xdot(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return u


def solved(problem: trajopt.ShootingProblem) -> trajopt.Solution:
    xs = np.linspace([0.0, 0.0], [2.0, 0.0], 21)
    return SolverSQP(problem).solve(xs, np.tile([1.0, 0.0], (20, 1)))


def test_rows_hold_and_circles_that_move_compile_nothing() -> None:
    """Around a circle the way is a tangent, an arc and a tangent; then the circle stands on the other side."""
    problem = point_among([[1.0, 0.1, 0.3]])
    solution = solved(problem)
    assert solution.converged
    assert solution.xs[:, 1].min() < -0.3
    assert np.linalg.norm(solution.xs - [1.0, 0.1], axis=1).min() == pytest.approx(0.55, abs=1e-6)
    assert 0.0 < clearance(solution.xs, [1.0, 0.1, 0.3], 0.2) < 0.05  # chords cut the margin
    before = compilations()
    problem.set_parameter("obstacles.circles", [[1.0, -0.1, 0.4]])
    again = solved(problem)
    assert compilations() == before
    assert again.converged
    assert again.xs[:, 1].max() > 0.3
    assert np.linalg.norm(again.xs - [1.0, -0.1], axis=1).min() == pytest.approx(0.65, abs=1e-6)


def test_soft_rows_and_barriers_give_way_a_little() -> None:
    for options in ({"soft": (0.0, 1e4)}, {"as_cost": True}):
        solution = solved(point_among([[1.0, 0.1, 0.3]], **options))
        assert solution.converged
        least = np.linalg.norm(solution.xs - [1.0, 0.1], axis=1).min()
        assert 0.54 < least < 0.55


def test_clearance_is_exact_along_chords() -> None:
    rng = np.random.default_rng(1)
    path, circles = rng.normal(size=(6, 2)), np.column_stack([rng.normal(size=(4, 2)), [0.1, 0.2, 0.1, 0.3]])
    part = np.linspace(0.0, 1.0, 20001)[:, None, None]
    points = ((1 - part) * path[:-1] + part * path[1:]).reshape(-1, 1, 2)
    fine = (np.linalg.norm(points - circles[:, :2], axis=2) - circles[:, 2]).min()
    assert clearance(path, circles) == pytest.approx(fine, abs=1e-7)
    assert clearance(path[:1], circles) == (np.linalg.norm(path[0] - circles[:, :2], axis=1) - circles[:, 2]).min()
    assert clearance(path, []) == np.inf
    assert clearance([[0.0, 0.0], [1.0, 0.0]], [[-3.0, 0.0, 0.5], [9.0, 0.0, 0.5]]) == 2.5  # before the start
    with pytest.raises(InvalidArgumentError, match=r"path: expected points \(T \+ 1, 3 or more\)"):
        clearance(path, [0.0, 0.0, 0.0, 1.0])


def test_bad_arguments() -> None:
    distance, arm, row = trajopt.ResidualModelObstacleDistance, state_of("talos_arm"), [[1.0, 2.0, 0.5]]
    hand = trajopt.Capsule(0.1, start=[0, 0, 0], end=[0, 0, 1], frame="gripper_left_joint")
    for rows, words in (
        ([], "obstacles: expected at least one obstacle, got none"),
        ([[1.0, 2.0]], r"obstacles: expected rows \(x, y, radius\) or \(x, y, z, radius\)"),
        ([[1.0, 2.0, 0.0]], "with radius > 0"),
        ([[np.inf, 2.0, 1.0]], "obstacles: expected rows"),
    ):
        with pytest.raises(InvalidArgumentError, match=words):
            distance(PLANE, rows)
    with pytest.raises(InvalidArgumentError, match=r"body: expected a Sphere or Capsule.*got 0.1"):
        distance(arm, row, 0.1)
    with pytest.raises(InvalidArgumentError, match=r"does not begin with \(x, y, z\)"):
        distance(PLANE, [[1.0, 2.0, 3.0, 0.5]])
    with pytest.raises(InvalidArgumentError, match=r"body: expected a shape with a frame"):
        distance(arm, row, trajopt.Sphere(0.1))
    with pytest.raises(InvalidArgumentError, match=r"balls \(x, y, z, radius\) for a Capsule, got circles"):
        distance(arm, row, hand)
    with pytest.raises(InvalidArgumentError, match=r"body: expected a number >= 0 \[m\], got -1"):
        distance(PLANE, row, -1.0)
    with pytest.raises(InvalidArgumentError, match=r"expected 1 rows as at construction, got 2"):
        distance(PLANE, row).layout.column({"circles": row * 2})
