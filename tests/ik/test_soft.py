"""Soft rows: violations at a price, against independent minimisers and the closed form of an exact penalty."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.optimize import minimize

import trajopt
from trajopt import ConstraintStack, CostStack, ResidualModelFrameTranslation, ResidualModelState, StateMultibody, ik
from trajopt.types import Reals

FREE = -np.inf


@pytest.fixture(scope="module")
def state() -> StateMultibody:
    return StateMultibody(trajopt.load_robot("planar-3r"))


def posture(state: StateMultibody, q: list[float], weight: float = 1.0) -> CostStack:
    reference = np.r_[q, np.zeros(state.nv)]
    return CostStack(state).add("rest", ResidualModelState(state, reference, elements=range(state.nv)), weight)


def bound(state: StateMultibody, soft: tuple[float, float]) -> ConstraintStack:
    """The first joint is at most 0.2 rad, or more at a price."""
    angle = ResidualModelState(state, elements=[0])
    return ConstraintStack(state).add("angle", angle, lower=-0.3, upper=0.2, soft=soft)


CASES: list[tuple[tuple[float, float], float, float]] = [
    ((0.5, 0.0), 1.0, 0.5),  # the wish pulls with 0.8 at the bound and 0.5 here
    ((2.0, 0.0), 1.0, 0.2),  # a dear slack: the row holds
    ((0.0, 3.0), 1.0, 0.4),  # (q - 1) + 3 (q - 0.2) = 0
    ((0.2, 3.0), 1.0, 0.35),
    ((0.2, 3.0), -1.1, -0.45),  # (q + 1.1) + 3 (q + 0.3) - 0.2 = 0
    ((0.2, 3.0), 0.1, 0.1),
    ((0.0, 1e6), 1.0, 0.2 + 0.8 / (1e6 + 1.0)),
    ((1e-4, 1e-4), 1.0, 1.0 - (1e-4 * 1.8 - 1e-8) / (1.0 + 1e-4)),
]
"""Price, wish of the angle, and where they balance."""
PULLS = [case[:2] for case in CASES]


@pytest.mark.parametrize(("soft", "wish", "expected"), CASES)
def test_a_pull_against_a_soft_bound(
    state: StateMultibody, soft: tuple[float, float], wish: float, expected: float
) -> None:
    tasks = (bound(state, soft), posture(state, [wish, 0.0, 0.0]))
    result = ik.solve(state.robot, tasks)
    assert result.status is ik.IKStatus.SOLVED
    np.testing.assert_allclose(result.q, [expected, 0.0, 0.0], atol=2e-6)
    slack = abs(expected - np.clip(expected, -0.3, 0.2))
    price = soft[0] * slack + 0.5 * soft[1] * slack**2
    assert result.cost == pytest.approx(0.5 * (expected - wish) ** 2 + price, abs=1e-5)
    assert result.failed == ()
    assert result.residuals["angle"].soft
    assert np.abs(result.residuals["angle"].violation).max() == pytest.approx(slack, abs=2e-6)
    assert not result.residuals["rest"].soft


def test_a_soft_point_beside_a_hard_one(state: StateMultibody) -> None:
    """The tool is exactly where it must be; the second link comes as near to its point as a price of its distance."""
    tip, link = np.array([0.5, 0.0, 0.6]), np.array([0.9, 0.0, -0.2])
    rows = ConstraintStack(state).add("tip", ResidualModelFrameTranslation(state, "tool", tip), equals=0)
    rows.add("link", ResidualModelFrameTranslation(state, "link_3", link), equals=0, soft=(0.0, 2.0))
    costs = posture(state, [0.3, 0.4, 0.5], 0.1)
    result = ik.solve(state.robot, (rows, costs))
    assert result.solved
    assert result.failed == ()

    def value(q: Reals) -> float:
        off = state.robot.placement(q, "link_3")[:3, 3] - link
        return float(off @ off + 0.05 * np.sum((q - [0.3, 0.4, 0.5]) ** 2))

    def tool(q: Reals) -> Reals:
        return np.asarray(state.robot.placement(q, "tool")[[0, 2], 3] - tip[[0, 2]])

    assert np.abs(tool(result.q)).max() <= 1e-6
    assert result.cost == pytest.approx(value(result.q), rel=1e-6)
    found = minimize(
        value, result.q + 0.05, method="SLSQP", constraints={"type": "eq", "fun": tool}, options={"ftol": 1e-14}
    )
    assert result.cost == pytest.approx(found.fun, rel=1e-5)


def test_soft_rows_alone_end_nearest_in_their_price(state: StateMultibody) -> None:
    """A point out of reach: the arm is stretched towards it; a hard one would fail, a soft one has a cost."""
    far = np.array([5.0, 0.0, 0.0])
    for soft in ((0.0, 1.0), (1.0, 0.0)):
        tip = ResidualModelFrameTranslation(state, "tool", far)
        rows = ConstraintStack(state).add("tip", tip, equals=0, soft=soft)
        result = ik.solve(state.robot, rows)
        assert result.failed == ()
        assert result.distance == 0.0
        reach = np.linalg.norm(state.robot.placement(np.zeros(3), "tool")[:3, 3])
        assert np.linalg.norm(state.robot.placement(result.q, "tool")[:3, 3]) == pytest.approx(reach, rel=1e-3)


@pytest.mark.parametrize(("soft", "wish"), PULLS)
def test_a_tracker_comes_to_rest_where_the_price_is_least(
    state: StateMultibody, soft: tuple[float, float], wish: float
) -> None:
    """A row with a linear price that is dear enough holds to the tolerance."""
    tasks = (bound(state, soft), posture(state, [wish, 0.0, 0.0]))
    tracker, expected = (
        ik.IKTracker(state.robot, tasks, np.zeros(3), 0.02, tolerance=1e-5),
        ik.solve(state.robot, tasks),
    )
    for _ in range(400):
        step = tracker.step()
    np.testing.assert_allclose(step.q, expected.q, atol=2e-5)
    assert step.distance == 0.0
    dear = pickle.loads(pickle.dumps(tracker))
    for _ in range(400):
        step = dear.step({"angle.linear": [10.0]})
    assert -0.3 - 2e-5 < step.q[0] < 0.2 + 2e-5


def test_a_tracker_leaves_a_soft_point_for_a_hard_one(state: StateMultibody) -> None:
    """Also if a hard point moves, whose error a soft row that cannot hold does not change."""
    rows = ConstraintStack(state).add("tip", ResidualModelFrameTranslation(state, "tool", [0.5, 0, 0.6]), equals=0)
    link = ResidualModelFrameTranslation(state, "link_3", [0.9, 0.0, -0.2])
    costs, start = posture(state, [0.3, 0.4, 0.5], 0.1), ik.solve(state.robot, rows).q
    alone = ik.IKTracker(state.robot, (rows, costs), start, 0.01, settling=0.05)
    rows = ConstraintStack(state).add("tip", rows.constraints[0].residual.clone(), equals=0)
    tasks = (rows.add("link", link, equals=0, soft=(0.0, 2.0)), costs)
    tracker = ik.IKTracker(state.robot, tasks, start, 0.01, settling=0.05)
    for k in range(600):
        target = {"tip.reference": [0.5 + 0.1 * np.sin(0.01 * min(k, 200)), 0.0, 0.6]}
        step, other = tracker.step(target), alone.step(target)
        assert step.distance < 1e-4
        assert other.distance < 1e-4
    expected = ik.solve(state.robot, tasks, target, start=step.q, starts=1)
    np.testing.assert_allclose(step.q, expected.q, atol=1e-3)
    assert np.abs(step.q - other.q).max() > 0.05


@pytest.mark.parametrize("method", ["differential", "optimal"])
def test_soft_rows_along_a_path(state: StateMultibody, method: str) -> None:
    """At the end of a long stay both methods are where the price is least."""
    tasks = (bound(state, (0.2, 3.0)), posture(state, [1.0, 0.0, 0.0]))
    track = ik.track(state.robot, tasks, {"angle.upper": lambda t: [0.2]}, dt=0.05, duration=4.0, method=method)
    np.testing.assert_allclose(track.qs[-1], [0.35, 0.0, 0.0], atol=5e-3)


def test_prices_are_values_and_results_pickle(state: StateMultibody) -> None:
    """A solver takes prices of each target; a failed hard row beside a soft one is named alone."""
    solver = ik.IKSolver(state.robot, (bound(state, (0.5, 0.0)), posture(state, [1.0, 0.0, 0.0])))
    batch = solver.solve_batch({"angle.linear": np.array([[0.5], [2.0]]), "angle.quadratic": np.zeros((2, 1))})
    np.testing.assert_allclose(batch.q[:, 0], [0.5, 0.2], atol=2e-6)
    assert batch.solved.all()
    assert pickle.loads(pickle.dumps(batch)).failed == ((), ())
    rows = bound(state, (0.5, 0.0))
    far = state.robot.placement(np.array([1.0, 0.0, 0.0]), "tool")[:3, 3]
    rows.add("tip", ResidualModelFrameTranslation(state, "tool", 3.0 * far), equals=0)
    result = ik.solve(state.robot, rows)
    assert result.status is ik.IKStatus.UNREACHABLE
    assert result.failed == ("tip",)
    assert result.distance == pytest.approx(np.linalg.norm(result.residuals["tip"].value))
    assert result.distance == pytest.approx(2.0 * np.linalg.norm(far), rel=1e-6)
