"""Batches of inverse kinematics as files and tables, and how their texts count causes."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import trajopt
from tests.ik.test_batch_of_squats import LEFT, RIGHT, heights, squat
from trajopt import ik
from trajopt.errors import InvalidArgumentError, UnsupportedOperationError


def squats(most: int = 3) -> ik.IKBatch:
    robot, tasks, q0 = squat()
    targets = {
        "com.reference": heights(np.full(3, 0.15))["com.reference"][:most],
        "left_hand.reference": [[1.6, 0.3, 0.9], LEFT, [5.0, 0.3, 0.9]][:most],
        "right_hand.reference": [RIGHT, RIGHT, [5.0, -0.3, 0.9]][:most],
    }
    return ik.solve_batch(robot, tasks, targets, start=q0)


@pytest.mark.slow
def test_a_batch_from_a_file_says_the_same(tmp_path: Path) -> None:
    batch = squats()
    again = ik.IKBatch.load(batch.save(tmp_path / "squats"))
    np.testing.assert_array_equal(again.q, batch.q)
    np.testing.assert_array_equal(again.solved, batch.solved)
    assert (again.names, again.causes, again.active_limits) == (batch.names, batch.causes, batch.active_limits)
    assert again.causes[0] == ("com", "left_hand")
    assert again.explain() == batch.explain()
    assert again.failed == batch.failed
    with pytest.raises(UnsupportedOperationError, match="a batch from a file has the residuals at its own q only"):
        again.judge(batch.q + 0.1)
    assert ik.IKBatch.load(again.save(tmp_path / "again.npz")).explain() == batch.explain()


def test_a_table_has_a_row_for_each_target(tmp_path: Path) -> None:
    batch = squats()
    with batch.to_csv(tmp_path / "squats.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    assert head[:4] == ["solved", "violation", "cost", "starts"]
    assert head[4:] == [f"{name} [{unit}]" for name, unit in zip(batch.names, batch.units, strict=True)]
    assert head[4].startswith("q:")
    np.testing.assert_array_equal(np.array([row[4:] for row in rows], dtype=float), batch.q)
    assert [row[0] for row in rows] == ["False", "True", "False"]
    assert list(batch.table()) == head


def test_files_of_others_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"expected a file ending in \.csv"):
        squats(1).to_csv(tmp_path / "squats.txt")
    np.savez(tmp_path / "other.npz", q=np.zeros(3))
    with pytest.raises(InvalidArgumentError, match="cannot be read as a saved batch"):
        ik.IKBatch.load(tmp_path / "other.npz")


def test_all_failures_are_counted_where_a_search_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one constraint there is nothing to search; with several the text says why it counts a part."""
    monkeypatch.setattr("trajopt.ik.result.SEARCHED", 1)
    robot = trajopt.load_robot("planar-2r")
    state, frame = trajopt.StateMultibody(robot), robot.frame_names[-1]
    tip = trajopt.ResidualModelFrameTranslation(state, frame)
    tasks = trajopt.ConstraintStack(state).add("tip", tip, equals=0.0)
    far = ik.solve_batch(robot, tasks, {"tip.reference": np.array([[9.0, 0.0, z] for z in range(6)])}, starts=2)
    assert far.explain(1).splitlines()[1] == "6 failed: 6 out of reach"
    batch = squats()
    text = batch.explain(1)
    assert "2 failed, of the first 1: 1 because of com or left_hand\n  each search for causes takes millisec" in text
    assert batch.causes
    assert "2 failed: 1 because of com or left_hand, 1 " in batch.explain(1)


def test_a_target_whose_tasks_all_exclude_each_other_lists_none_of_them() -> None:
    """A list of all tasks says no more than their number."""
    batch = squats()
    every = tuple(batch.residuals)
    assert len(every) > 2
    assert batch._kind(0, every) == "because of all tasks together"
    assert batch._kind(0, every[:2]) == f"because of {every[0]} or {every[1]}"
