"""Searches that look only where paths can be shorter than a known one."""

from __future__ import annotations

import time

import numpy as np
import pytest

import trajopt
from tests.planning.test_plan import GOAL, MARGIN, START, arm, scene
from trajopt.planning.free_space import FreeSpace
from trajopt.planning.search import PathSearch

pytest.importorskip("ompl")

VELOCITY = np.array([1.0, 2.0, 3.0])  # [rad/s]


@pytest.mark.slow
def test_plans_under_a_beam_take_a_short_way_with_any_seed() -> None:
    """With two seeds of five the wrist turned about, in 2 s instead of 1 s."""
    pytest.importorskip("example_robot_data")
    robot = trajopt.load_robot("ur5")
    boxes = {
        "pillar": trajopt.Box([0.1, 0.1, 0.6], placement=[0.5, 0, 0.3, 0, 0, 0, 1]),
        "beam": trajopt.Box([0.8, 0.12, 0.1], placement=[0.55, 0, 0.75, 0, 0, 0, 1]),
        "table": trajopt.Box([1.2, 1.6, 0.04], placement=[0.75, 0, -0.03, 0, 0, 0, 1]),
    }
    start, goal = [-0.909, -1.279, 1.574, -1.866, -1.571, -2.48], [0.544, -1.279, 1.574, -1.866, -1.571, -1.026]
    obstacles, options = trajopt.Scene(boxes), {"margin": 0.02, "acceleration": 10.0, "time_limit": 100.0}
    plans = [trajopt.plan(robot, start, goal, obstacles, seed=seed, **options) for seed in range(3)]
    durations = [plan.motion.duration for plan in plans if plan.motion is not None]
    assert len(durations) == 3
    assert max(durations) < 1.2


def test_a_search_stays_where_a_path_takes_at_most_a_time() -> None:
    goals = np.array([GOAL, [2.9, 0.0, 0.0]])
    search = PathSearch(FreeSpace(arm(), scene(), MARGIN), START, goals, VELOCITY)
    longest, deadline = 2.6, time.perf_counter() + 100.0
    way = search.duration(np.array([START, GOAL]))
    assert way < longest < search.duration(np.array([START, goals[1]]))
    for seed in range(1, 6):
        path = search.path(seed, deadline, 100_000, longest)
        assert path is not None
        np.testing.assert_allclose(path[[0, -1]], [START, GOAL], atol=1e-12)
        assert np.all(np.abs(path - START) + np.abs(path - GOAL) <= longest * VELOCITY + 1e-9)
    assert search.path(1, deadline, 100_000, 0.9 * way) is None
