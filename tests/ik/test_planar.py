"""Planar arms, whose answers are known in closed form."""

from __future__ import annotations

import numpy as np
import pytest

import trajopt
from tests.support.ik_robots import three_links, within
from trajopt import ik
from trajopt.errors import InvalidArgumentError
from trajopt.ik import IKStatus, planar_2r


def test_an_unreachable_target_ends_at_the_nearest_configuration() -> None:
    """The arm of 10, 10, 10 stretches towards (20, 25), 32.0156 away."""
    state = three_links()
    residual = trajopt.ResidualModelFrameTranslation(state, "tip", [20.0, 25.0, 0.0])
    result = ik.solve(state.robot, trajopt.ConstraintStack(state).add("tip", residual, equals=0.0))
    away = np.hypot(20.0, 25.0)
    assert result.status is IKStatus.UNREACHABLE
    assert not result.solved
    assert result.distance == pytest.approx(away - 30.0, abs=1e-6)  # 2.0156
    np.testing.assert_allclose(
        state.robot.placement(result.q, "tip")[:2, 3], 30.0 * np.array([20, 25]) / away, atol=1e-4
    )
    assert len(result.configurations) == 1
    assert "distance   2.01562" in str(result)


def test_the_same_as_a_cost() -> None:
    state = three_links()
    residual = trajopt.ResidualModelFrameTranslation(state, "tip", [20.0, 25.0, 0.0])
    result = ik.solve(state.robot, trajopt.CostStack(state).add("tip", residual, weight=2.0))
    assert result.solved
    assert result.cost == pytest.approx((np.hypot(20.0, 25.0) - 30.0) ** 2, abs=1e-5)


@pytest.mark.parametrize("target", [(0.3, 0.6), (-0.5, 0.2), (0.1, -0.8)])
def test_both_branches_of_two_links(target: tuple[float, float]) -> None:
    branches, distance = planar_2r(target, first=0.5, second=0.5)
    assert distance == pytest.approx(0.0, abs=1e-12)
    assert branches[0, 1] == pytest.approx(-branches[1, 1])
    state = trajopt.StateMultibody(trajopt.load_robot("planar-2r"))
    for q in branches:
        np.testing.assert_allclose(state.robot.placement(q, "tool")[[0, 2], 3], target, atol=1e-12)
    point = [target[0], 0.0, target[1]]
    residual = trajopt.ResidualModelFrameTranslation(state, "tool", point)
    result = ik.solve(state.robot, trajopt.ConstraintStack(state).add("tool", residual, equals=0.0), tolerance=1e-9)
    assert len(result.configurations) == 2
    order = np.argsort(-result.configurations[:, 1])
    np.testing.assert_allclose(result.configurations[order], branches, atol=1e-7)


def test_two_links_out_of_reach() -> None:
    branches, distance = planar_2r([3.0, 4.0])
    np.testing.assert_allclose(branches, [[np.arctan2(4, 3), 0.0]] * 2)
    assert distance == pytest.approx(3.0)
    branches, distance = planar_2r([0.5, 0.0], first=2.0, second=1.0)
    np.testing.assert_allclose(np.abs(branches[:, 1]), np.pi)
    assert distance == pytest.approx(0.5)


def test_many_points_give_the_results_of_single_points() -> None:
    points = np.random.default_rng(0).uniform(-3.0, 3.0, (40, 2))  # some are out of reach
    branches, distances = planar_2r(points, first=0.7, second=1.1)
    assert branches.shape == (40, 2, 2)
    assert 5 < np.sum(distances > 1e-9) < 35
    for point, each, distance in zip(points, branches, distances, strict=True):
        one, away = planar_2r(point, first=0.7, second=1.1)
        assert isinstance(away, float)
        np.testing.assert_array_equal(each, one)
        assert distance == away
    assert planar_2r(np.zeros((0, 2)))[0].shape == (0, 2, 2)


def test_bad_links() -> None:
    with pytest.raises(InvalidArgumentError, match=r"first: expected .* got -1"):
        planar_2r([0.5, 0.0], first=-1.0)
    with pytest.raises(InvalidArgumentError, match=r"target: expected shape \(2,\), got \(3,\)"):
        planar_2r([0.5, 0.0, 0.0])
    with pytest.raises(InvalidArgumentError, match=r"target: expected shape \(2, 2\), got \(2, 3\); pass a point"):
        planar_2r(np.zeros((2, 3)))
    with pytest.raises(InvalidArgumentError, match=r"target: expected finite numbers, got nan at index \(1, 0\)"):
        planar_2r([[0.5, 0.0], [np.nan, 0.0]])


def test_nearest_configurations_are_stationary_within_narrow_limits() -> None:
    """Of ½ |p(q) - t|²: no slope along free joints, and one that presses at limits, which hold to the last bit."""
    lower, upper = np.array([-0.7, -1 / 3, 0.1]), np.array([0.9 / 7, 0.41, 1.3 / 3])
    robot = trajopt.load_robot("planar-3r")
    state = trajopt.StateMultibody(robot, lower=[*lower, -1, -1, -1], upper=[*upper, 1, 1, 1])
    task = trajopt.ConstraintStack(state).add("tool", trajopt.ResidualModelFrameTranslation(state, "tool"), equals=0.0)
    points = np.random.default_rng(2).uniform(-1.5, 1.5, (80, 3)) * [1.0, 0.0, 1.0]
    batch = ik.solve_batch(robot, task, {"tool.reference": points})
    assert 0 < batch.solved.sum() < 40
    assert within(state, batch.q).all()
    sides = [0, 0]
    for q, point in zip(batch.q[~batch.solved], points[~batch.solved], strict=True):

        def half_squared(q: object, point: object = point) -> float:
            return 0.5 * float(np.sum((robot.placement(q, "tool")[:3, 3] - point) ** 2))

        slope = [(half_squared(q + step) - half_squared(q - step)) / 2e-6 for step in 1e-6 * np.eye(3)]
        at_lower, at_upper = q == lower, q == upper
        pressed = np.where(at_lower, np.minimum(slope, 0.0), np.where(at_upper, np.maximum(slope, 0.0), slope))
        np.testing.assert_allclose(pressed, 0.0, atol=2e-6)
        sides[0] += at_lower.sum()
        sides[1] += at_upper.sum()
    assert min(sides) > 20
