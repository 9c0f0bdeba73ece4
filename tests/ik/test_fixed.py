"""Joints that inverse kinematics leave as they are."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import trajopt
from trajopt import ConstraintStack, ResidualModelFrameTranslation, ResidualModelState, StateMultibody, ik
from trajopt.errors import InvalidArgumentError, UnknownNameError

ELBOW, FIXED = "panda_joint4", {"panda_joint4": -2.0, "panda_joint1": 0.1}
PLACES = (0, 3)


@pytest.fixture(scope="module")
def arm() -> trajopt.Robot:
    return trajopt.load_robot("panda")


def tool(arm: trajopt.Robot) -> ConstraintStack:
    state = StateMultibody(arm)
    return ConstraintStack(state).add(
        "tool", ResidualModelFrameTranslation(state, "panda_hand", [0.5, 0.0, 0.5]), equals=0
    )


def targets() -> np.ndarray:
    return np.array([0.45, 0.0, 0.5]) + np.random.default_rng(3).uniform(-0.2, 0.2, (60, 3))


def test_fixed_joints_keep_their_values_and_the_rest_reaches_what_it_can(arm: trajopt.Robot) -> None:
    """The same targets are reached as with these joints as further rows of the constraints."""
    batch = ik.solve_batch(arm, tool(arm), {"tool.reference": targets()}, fixed=FIXED)
    np.testing.assert_array_equal(batch.q[:, PLACES], np.tile([0.1, -2.0], (60, 1)))
    reached = arm.placement(batch.q, "panda_hand")[:, :3, 3]
    errors = np.abs(reached - targets()).max(axis=1)
    assert np.all((errors <= 1.1e-6) == batch.solved)
    rows = tool(arm)
    q = rows.state.zero()
    q[list(PLACES)] = 0.1, -2.0
    rows.add("held", ResidualModelState(rows.state, q, elements=list(PLACES)), equals=0)
    np.testing.assert_array_equal(batch.solved, ik.solve_batch(arm, rows, {"tool.reference": targets()}).solved)
    assert 5 < batch.solved.sum() < 55


def test_a_start_and_a_copy_are_held_too(arm: trajopt.Robot) -> None:
    start = np.r_[0.5, 0.1, 0.0, -1.0, 0.0, 1.5, 0.3, 0.0, 0.0]
    solver = ik.IKSolver(arm, tool(arm), fixed=FIXED)
    result = solver.solve(start=start)
    assert result.status is ik.IKStatus.SOLVED
    assert solver.solve(start=start, starts=1).q[list(PLACES)].tolist() == [0.1, -2.0]
    np.testing.assert_array_equal(np.unique(result.configurations[:, PLACES], axis=0), [[0.1, -2.0]])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(solver)).solve(start=start).q, result.q)
    np.testing.assert_array_equal(ik.solve(arm, tool(arm), fixed=FIXED, start=start).q, result.q)
    assert ik.solve(arm, tool(arm), start=start).q[3] != -2.0


def line(arm: trajopt.Robot) -> np.ndarray:
    """Places from where the tool is, with the joints fixed, to 12 cm aside."""
    q = ik.solve(arm, tool(arm), fixed=FIXED).q
    return arm.placement(q, "panda_hand")[:3, 3] + np.linspace(0, 1, 101)[:, None] * [0.0, 0.12, 0.0]


@pytest.mark.parametrize("method", ["differential", "optimal"])
def test_a_path_is_followed_by_the_other_joints(arm: trajopt.Robot, method: str) -> None:
    """Without them these joints would move; a start that has others is moved there."""
    path = line(arm)
    track = ik.track(arm, tool(arm), path, 0.02, method=method, acceleration=20.0, fixed=FIXED)
    np.testing.assert_allclose(track.qs[:, PLACES], np.tile([0.1, -2.0], (101, 1)), atol=1e-9)
    assert track.followed
    np.testing.assert_allclose(arm.placement(track.qs, "panda_hand")[:, :3, 3], path, atol=1.5e-4)
    free = ik.track(arm, tool(arm), path, 0.02, method=method, acceleration=20.0, q0=track.qs[0])
    assert np.ptp(free.qs[:, PLACES], axis=0).max() > 1e-2
    start = track.qs[0].copy()
    start[3] -= 0.3
    moved = ik.track(arm, tool(arm), path, 0.02, method=method, acceleration=20.0, q0=start, fixed=FIXED)
    np.testing.assert_allclose(moved.qs[:, 3], -2.0, atol=1e-9)


def test_a_path_that_fixed_joints_keep_out_of_reach_is_told_so(arm: trajopt.Robot) -> None:
    """A folded elbow does not reach as far: the joint that stays is not at its limit, nor does it make way for less."""
    path = line(arm)[0] + np.linspace(0, 1, 201)[:, None] * [0.3, 0.0, 0.0]
    track = ik.track(arm, tool(arm), path, 0.02, fixed=FIXED)
    assert track.status is ik.IKPathStatus.UNREACHABLE
    assert not any("joint4" in limit or "joint1" in limit for d in track.departures for limit in d.limits)
    assert ik.track(arm, tool(arm), path, 0.02, q0=track.qs[0]).followed


def test_a_tracker_leaves_fixed_joints_where_they_are_or_where_they_are_measured(arm: trajopt.Robot) -> None:
    path, q = line(arm), ik.solve(arm, tool(arm), fixed=FIXED).q
    tracker = ik.IKTracker(arm, tool(arm), q + 0.01 * (np.arange(9) == 3), 0.02, fixed=FIXED)
    twin = pickle.loads(pickle.dumps(tracker))
    for place in path:
        step = tracker.step({"tool.reference": place})
        np.testing.assert_array_equal(step.q[list(PLACES)], [0.1, -2.0])
    assert step.distance < 1e-4
    measured = step.q + 0.02 * (np.arange(9) == 3)
    assert tracker.step(q=measured).q[3] == measured[3]
    twin.reset(measured)
    assert twin.step({"tool.reference": place}).q[3] == -2.0
    moving = ik.IKTracker(arm, tool(arm), q, 0.02, acceleration=1.0, fixed=FIXED)
    moving.reset(q, 0.5 * (np.arange(9) == 3))
    assert moving.step({"tool.reference": path[0]}).q[3] == -2.0


def test_a_continuous_joint_takes_an_angle() -> None:
    arm = trajopt.load_robot("kinova")
    state, name = StateMultibody(arm), "j2s6s200_joint_1"
    tasks = ConstraintStack(state).add(
        "tool", ResidualModelFrameTranslation(state, "j2s6s200_end_effector", [0.3, 0.2, 0.5]), equals=0
    )
    for value in (0.7, [np.cos(0.7), np.sin(0.7)]):
        q = ik.solve(arm, tasks, fixed={name: value}).q
        np.testing.assert_allclose(q[:2], [np.cos(0.7), np.sin(0.7)], atol=1e-15)


@pytest.mark.parametrize(
    ("fixed", "error", "message"),
    [
        ({"elbow": 0.0}, UnknownNameError, "fixed: joint 'elbow' not found"),
        ({ELBOW: 1.0}, InvalidArgumentError, r"fixed\['panda_joint4'\]: expected -3.0718 to -0.0698, .* limits=False"),
        ({ELBOW: [1.0, 2.0]}, InvalidArgumentError, r"fixed\['panda_joint4'\]: expected a number, got \[1.0, 2.0\]"),
        ({ELBOW: np.nan}, InvalidArgumentError, "fixed: expected finite numbers"),
        ([ELBOW], InvalidArgumentError, "fixed: expected a dictionary, .* pass {"),
        ({f"panda_joint{i}": 0.0 for i in range(1, 8)}, InvalidArgumentError, "fixed: expected a joint that moves"),
    ],
)
def test_what_cannot_be_fixed(arm: trajopt.Robot, fixed: Any, error: type[Exception], message: str) -> None:
    limits = not isinstance(fixed, dict) or len(fixed) == 1
    with pytest.raises(error, match=message):
        ik.solve(arm, tool(arm), fixed=fixed, limits=limits)
