"""Costs far from zero: hands of a humanoid reach for points beyond its arms, with constraints on feet and balance."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import trajopt
from trajopt import ik
from trajopt.ik.result import IKStatus
from trajopt.ik.search import DescentEnds, Search
from trajopt.robots import Robot

SIDES = ("left", "right")
TARGETS = (
    ([1.04, 0.29, 1.56], [0.64, -0.58, 0.86], 0.0039181),
    ([1.01, 0.58, 1.68], [0.45, -0.48, 0.88], 0.0085398),
)
"""Points of the left and the right hand [m], and the least cost that SLSQP of SciPy 1.17 finds from the start [m²]."""

ROUNDED = 1e-9
"""Difference of costs that count as equal: of those, the configuration nearest to the start is the best [m²]."""


@functools.cache
def reaching() -> tuple[Robot, tuple[Any, Any], Any]:
    """Talos, its tasks and its start: soles in place, the centre of mass above them, and hands as costs."""
    robot = trajopt.load_robot("talos")
    state, q0 = trajopt.StateMultibody(robot), robot.configuration("half_sitting")
    feet, hands = trajopt.ConstraintStack(state), trajopt.CostStack(state)
    for side in SIDES:
        sole = f"{side}_sole_link"
        placed = trajopt.ResidualModelFramePlacement(state, sole, robot.placement(q0, sole))
        feet.add(f"{side}_foot", placed, equals=0.0)
        hands.add(f"{side}_hand", trajopt.ResidualModelFrameTranslation(state, f"gripper_{side}_joint"), weight=1.0)
    most = np.inf
    com = trajopt.ResidualModelCoMPosition(state)
    feet.add("com", com, lower=[-0.099, -0.135, -most], upper=[0.081, 0.135, most])
    return robot, (feet, hands), q0


def of(left: Any, right: Any) -> dict[str, Any]:
    return {"left_hand.reference": left, "right_hand.reference": right}


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_one_start_descends_to_the_least_cost_and_more_are_never_worse(target: Any) -> None:
    robot, tasks, q0 = reaching()
    *points, least = target
    results = [ik.solve(robot, tasks, of(*points), start=q0, starts=n) for n in (1, 8, 32)]
    costs = [result.cost for result in results]
    assert costs[0] < 1.002 * least
    assert results[0].status is IKStatus.SOLVED
    assert costs[0] >= costs[1] - ROUNDED >= costs[2] - 2.0 * ROUNDED
    for result in results:
        hands = [robot.placement(result.q, f"gripper_{side}_joint")[:3, 3] for side in SIDES]
        off = np.array(hands) - np.array(points)
        assert result.cost == pytest.approx(0.5 * np.sum(off**2), rel=1e-9)
        for side in SIDES:
            sole = f"{side}_sole_link"
            np.testing.assert_allclose(robot.placement(result.q, sole), robot.placement(q0, sole), atol=1e-5)
        assert np.all(np.abs(robot.com(result.q)[:2] - [-0.009, 0.0]) <= np.array([0.09, 0.135]) + 1e-6)


def test_a_batch_is_as_good() -> None:
    robot, tasks, q0 = reaching()
    left, right, least = (np.array(each) for each in zip(*TARGETS))
    batch = ik.solve_batch(robot, tasks, of(left, right), start=q0)
    assert np.all(batch.cost < 1.01 * least)
    assert np.all(batch.violation < 1e-6)


def test_a_descent_without_iterations_left_returns_to_the_constraints_and_is_not_settled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    robot, tasks, q0 = reaching()
    before = ik.solve(robot, tasks, of(*TARGETS[0][:2]), start=q0, starts=1)
    whole = Search._descended

    def short(self: Search, lanes: Any, count: int, limit: int, sigma: float, **options: Any) -> DescentEnds:
        return whole(self, lanes, count, 8 if sigma > 0.0 else limit, sigma, **options)

    monkeypatch.setattr(Search, "_descended", short)
    result = ik.solve(robot, tasks, of(*TARGETS[0][:2]), start=q0, starts=1)
    assert result.status is IKStatus.MAX_ITERATIONS
    assert max(np.abs(each.violation).max() for each in result.residuals.values()) <= 1e-6
    assert before.cost < result.cost < 0.2  # 0.91 at the start
