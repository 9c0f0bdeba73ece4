"""Closest points between bodies and obstacles, and what joints and feet use of their limits."""

from __future__ import annotations

import numpy as np
import pytest

import trajopt
from tests.display.test_layers_around import BALLS, point_among
from tests.support.unsolved import solution_of, trot
from trajopt import problems
from trajopt.analysis import constraint_rows, legged_motion
from trajopt.analysis.approaches import approaches_of
from trajopt.analysis.limits import joint_uses, limit_uses
from trajopt.solution import Solution


def among_spheres() -> Solution:
    """The arm among spheres, along its guess and beside it."""
    case = problems.load("arm-spheres")
    rng = np.random.default_rng(0)
    xs = np.tile(case.problem.x0, (case.problem.T + 1, 1)) + rng.normal(0.0, 0.3, (case.problem.T + 1, 12))
    return solution_of(case.problem, xs, np.zeros((case.problem.T, 6)))


def test_distances_of_a_body_from_obstacles_are_those_of_its_residual() -> None:
    solution = among_spheres()
    rows = {each.name: each for each in constraint_rows(solution)}
    found = approaches_of(solution)
    assert [each.name for each in found] == ["upper_arm", "forearm", "wrist", "tool"]
    for each in found:
        here = np.flatnonzero(np.isfinite(rows[each.name].values[:, 0]))
        assert len(here) > 10
        expected = rows[each.name].values.min(axis=1)
        np.testing.assert_allclose(each.distances[here], expected[here], atol=1e-9)
        assert np.isnan(np.delete(each.distances, here)).all()
        gap = np.linalg.norm(each.ends - each.starts, axis=1)
        np.testing.assert_allclose(gap[here], np.abs(expected)[here], atol=1e-9)
        np.testing.assert_allclose(each.least[here], rows[each.name].lower[here, 0])


def test_a_point_meets_the_nearest_ball_on_its_surface() -> None:
    solution = point_among(lambda state: trajopt.ResidualModelObstacleDistance(state, BALLS))
    (found,) = approaches_of(solution)
    centers, radii = BALLS[:, :3], BALLS[:, 3]
    for t in range(4):
        away = np.linalg.norm(centers - solution.xs[t], axis=1) - radii
        i = int(away.argmin())
        assert found.distances[t] == pytest.approx(away[i])
        np.testing.assert_allclose(found.starts[t], solution.xs[t], atol=1e-12)
        assert np.linalg.norm(found.ends[t] - centers[i]) == pytest.approx(radii[i])


def test_two_capsules_are_as_far_apart_as_their_residual_says() -> None:
    state = trajopt.StateMultibody(trajopt.load_robot("planar-3r"))
    first = trajopt.Capsule(0.04, start=(-0.2, 0.0, 0.0), end=(0.1, 0.0, 0.0), frame="tool")
    post = trajopt.Capsule(0.1, start=(0.0, 1.0, 0.0), end=(0.0, 1.0, 2.0))
    pair = trajopt.ResidualModelPairDistance(state, first, post)
    end = trajopt.ConstraintStack(state).add("post", pair, lower=0.02)
    terminal = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=end)
    x = np.r_[0.3, -0.4, 0.8, np.zeros(3)]
    solution = solution_of(trajopt.ShootingProblem(x, [], terminal), x[None], np.zeros((0, 3)))
    (rows,), (found,) = constraint_rows(solution), approaches_of(solution)
    assert found.distances == pytest.approx(rows.values[:, 0])
    assert found.margins == pytest.approx(rows.values[:, 0] - 0.02)
    assert np.linalg.norm(found.ends[0, :2] - [0.0, 1.0]) == pytest.approx(0.1)


def test_the_largest_use_of_joints_is_that_of_the_report() -> None:
    problem, rng = problems.load("arm-reach").problem, np.random.default_rng(0)
    xs, us = rng.normal(0.0, 1.0, (problem.T + 1, 12)), rng.normal(0.0, 50.0, (problem.T, 6))
    solution = solution_of(problem, xs, us)
    found = joint_uses(solution)
    expected: dict[str, float] = {}
    for use in limit_uses(solution):
        expected[use.name] = max(use.use, expected.get(use.name, -np.inf))
    assert len({use.quantity for use in limit_uses(solution)}) == 3
    assert {joint: uses.max() for joint, uses in found.items()} == pytest.approx(expected)
    assert all(len(uses) == len(solution.xs) for uses in found.values())


def test_friction_is_used_by_tangential_force_over_the_cone() -> None:
    for foot in legged_motion(trot()).feet:
        use = foot.cone_use
        stands = foot.stands & np.isfinite(foot.mu)
        assert np.isnan(use[~stands]).all()
        pushed = stands & (foot.normal_forces > 0)
        assert pushed.any()
        np.testing.assert_allclose((use * foot.mu * foot.normal_forces)[pushed], foot.tangential_forces[pushed])
        assert np.isinf(use[stands & ~pushed]).all()
