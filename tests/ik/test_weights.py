"""Weights of joints: the least weighted motion, against independent minimisers and weighted pseudo-inverses."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import trajopt
from trajopt import ConstraintStack, CostStack, ResidualModelFrameTranslation, ResidualModelState, StateMultibody, ik
from trajopt.errors import DuplicateNameError, InvalidArgumentError, UnknownNameError
from trajopt.types import Reals

START = np.array([0.3, 1.0, 0.9])


@pytest.fixture(scope="module")
def state() -> StateMultibody:
    return StateMultibody(trajopt.load_robot("planar-3r"))


def names(state: StateMultibody) -> list[str]:
    return [name[2:] for name in state.tangent_names[: state.nv]]


def tool(state: StateMultibody) -> ConstraintStack:
    point = state.robot.placement(START, "tool")[:3, 3] + np.array([0.1, 0.0, 0.1])
    return ConstraintStack(state).add("tip", ResidualModelFrameTranslation(state, "tool", point), equals=0)


def nearest(state: StateMultibody, start: Reals, w: Reals) -> Reals:
    """Least Σ w (q - start)² with the tip at its target, by SLSQP."""
    point = state.robot.placement(START, "tool")[[0, 2], 3] + 0.1
    found = minimize(
        lambda q: float(np.sum(w * (q - start) ** 2)),
        start,
        method="SLSQP",
        constraints={"type": "eq", "fun": lambda q: state.robot.placement(q, "tool")[[0, 2], 3] - point},
        options={"ftol": 1e-14, "maxiter": 300},
    )
    assert found.success
    return np.asarray(found.x)


@pytest.mark.parametrize("w", [(1.0, 1.0, 1.0), (50.0, 1.0, 1.0), (1.0, 1.0, 0.02)])
def test_the_result_is_the_least_weighted_way_from_the_start(state: StateMultibody, w: tuple[float, ...]) -> None:
    weights = {name: value for name, value in zip(names(state), w, strict=True) if value != 1.0}
    expected = nearest(state, START, np.array(w))
    for result in (
        ik.solve(state.robot, tool(state), start=START, weights=weights),
        ik.IKSolver(state.robot, tool(state), weights=weights).solve(start=START),
    ):
        assert result.solved
        np.testing.assert_allclose(result.q, expected, atol=2e-5)
        assert result.cost == pytest.approx(0.5 * np.sum(w * (result.q - START) ** 2))


def test_without_a_start_the_motion_begins_at_the_neutral_configuration(state: StateMultibody) -> None:
    """Or, in a batch, at that of each target; a call with a start leaves nothing to the next one."""
    first = names(state)[0]
    solver = ik.IKSolver(state.robot, tool(state), weights={first: 5.0})
    ik.solve(state.robot, tool(state), start=START, weights={first: 5.0})
    for result in (solver.solve(), ik.solve(state.robot, tool(state), weights={first: 5.0})):
        assert result.cost == pytest.approx(0.5 * np.sum(np.array([5.0, 1.0, 1.0]) * result.q**2))
    starts = np.array([START, START + 0.1])
    batch = solver.solve_batch({"motion.reference": np.hstack([starts, np.zeros((2, 3))])})
    for q, start in zip(batch.q, starts, strict=True):
        np.testing.assert_allclose(q, nearest(state, start, np.array([5.0, 1.0, 1.0])), atol=2e-5)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(solver)).solve(start=START).q, solver.solve(start=START).q)


def test_fixed_joints_and_other_costs_stay(state: StateMultibody) -> None:
    """A joint that is moved to its fixed place costs nothing."""
    first, second, _ = names(state)
    costs = CostStack(state).add("rest", ResidualModelState(state, elements=[2]), 3.0)
    tasks = CostStack(state).add("tip", tool(state).constraints[0].residual, 1.0)
    result = ik.solve(state.robot, costs, start=START, fixed={first: 0.1}, weights={second: 2.0})
    np.testing.assert_allclose(result.q, [0.1, 1.0, 0.9 / 4.0], atol=1e-7)
    assert result.cost == pytest.approx(0.5 * (3.0 * 0.225**2 + 0.675**2))
    assert sorted(ik.solve(state.robot, tasks, weights={}).residuals) == ["motion", "tip"]


def test_a_step_is_the_weighted_pseudo_inverse(state: StateMultibody) -> None:
    """dq = W⁻¹ Jᵀ (J W⁻¹ Jᵀ)⁻¹ dx, whatever the scale of the weights; without weights W = 1."""
    dx, step = np.array([1e-5, -2e-5]), 1e-6
    J = np.array(
        [
            (state.robot.placement(START + d, "tool") - state.robot.placement(START - d, "tool"))[[0, 2], 3]
            for d in step * np.eye(3)
        ]
    ).T / (2 * step)
    point = state.robot.placement(START, "tool")[:3, 3]
    tasks = ConstraintStack(state).add("tip", ResidualModelFrameTranslation(state, "tool", point), equals=0)
    for w in ((1.0, 1.0, 1.0), (30.0, 1.0, 0.5), (3000.0, 100.0, 50.0)):
        weights = None if w[0] == 1.0 else dict(zip(names(state), w, strict=True))
        tracker = ik.IKTracker(state.robot, tasks, START, 0.01, weights=weights)
        twin = pickle.loads(pickle.dumps(tracker))
        there = {"tip.reference": point + np.array([dx[0], 0.0, dx[1]])}
        moved = tracker.step(there).q - START
        right = J.T / np.array(w)[:, None]
        np.testing.assert_allclose(moved, right @ np.linalg.solve(J @ right, dx), rtol=1e-3)
        np.testing.assert_array_equal(twin.step(there).q - START, moved)


@pytest.mark.parametrize("method", ["differential", "optimal"])
def test_a_dear_joint_moves_less_along_a_path(state: StateMultibody, method: str) -> None:
    path = state.robot.placement(START, "tool")[:3, 3] + np.linspace(0, 1, 101)[:, None] * [0.0, 0.0, -0.1]
    tasks, name = tool(state), names(state)[0]
    ways = []
    for weights in (None, {name: 100.0}):
        track = ik.track(state.robot, tasks, path, 0.02, method=method, q0=START, weights=weights)
        assert track.followed
        ways.append(abs(track.qs[-1, 0] - START[0]))
    assert ways[1] < 0.2 * ways[0]


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        ({"elbow": 1.0}, UnknownNameError, "weights: joint 'elbow' not found"),
        ({0: -1.0}, InvalidArgumentError, r"weights\[.*\]: expected a number > 0, got -1.0"),
        ({0: np.inf}, InvalidArgumentError, "expected a number > 0, got inf"),
        ({0: [1.0, 2.0]}, InvalidArgumentError, r"expected a number > 0, got \[1.0, 2.0\]"),
        ({1: 1.0}, InvalidArgumentError, "expected a joint that moves, got one of fixed"),
        ([1.0], InvalidArgumentError, "weights: expected a dictionary, .* pass {"),
    ],
)
def test_wrong_weights(state: StateMultibody, weights: Any, error: type[Exception], message: str) -> None:
    if isinstance(weights, dict):
        weights = {names(state)[key] if isinstance(key, int) else key: value for key, value in weights.items()}
    fixed = {names(state)[1]: 0.1}
    for call in (
        lambda: ik.solve(state.robot, tool(state), fixed=fixed, weights=weights),
        lambda: ik.IKTracker(state.robot, tool(state), START, 0.01, fixed=fixed, weights=weights),
    ):
        with pytest.raises(error, match=message):
            call()


def test_the_name_of_the_cost_is_taken(state: StateMultibody) -> None:
    costs = CostStack(state).add("motion", ResidualModelState(state), 1.0)
    with pytest.raises(DuplicateNameError, match="'motion' is in the stack already"):
        ik.solve(state.robot, costs, weights={})
