"""Batches with costs: neighbouring squats of a humanoid, whose costs lie in flat valleys with multipliers."""

from __future__ import annotations

import functools
import pickle
from typing import Any

import numpy as np
import pytest

import trajopt
from trajopt import ik
from trajopt.errors import InvalidArgumentError
from trajopt.robots import Robot

LEFT, RIGHT = [0.45, 0.3, 0.7], [0.45, -0.3, 0.9]  # points of the hands [m]


@functools.cache
def squat() -> tuple[Robot, tuple[Any, Any], Any]:
    """Talos, its tasks, and its reference configuration: soles and hands in place, a height of the centre of mass."""
    robot = trajopt.load_robot("talos")
    state, q0 = trajopt.StateMultibody(robot), robot.configuration("half_sitting")
    tasks = trajopt.ConstraintStack(state)
    for side in ("left", "right"):
        sole = f"{side}_sole_link"
        placed = trajopt.ResidualModelFramePlacement(state, sole, robot.placement(q0, sole))
        tasks.add(f"{side}_foot", placed, equals=0.0)
    com = trajopt.ResidualModelCoMPosition(state, robot.com(q0))
    tasks.add("com", com, lower=[-0.05, -0.05, 0.0], upper=[0.05, 0.05, 0.0])
    for side, point in (("left", LEFT), ("right", RIGHT)):
        hand = trajopt.ResidualModelFrameTranslation(state, f"gripper_{side}_joint", point)
        tasks.add(f"{side}_hand", hand, equals=0.0)
    posture = trajopt.ResidualModelState(state, state.at_rest(q0))
    return robot, (tasks, trajopt.CostStack(state).add("posture", posture, weight=1.0)), q0


def heights(depths: Any) -> dict[str, Any]:
    robot, _, q0 = squat()
    feet = [robot.placement(q0, f"{side}_sole_link")[:3, 3] for side in ("left", "right")]
    points = np.tile(np.mean(feet, axis=0), (len(depths), 1))
    points[:, 2] = robot.com(q0)[2] - depths
    return {"com.reference": points}


DEPTHS = 0.2 * np.arange(4, 29) / 49  # [m]


def test_neighbouring_squats_all_end_in_the_same_valley() -> None:
    robot, tasks, _ = squat()
    batch = ik.solve_batch(robot, tasks, heights(DEPTHS))
    assert batch.solved.all()
    assert batch.cost.max() < 1.5
    assert np.abs(np.diff(batch.cost)).max() < 0.05


def test_more_starts_are_never_worse() -> None:
    robot, tasks, _ = squat()
    few, more = (ik.solve_batch(robot, tasks, heights(DEPTHS[15:]), starts=n).cost for n in (6, 40))
    assert np.all(more <= 1.0011 * few)


def test_a_batch_starts_where_the_user_says() -> None:
    robot, tasks, q0 = squat()
    begun = ik.solve(robot, tasks, {"com.reference": heights(DEPTHS[:1])["com.reference"][0]}, start=q0, starts=1)
    one = ik.solve_batch(robot, tasks, heights(DEPTHS[:3]), starts=1, start=begun.q)
    assert one.solved.all()
    assert one.cost == pytest.approx([1.11, 1.10, 1.09], abs=0.01)
    each = ik.solve_batch(robot, tasks, heights(DEPTHS[:3]), starts=1, start=one.q)
    assert each.cost == pytest.approx(one.cost, rel=1e-5)
    with pytest.raises(
        InvalidArgumentError, match="start: expected one configuration or 3, one for each target, got 2"
    ):
        ik.solve_batch(robot, tasks, heights(DEPTHS[:3]), start=one.q[:2])


def test_the_least_motion_of_a_batch_begins_at_its_start() -> None:
    robot = trajopt.load_robot("panda")
    state = trajopt.StateMultibody(robot)
    q = np.array([robot.configuration("default")] * 2)
    q[1, 0] += 0.5
    hand = trajopt.ResidualModelFrameTranslation(state, "panda_hand", np.zeros(3))
    tasks = trajopt.ConstraintStack(state).add("hand", hand, equals=0.0)
    points = np.array([robot.placement(each, "panda_hand")[:3, 3] for each in q])
    batch = ik.solve_batch(robot, tasks, {"hand.reference": points}, start=q, weights={"panda_joint1": 2.0})
    assert np.abs(batch.q - q).max() < 1e-4
    assert batch.cost.max() < 1e-8


def test_a_hand_out_of_reach_is_named_before_what_it_bends() -> None:
    robot, tasks, q0 = squat()
    depth = {"com.reference": heights([0.15])["com.reference"][0]}
    far = ik.solve(robot, tasks, {**depth, "left_hand.reference": [1.6, 0.3, 0.9]}, start=q0)
    assert len(far.failed) > 2
    assert far.causes == ("com", "left_hand")  # a body that leans reaches it, too
    assert set(far.failed[:2]) == {"com", "left_hand"}
    assert "all others hold without com or without left_hand" in str(far)
    beyond = {f"{side}_hand.reference": [5.0, y, 0.9] for side, y in (("left", 0.3), ("right", -0.3))}
    both = ik.solve(robot, tasks, {**depth, **beyond}, start=q0)
    assert both.causes == ()
    assert "cause" not in str(both)


def test_a_batch_names_the_causes_of_its_targets_out_of_reach() -> None:
    """As single solves do, also from a pickle, and none for targets within reach or with several causes."""
    robot, tasks, q0 = squat()
    targets = {
        "com.reference": heights(np.full(3, 0.15))["com.reference"],
        "left_hand.reference": [[1.6, 0.3, 0.9], LEFT, [5.0, 0.3, 0.9]],
        "right_hand.reference": [RIGHT, RIGHT, [5.0, -0.3, 0.9]],
    }
    batch = ik.solve_batch(robot, tasks, targets, start=q0)
    assert batch.solved.tolist() == [False, True, False]
    assert batch.causes == (("com", "left_hand"), (), ())
    assert pickle.loads(pickle.dumps(batch)).causes == batch.causes
    text = batch.explain().splitlines()
    assert "    all others hold without com or without left_hand" in text
    assert "    more than one has to give way" in text
    assert not [line for line in batch.explain(1).splitlines() if "more than one" in line]


def test_a_result_explains_itself() -> None:
    robot, tasks, q0 = squat()
    depth = {"com.reference": heights([0.15])["com.reference"][0]}
    far = ik.solve(robot, tasks, {**depth, "left_hand.reference": [1.6, 0.3, 0.9]}, start=q0)
    first, *lines = far.explain().splitlines()
    assert first == str(far.status)
    miss = np.abs(far.residuals["left_hand"].violation).max()
    assert f"  left_hand by up to {miss:.3g} m" in lines
    assert "  all others hold without com or without left_hand" in lines
    assert lines[-1].startswith("-> move a target")
    near = ik.solve(robot, tasks, depth, start=q0)
    assert near.explain() == str(near.status)
