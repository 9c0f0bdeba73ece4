"""Joints with limits of ±2π: solutions have the angles that are nearest to a start, or to the neutral configuration."""

from __future__ import annotations

import functools

import numpy as np

import trajopt
from trajopt import ik

ROBOT = trajopt.load_robot("ur5")
STATE = trajopt.StateMultibody(ROBOT)
QS = np.random.default_rng(0).uniform(-np.pi, np.pi, (60, 6))
QS[:, 2] = np.clip(QS[:, 2], -3.0, 3.0)


@functools.cache
def solver() -> ik.IKSolver:
    tool = trajopt.ResidualModelFramePlacement(STATE, "tool0", np.eye(4))
    return ik.IKSolver(ROBOT, trajopt.ConstraintStack(STATE).add("tool", tool, equals=0.0))


def test_solutions_take_no_whole_turns() -> None:
    targets = ROBOT.placement(QS, "tool0")
    batch = solver().solve_batch({"tool.reference": targets})
    assert batch.solved.all()
    np.testing.assert_allclose(ROBOT.placement(batch.q, "tool0"), targets, atol=1e-5)
    assert np.abs(batch.q).max() < np.pi + 1e-9
    for target in targets[:10]:
        found = solver().solve({"tool.reference": target}).configurations
        assert np.abs(found).max() < np.pi + 1e-9
        turns = (found[:, None] - found[None]) / (2.0 * np.pi)
        apart = np.abs(turns - np.round(turns)).max(axis=2)[~np.eye(len(found), dtype=np.bool_)]
        assert apart.min(initial=1.0) > 1e-4


def test_solutions_have_the_turns_of_their_start() -> None:
    """A start a whole turn away from the neutral configuration keeps its turn, within limits."""
    start = QS.copy()
    start[:, 5] = np.where(start[:, 5] > 0.0, start[:, 5] - 2.0 * np.pi, start[:, 5] + 2.0 * np.pi)
    near = start + np.random.default_rng(1).normal(size=start.shape) * 0.05
    batch = solver().solve_batch({"tool.reference": ROBOT.placement(QS, "tool0")}, start=near)
    beyond = np.abs(batch.q - near) > np.pi + 1e-9
    limited = np.abs(batch.q - 2.0 * np.pi * np.sign(batch.q - near)) > 2.0 * np.pi
    assert not np.any(beyond & ~limited)
    assert np.abs(batch.q[:, 5]).max() > np.pi


def test_a_task_of_the_angle_itself_keeps_its_turn() -> None:
    angle = trajopt.ResidualModelState(STATE, STATE.at_rest(np.full(6, 3.0)), elements=[0])
    tasks = trajopt.ConstraintStack(STATE).add("angle", angle, lower=1.0, upper=2.0)
    assert 4.0 - 1e-6 <= ik.solve(ROBOT, tasks).q[0] <= 5.0 + 1e-6


def test_costs_are_those_of_the_nearest_turns() -> None:
    """From starts that were whole turns away costs ended at local minima, 582 in all instead of 374."""
    posture = trajopt.ResidualModelState(STATE, STATE.zero(), elements=range(6))
    tool = trajopt.ResidualModelFramePlacement(STATE, "tool0", np.eye(4))
    tasks = trajopt.ConstraintStack(STATE).add("tool", tool, equals=0.0)
    costs = trajopt.CostStack(STATE).add("posture", posture, weight=1.0)
    batch = ik.solve_batch(ROBOT, (tasks, costs), {"tool.reference": ROBOT.placement(QS, "tool0")})
    assert np.all(batch.violation <= batch.tolerance)
    assert batch.cost.sum() < 0.5 * np.sum(QS**2)
    assert np.abs(batch.q).max() < np.pi + 0.1  # a descent may pass π
