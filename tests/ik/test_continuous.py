"""Limits of continuous joints, whose angle is the bound coordinate although their coordinates are (cos, sin)."""

from __future__ import annotations

import numpy as np
import pytest

import trajopt
from trajopt import ConstraintStack, ResidualModelFrameTranslation, ResidualModelState, StateMultibody, ik
from trajopt.errors import InvalidArgumentError
from trajopt.types import Reals

NAME, FRAME = "j2s6s200_joint_1", "j2s6s200_end_effector"
LOW, HIGH = -2.0, -0.5


def bounded(low: float = LOW, high: float = HIGH) -> StateMultibody:
    """A Kinova arm whose base turns between two angles."""
    free = StateMultibody(trajopt.load_robot("kinova"))
    lower, upper = free.lower.copy(), free.upper.copy()
    lower[0], upper[0] = low, high
    return StateMultibody(free.robot, lower=lower, upper=upper)


def tool(state: StateMultibody, point: Reals | None = None) -> ConstraintStack:
    at = np.array([0.3, 0.2, 0.5]) if point is None else point
    return ConstraintStack(state).add("tool", ResidualModelFrameTranslation(state, FRAME, at), equals=0)


def angles(q: Reals) -> Reals:
    return np.asarray(np.arctan2(q[..., 1], q[..., 0]))


@pytest.mark.slow
def test_configurations_are_within_limits_and_as_many_as_with_a_row_for_the_angle() -> None:
    state, free = bounded(), bounded(-np.inf, np.inf)
    points = np.array([0.0, 0.0, 0.5]) + np.random.default_rng(1).uniform(-0.6, 0.6, (40, 3))
    batch = ik.solve_batch(state.robot, tool(state), {"tool.reference": points})
    assert np.all((angles(batch.q) >= LOW - 1e-15) & (angles(batch.q) <= HIGH + 1e-15))
    np.testing.assert_allclose(np.linalg.norm(batch.q[:, :2], axis=1), 1.0, atol=1e-15)
    rows = tool(free).add("turn", ResidualModelState(free, elements=[0]), lower=LOW, upper=HIGH)
    other = ik.solve_batch(free.robot, rows, {"tool.reference": points})
    np.testing.assert_array_equal(batch.solved, other.solved)
    unbound = ik.solve_batch(free.robot, tool(free), {"tool.reference": points})
    assert np.any((angles(unbound.q) < LOW) | (angles(unbound.q) > HIGH))


@pytest.mark.parametrize(("low", "high"), [(LOW, HIGH), (-np.inf, -1.5), (2.0, np.inf), (-np.pi, -2.0)])
def test_an_angle_stops_at_its_limit(low: float, high: float) -> None:
    """The least way to an angle beyond a limit ends at the nearer one, which is named."""
    state = bounded(low, high)
    rest = state.zero()
    for wish in np.linspace(-2.9, 2.9, 6):
        rest[:2] = np.cos(wish), np.sin(wish)
        costs = trajopt.CostStack(state).add("rest", ResidualModelState(state, rest, elements=[0]), 1.0)
        for limits in (True, False):
            result = ik.solve(state.robot, costs, limits=limits)
            ends = np.array([max(low, -np.pi), min(high, np.pi)])
            inside = not limits or ends[0] <= wish <= ends[1]
            expected = wish if inside else ends[np.argmin(np.abs(np.sin(0.5 * (ends - wish))))]
            assert abs(np.sin(0.5 * (angles(result.q) - expected))) < 1e-6
            assert result.active_limits == (() if inside else (f"q:{NAME}",))


def test_a_start_beyond_a_limit_is_moved_inside() -> None:
    """Also where the tool is at its target already."""
    state = bounded()
    start = course(state)[0]
    point = state.robot.placement(start, FRAME)[:3, 3]
    for tasks in (tool(state, point), trajopt.CostStack(state).add("rest", ResidualModelState(state), 0.0)):
        result = ik.solve(state.robot, tasks, start=start, starts=1)
        assert LOW - 1e-15 <= angles(result.q) <= HIGH + 1e-15


def test_fixed_angles_are_within_limits() -> None:
    state = bounded()
    with pytest.raises(InvalidArgumentError, match=r"expected -2 to -0.5, the limits of the joint, got 0.7"):
        ik.solve(state.robot, tool(state), fixed={NAME: 0.7})
    q = ik.solve(state.robot, tool(state), fixed={NAME: 0.7}, limits=False).q
    np.testing.assert_allclose(angles(q), 0.7)


def course(state: StateMultibody) -> tuple[Reals, Reals]:
    """A configuration (nq,), and others (51, nq) that differ by a turn of the base by up to half a radian."""
    q = state.zero()[: state.nq]
    q[[2, 3, 6]] = 2.5, 1.5, 1.5
    turned, angle = np.tile(q, (51, 1)), np.linspace(0.0, 0.5, 51)
    turned[:, :2] = np.column_stack([np.cos(angle), np.sin(angle)])
    return q, turned


@pytest.mark.parametrize("method", ["differential", "optimal"])
def test_the_other_joints_follow_a_path_when_one_is_at_its_limit(method: str) -> None:
    state = bounded(-1.0, 0.05)
    q0, turned = course(state)
    path = state.robot.placement(turned, FRAME)[:, :3, 3]
    track = ik.track(state.robot, tool(state), path, 0.05, q0=q0, method=method)
    assert track.followed
    np.testing.assert_allclose(angles(track.qs).max(), 0.05, atol=1e-6)
    assert ik.track(state.robot, tool(state), path, 0.05, q0=q0, limits=False).qs[-1, 1] > 0.1


def test_a_limit_that_ends_a_path_is_named() -> None:
    state = bounded(-1.0, 0.2)
    q0, turned = course(state)
    turn = ConstraintStack(state).add("turn", ResidualModelState(state, elements=[0]), equals=0)
    track = ik.track(state.robot, turn, np.hstack([turned, np.zeros((51, state.nv))]), 0.05, q0=q0)
    np.testing.assert_allclose(angles(track.qs)[-20:], 0.2, atol=1e-12)
    assert track.status is ik.IKPathStatus.UNREACHABLE
    assert all(f"q:{NAME}" in departure.limits for departure in track.departures)


def test_a_tracker_beyond_a_limit_moves_inside() -> None:
    state = bounded()
    q0 = state.zero()[: state.nq]
    q0[2:4] = 2.5, 1.5
    turn = ConstraintStack(state).add("turn", ResidualModelState(state, elements=[0]), equals=0)
    tracker = ik.IKTracker(state.robot, turn, q0, 0.01, acceleration=10.0)
    steps = [float(angles(tracker.step().q)) for _ in range(200)]
    assert np.all(np.diff(steps) <= 1e-12)
    assert steps[-1] == pytest.approx(HIGH, abs=1e-6)


def test_a_limit_beyond_half_a_turn_is_refused() -> None:
    state = bounded(0.5, 4.0)
    with pytest.raises(InvalidArgumentError, match=rf"from -π to π for the continuous joint '{NAME}', got 0.5 and 4"):
        ik.solve(state.robot, tool(state))
