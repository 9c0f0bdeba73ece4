"""Targets that no posture reaches: what inverse kinematics says of them."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import trajopt
from trajopt import ik
from trajopt.constraints import ConstraintStack

NEAR, FAR, MILLIMETRES = (0.4, 0.3, 0.5), (1.2, 0.5, 0.5), (400.0, 300.0, 500.0)


def tool_at(point: tuple[float, ...], *, turned: bool = False) -> tuple[trajopt.Robot, ConstraintStack]:
    """A UR5 with a target of its tool [m]."""
    robot = trajopt.load_robot("ur5")
    state = trajopt.StateMultibody(robot)
    placement = np.eye(4)
    placement[:3, 3] = point
    residual = (
        trajopt.ResidualModelFramePlacement(state, "tool0", placement)
        if turned
        else trajopt.ResidualModelFrameTranslation(state, "tool0", point)
    )
    return robot, ConstraintStack(state).add("goal", residual, equals=0.0)


@pytest.mark.parametrize("turned", [False, True])
def test_a_target_out_of_reach_has_its_distance_and_the_reach(turned: bool) -> None:
    robot, tasks = tool_at(FAR, turned=turned)
    result = ik.solve(robot, tasks)
    away = np.linalg.norm(np.array(FAR) - robot.model.jointPlacements[1].translation)
    words = f"goal: it is out of reach, {away:.3g} m from the first joint with an arm of at most 1.24 m"
    assert f"  {words}\n" in result.explain()
    assert f"reach      {words}" in str(result)
    assert "no joint is at a limit" not in result.explain()
    assert pickle.loads(pickle.dumps(result)).explain() == result.explain()


def test_a_target_in_millimetres_asks_for_its_unit() -> None:
    assert "lengths are in m: is this goal in mm or cm?" in ik.solve(*tool_at(MILLIMETRES)).explain()


def test_a_wide_or_a_soft_target_is_not_judged_by_its_reference() -> None:
    robot, tasks = tool_at(FAR)
    state, residual = tasks.state, tasks["goal"].residual
    wide = ConstraintStack(state).add("goal", residual, lower=-1.0, upper=1.0)
    assert ik.solve(robot, wide).solved
    soft = ConstraintStack(state).add("goal", residual, equals=0.0, soft=(1.0, 0.0))
    assert "out of reach" not in str(ik.solve(robot, soft))


def test_a_batch_counts_targets_out_of_reach_and_a_file_keeps_the_words(tmp_path: Path) -> None:
    robot, tasks = tool_at(NEAR)
    batch = ik.solve_batch(robot, tasks, {"goal.reference": np.array([NEAR, MILLIMETRES, FAR])})
    text = batch.explain()
    assert "1 of 3 targets solved\n2 failed: 2 out of reach\n" in text
    assert text.count("goal: it is out of reach, ") == 2
    assert text.count("is this goal in mm or cm?") == 1
    assert ik.IKBatch.load(batch.save(tmp_path / "batch.npz")).explain() == text


def test_limits_of_zero_in_a_file_hold_no_joint() -> None:
    robot = trajopt.load_robot("double_pendulum")  # its file has zeros for all limits
    assert not np.any([robot.model.lowerPositionLimit, robot.model.upperPositionLimit, robot.model.velocityLimit])
    state = trajopt.StateMultibody(robot)
    assert np.all(np.isinf([state.lower, state.upper]))
    point = robot.placement([0.7, -0.4], "link2")[:3, 3]
    tasks = ConstraintStack(state).add("goal", trajopt.ResidualModelFrameTranslation(state, "link2", point), equals=0.0)
    result = ik.solve(robot, tasks)
    assert result.solved
    np.testing.assert_allclose(robot.placement(result.q, "link2")[:3, 3], point, atol=1e-6)
    held = trajopt.StateMultibody(robot, lower=np.zeros(4), upper=np.zeros(4))  # bounds of the user hold it
    goal = trajopt.ResidualModelFrameTranslation(held, "link2", point)
    assert not ik.solve(robot, ConstraintStack(held).add("goal", goal, equals=0.0)).solved


@pytest.mark.parametrize("speed", [0.1, 2.0])
def test_an_arm_that_rests_stretched_needs_another_start(speed: float) -> None:
    """A speed limit is reached on the way, but the arm ends at rest, stretched, and reaches the target otherwise."""
    robot, task = tool_at((0.4, 0.2, 0.4), turned=True)
    targets = np.tile(np.eye(4), (501, 1, 1))
    targets[:, :3, 3] = [0.4, 0.2, 0.4]
    targets[:, 0, 3] += np.minimum(speed * 0.01 * np.arange(501), 0.3)  # [m]
    assert ik.solve(robot, task, {"goal.reference": targets[-1]}).solved
    track = ik.track(robot, task, targets, 0.01)
    assert track.distance[-1] > 0.01
    assert np.abs(track.vs[-1]).max() < 1e-3
    assert track.status is ik.IKPathStatus.OTHER_START
