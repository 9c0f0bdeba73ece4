"""Closed loops in front of a wall of posts: stuck in noise, through it, and past a post between two measurements."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

import trajopt
from tests.support.posts import BODY
from trajopt import mpc, planar
from trajopt.mpc.stuck import stuck
from trajopt.types import Reals

WALL = np.array([[3.0, y, 0.3] for y in (-1.2, -0.6, 0.0, 0.6, 1.2)])  # touching posts (x, y, radius) [m]


def loop(posts: Reals, margin: float, dt: float, *, seed: int | None = None) -> mpc.ClosedLoop:
    """A robot on its way to (6, 0) with plans of 5 s; with a seed, its wheels and measurements have noise."""
    state = planar.state_of_pose()
    goal = trajopt.ResidualModelState(state, [6.0, 0.0, 0.0])
    pose = trajopt.ActivationModelWeightedQuad([10.0, 10.0, 1.0])
    costs = trajopt.CostStack(state).add("goal", goal, weight=1.0, activation=pose)
    costs.add("effort", trajopt.ResidualModelControl(state), weight=1e-2)
    end = trajopt.CostStack(state).add("goal", goal, weight=5.0, activation=pose)
    rows = planar.limit_wheels(trajopt.ConstraintStack(state), 8.0)
    rows.add("posts", trajopt.ResidualModelObstacleDistance(state, posts, BODY), lower=margin)
    model = planar.DifferentialActionModelDiffDrive(costs, radius=0.1, half_track=0.2, constraints=rows)
    knots = [trajopt.IntegratedActionModelRK4(model, dt=dt)] * int(5.0 / dt)
    controller = mpc.MPCController(trajopt.ShootingProblem(np.zeros(3), knots, end), options=mpc.MPCOptions(dt=dt))
    if seed is None:
        return mpc.simulate(controller, None, np.zeros(3), 16.0)
    rng = np.random.default_rng(seed)

    def plant(x: Reals, u: Reals, h: float) -> Reals:
        u = u + 0.2 * rng.normal(size=2)
        v, w = 0.05 * (u[0] + u[1]), 0.25 * (u[0] - u[1])
        for _ in range(50):
            x = x + h / 50 * np.array([v * np.cos(x[2] + w * h / 100), v * np.sin(x[2] + w * h / 100), w])
        return x

    return mpc.simulate(controller, plant, np.zeros(3), 24.0, noise=0.01, seed=seed)


@cache
def noisy(seed: int) -> mpc.ClosedLoop:
    return loop(WALL, 0.1, 0.2, seed=seed)


def depth(log: mpc.ClosedLoop) -> float:
    """How deep the body was in a post [m]."""
    return float(0.3 + BODY - np.hypot(log.xs[:, None, 0] - WALL[:, 0], log.xs[:, None, 1] - WALL[:, 1]).min())


SEEDS = range(14)  # rounding decides which of them stay in front of the wall and which break through


def test_a_robot_that_noise_moves_along_a_wall_is_stuck() -> None:
    """It comes no nearer for half of the time, and names no wrong parameters."""
    logs = [noisy(seed) for seed in SEEDS if noisy(seed).xs[-1, 0] < 2.8]
    assert len(logs) >= 4
    for log in logs:
        found = stuck(log)
        assert found is not None
        assert set(found.obstacles) <= {f"posts[circle {i}]" for i in range(1, 4)}
        assert re.search("the plant (moves to and fro|stands still) in front of posts", log.explain())
        assert "the model's parameters may be wrong" not in log.explain()
    assert any("moves to and fro" in log.explain() for log in logs)


def test_a_robot_that_drives_through_a_wall_is_told() -> None:
    """Soft rows give way, so steps are solved; 0.5 m deep is no noise."""
    logs = [noisy(seed) for seed in SEEDS if depth(noisy(seed)) > 0.2]
    assert len(logs) >= 2
    for log in logs:
        assert log.counts["solved"] == len(log)
        (line,) = [each for each in log.explain().splitlines() if "the plant violates" in each]
        assert log.violated["posts"] == pytest.approx(depth(log) + 0.1, abs=0.03)
        assert f"by {log.violated['posts']:.3g} m at " in line
        assert "\nthe plant violates posts by " in log.plot().get_suptitle()
        assert "although all steps are solved: allow more iterations (MPCOptions.iterations)" in line


def test_a_margin_that_noise_uses_is_no_fault() -> None:
    log = noisy(10)
    assert log.violated["posts"] > 1e-3
    assert "the plant violates" not in log.explain()


def test_a_post_is_passed_between_two_measurements() -> None:
    """A thin post in the way, 0.5 s between measurements: they are 0 m from the body, and 8 cm deep between."""
    log = loop(np.array([[3.0, 0.02, 0.02]]), 0.0, 0.5)
    assert log.violated == {}
    words = "violated between measurements: posts by 0.083 m from 3.5 to 4 s"
    assert log.report()["constraints"].endswith(words)
    assert log.report()["constraints"].startswith("hold at measurements to")
    assert f"-> {words}: measure more often (MPCOptions.dt)" in log.explain()
    wide = loop(np.array([[3.0, 0.02, 0.02]]), 0.1, 0.25)
    assert "hold to" in wide.report()["constraints"]
    assert "->" not in wide.explain()
