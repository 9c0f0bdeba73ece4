"""Arms: random reachable poses, many targets at once, compiled code that serves all of them."""

from __future__ import annotations

import numpy as np
import pytest

import trajopt
from tests.support.ik_robots import ARMS, arm, errors, placement_task, placements, reachable, within
from trajopt import ik
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.ik import IKSolver, IKStatus
from trajopt.kernels import compilations


@pytest.mark.parametrize("name", ARMS)
def test_reachable_poses_are_reached_within_limits(name: str) -> None:
    """TRAC-IK's protocol: within 1e-5 by Pinocchio's forward kinematics; the benchmark has 10,000 poses."""
    state, frame = arm(name)
    targets = reachable(state, frame, 300, 1)
    batch = ik.solve_batch(state.robot, placement_task(state, frame), {"tool.reference": targets})
    assert batch.solved.sum() >= 299
    reached = errors(placements(state, frame, batch.q), targets) <= 1e-5
    np.testing.assert_array_equal(reached, batch.solved)
    assert within(state, batch.q).all()
    assert batch.starts.min() == 1
    assert np.all(batch.violation[batch.solved] <= 1e-6)
    assert "of 300 solved" in repr(batch)


def test_a_reachable_pose_is_solved() -> None:
    state, frame = arm("talos_arm")
    (target,) = reachable(state, frame, 1, 2)
    result = ik.solve(state.robot, placement_task(state, frame, target))
    assert result.solved
    assert result.status is IKStatus.SOLVED
    assert result.distance == 0.0
    assert result.cost == 0.0
    assert result.starts == 8
    assert 0 < result.iterations <= 40
    np.testing.assert_array_equal(result.q, result.configurations[0])
    assert within(state, result.configurations).all()
    assert errors(placements(state, frame, result.configurations), [target] * len(result.configurations)).max() <= 1e-5
    tool = result.residuals["tool"]
    assert tool.unit == "m, rad"
    assert np.abs(tool.value).max() <= 1e-9  # a single result begins motions: far below its tolerance
    np.testing.assert_array_equal(tool.value, tool.violation)
    assert "every constraint holds" in str(result)


def test_a_target_takes_the_place_of_the_tasks_own() -> None:
    state, frame = arm("talos_arm")
    first, second = reachable(state, frame, 2, 3)
    tasks = placement_task(state, frame, first)
    given = ik.solve(state.robot, tasks, {"tool.reference": second})
    np.testing.assert_array_equal(given.q, ik.solve(state.robot, placement_task(state, frame, second)).q)
    assert errors(placements(state, frame, ik.solve(state.robot, tasks).q[None]), first[None])[0] <= 1e-5
    with pytest.raises(UnknownNameError, match=r"parameter 'tool.target' not found"):
        ik.solve(state.robot, tasks, {"tool.target": second})
    with pytest.raises(InvalidArgumentError, match=r'targets: .*pass \{"tool.reference": value\}'):
        ik.solve(state.robot, tasks, second)


def test_a_second_target_compiles_nothing() -> None:
    """Nor do other bounds, nor tasks that are built anew; costs would."""
    state, frame = arm("talos_arm")
    first, second = reachable(state, frame, 2, 3)
    ik.solve(state.robot, placement_task(state, frame, first))
    before = compilations()
    result = ik.solve(state.robot, placement_task(state, frame, second))
    assert errors(placements(state, frame, result.q[None]), second[None])[0] <= 1e-5
    residual = trajopt.ResidualModelFramePlacement(state, frame, second)
    rough = trajopt.ConstraintStack(state).add("tool", residual, lower=-0.01, upper=0.01)
    assert ik.solve(state.robot, rough).solved
    ik.solve_batch(state.robot, rough, {"tool.reference": np.array([first, second])})
    far = placement_task(state, frame, [9.0, 0, 0, 0, 0, 0, 1.0])
    assert ik.solve(state.robot, far).status is IKStatus.UNREACHABLE
    assert compilations() == before


def test_equal_targets_give_equal_results_in_any_batch() -> None:
    state, frame = arm("ur10")
    targets = reachable(state, frame, 80, 4)  # more than are kept side by side
    solver = IKSolver(state.robot, placement_task(state, frame))
    batch = solver.solve_batch({"tool.reference": targets})
    again = solver.solve_batch({"tool.reference": targets[7:27]})
    np.testing.assert_array_equal(again.q, batch.q[7:27])
    one = solver.solve({"tool.reference": targets[3]})
    solver.solve({"tool.reference": targets[4]})
    np.testing.assert_array_equal(one.q, IKSolver(state.robot, placement_task(state, frame, targets[3])).solve().q)


def test_joints_that_no_task_moves_stay() -> None:
    """The fingers of a Panda: at 0, or where the start has them."""
    state, frame = arm("panda")
    task = placement_task(state, frame, [0.4, 0.2, 0.5, 1.0, 0, 0, 0])
    result = ik.solve(state.robot, task)
    assert result.solved
    np.testing.assert_array_equal(result.q[7:], 0.0)
    start = np.append(result.q[:7], [0.01, 0.02])
    result = ik.solve(state.robot, task, start=start, starts=1)
    assert result.solved
    np.testing.assert_array_equal(result.q, start)


def test_a_start_beyond_limits_is_moved_inside() -> None:
    state, frame = arm("talos_arm")
    (target,) = reachable(state, frame, 1, 5)
    beyond = np.full(state.nq, 50.0)
    result = ik.solve(state.robot, placement_task(state, frame, target), start=beyond, starts=1)
    assert within(state, result.q[None]).all()


def test_a_pose_beyond_the_limits_is_reached_only_without_limits() -> None:
    """A pose that needs joints beyond their limits: all ways there are closed, and open without them."""
    state = trajopt.StateMultibody(trajopt.load_robot("planar-3r"), lower=[-0.2] * 3 + [-1] * 3, upper=[0.2] * 6)
    robot, residual = state.robot, trajopt.ResidualModelFrameTranslation(state, "tool", [0.0, 0.0, 0.9])
    task = trajopt.ConstraintStack(state).add("tool", residual, equals=0.0)
    bounded, free = ik.solve(robot, task), ik.solve(robot, task, limits=False)
    assert bounded.status is IKStatus.UNREACHABLE
    assert set(bounded.active_limits) == {"q:joint_1", "q:joint_2", "q:joint_3"}
    np.testing.assert_array_equal(bounded.q, 0.2)
    assert bounded.distance == pytest.approx(np.linalg.norm(robot.placement(bounded.q, "tool")[:3, 3] - [0, 0, 0.9]))
    assert free.solved
    assert free.active_limits == ()
