"""Closed loops that stand still in front of a post, which their reference leads through."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import trajopt
from tests.support.posts import BODY
from trajopt import mpc, planar
from trajopt.mpc.stuck import stuck
from trajopt.types import Reals

POST, MARGIN = np.array([[2.0, 0.0, 0.4]]), 0.05  # [m]
X0 = np.zeros(3)


def loop(reference: Reals, duration: float = 8.0, post: Reals = POST) -> mpc.ClosedLoop:
    """A robot with a window of 1.5 s follows poses (n, 3), one each 0.1 s, beside a post."""
    state = planar.state_of_pose()
    weights = trajopt.ActivationModelWeightedQuad([1.0, 1.0, 0.2])
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), weight=1e-2)
    costs.add("path", trajopt.ResidualModelState(state), weight=10.0, activation=weights)
    rows = planar.limit_wheels(trajopt.ConstraintStack(state), 10.0)
    rows.add("posts", trajopt.ResidualModelObstacleDistance(state, post, BODY), lower=MARGIN)
    model = planar.DifferentialActionModelDiffDrive(costs, radius=0.1, half_track=0.2, constraints=rows)
    end = trajopt.CostStack(state).add("path", trajopt.ResidualModelState(state), weight=30.0, activation=weights)
    problem = trajopt.ShootingProblem(X0, [trajopt.IntegratedActionModelRK4(model, dt=0.1)] * 15, end)
    controller = mpc.MPCController(problem, options=mpc.MPCOptions(dt=0.1, hessian="gauss-newton"))
    controller.follow("path.reference", (0.1 * np.arange(len(reference)), reference), hold=True)
    return mpc.simulate(controller, None, X0, duration)


@pytest.fixture(scope="module")
def blocked() -> mpc.ClosedLoop:
    """The reference is the straight line through the centre of the post."""
    return loop(np.linspace(X0, [4.0, 0.0, 0.0], 51))


@pytest.mark.slow
def test_a_robot_behind_a_post_is_said_to_stand_still(blocked: mpc.ClosedLoop, tmp_path: Path) -> None:
    x, y, _ = blocked.xs[-1]
    assert np.hypot(x - 2.0, y) == pytest.approx(0.4 + BODY + MARGIN, abs=0.02)
    found = stuck(blocked)
    assert found is not None
    assert found.obstacles == found.through == ("posts",)
    assert found.distance == pytest.approx(np.hypot(4.0 - x, y), abs=1e-3)
    assert np.ptp(blocked.xs[round(found.since / 0.1) :, :2], axis=0).max() < 0.1
    (line,) = [each for each in blocked.explain().splitlines() if "stands still" in each]
    assert line.startswith(f"-> from {found.since:.3g} s on the plant stands still in front of posts, ")
    assert "m from its reference, which leads through posts: follow a way around" in line
    assert 'controller.follow("path.reference"' in line
    heading = blocked.plot().get_suptitle()
    assert "\nfrom " in heading
    assert "stands still in front of posts" in heading
    assert line in mpc.ClosedLoop.load(blocked.save(tmp_path / "log.npz")).explain().splitlines()


def test_a_robot_on_a_way_around_does_not_stand_still() -> None:
    times = np.linspace(0.0, 7.0, 71)
    way = planar.around(X0, [4.0, 0.0], POST, times, margin=BODY + MARGIN)
    log = loop(way.poses)
    assert np.linalg.norm(log.xs[-1, :2] - [4.0, 0.0]) < 0.05
    assert stuck(log) is None
    assert "stands still" not in log.explain()


def test_a_robot_that_stands_where_no_obstacle_is_near_is_not_stuck(blocked: mpc.ClosedLoop) -> None:
    """Nor is one that still moves."""
    assert stuck(loop(np.linspace(X0, [4.0, 0.0, 0.0], 51), duration=1.5)) is None
    short = dataclasses.replace(blocked, kept=())
    assert stuck(short) is None
    away = loop(np.zeros((2, 3)), duration=2.0, post=np.array([[0.0, 3.0, 0.4]]))
    assert stuck(away) is None
