"""Sweeps at the door: calls that are refused, stores that were cut off or cannot be written, Ctrl-C, lost workers."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trajopt
from tests.support.full_disk import full_disk
from tests.sweeps.builders import goals_around
from tests.sweeps.executors import Here
from trajopt.errors import InvalidArgumentError, TrajoptError
from trajopt.sweeps import Recipe, Sweep, SweepError
from trajopt.sweeps.errors import WorkerLostError
from trajopt.sweeps.processes import Processes

pytest.importorskip("pyarrow")

N = 6
REACH = Recipe(problem="arm-reach", options={"T": 20}, robot="planar-2r")


@pytest.fixture
def goals() -> Any:
    return goals_around(N)


def test_a_call_that_is_refused_leaves_the_store_alone(goals: Any, tmp_path: Path) -> None:
    trajopt.sweep(REACH, {"goal.reference": goals[:6]}, executor=Here(), chunk=3, store=tmp_path)
    trajopt.sweep(REACH, {"goal.reference": goals[:2]}, executor=Here(), chunk=3, store=tmp_path)
    for name, ahead in (("goal.referenc", 1), ("goal.reference", 0)):
        with pytest.raises(TrajoptError):
            trajopt.sweep(REACH, {name: goals}, executor=Here(), store=tmp_path, ahead=ahead)
    with pytest.raises(InvalidArgumentError):
        trajopt.sweep(REACH, {"goal.reference": goals}, executor=3, store=tmp_path)  # type: ignore[arg-type]
    assert len(Sweep.read(tmp_path)) == 2
    with pytest.raises(InvalidArgumentError):
        trajopt.sweep(REACH, {"x0": np.zeros(3)}, executor=Here(), store=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_store_that_was_cut_off_has_rows_of_one_kind(
    goals: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trajopt.sweep(REACH, {"goal.reference": goals[:4]}, executor=Here(), chunk=2, store=tmp_path)
    for file in (tmp_path / "chunks").glob("*.npz"):
        os.utime(file, (0, 0))
    velocities = {"x0": 0.1 * np.eye(4)}
    with pytest.raises(SweepError):
        trajopt.sweep(REACH, velocities, executor=Here(1, RuntimeError()), chunk=2, store=tmp_path, ahead=1)
    found = Sweep.read(tmp_path)
    assert list(found.parameters) == ["x0"]
    np.testing.assert_array_equal(found.parameters["x0"], velocities["x0"][:2])
    assert "2 chunks of earlier sweeps with other parameters are left out" in caplog.text


def test_ctrl_c_while_code_is_compiled_ends_the_sweep(
    goals: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(trajopt.solvers.SolverFDDP, "iterate", interrupted)
    executor = Here()
    with pytest.raises(KeyboardInterrupt, match=r"finished rows are in .*: the same call goes on from there"):
        trajopt.sweep(REACH, {"goal.reference": goals}, executor=executor, store=tmp_path)
    assert not executor.calls
    part = Sweep.read(tmp_path)
    assert len(part) == 0, "no chunk is finished, but the sweep has begun"
    assert part.report()["interrupted"].startswith(f"{len(goals)} rows still to solve: repeat the call")
    assert part.table["cost"].shape == (0,)
    assert "no rows" in repr(part)
    with pytest.raises(InvalidArgumentError, match="none of 0 rows converged"):
        part.best()


def test_unfinished_files_of_other_sweeps_stay(goals: Any, tmp_path: Path) -> None:
    values = {"goal.reference": goals[:2]}
    trajopt.sweep(REACH, values, executor=Here(), store=tmp_path)
    young, old = tmp_path / "chunks" / "a.1.tmp", tmp_path / "chunks" / "b.2.tmp"
    young.touch()
    old.touch()
    os.utime(old, (0, 0))
    trajopt.sweep(REACH, values, executor=Here(), store=tmp_path)
    assert young.exists()
    assert not old.exists()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"seed": [[1, 2]]}, "seed: expected a number, got an array"),
        ({"seed": [1.5]}, "seed: expected an integer >= 0, got 1.5"),
        ({"spread": [0.1]}, "spread: expected a seed with it, got none"),
    ],
)
def test_wrong_seeds(values: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        trajopt.sweep(REACH, values, executor=Here(), store=tmp_path)


def test_a_worker_that_ends_at_its_start_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pipes: list[Any] = []

    def refused(stream: Any, message: Any) -> None:
        pipes.append(stream)
        raise BrokenPipeError

    monkeypatch.setattr("trajopt.sweeps.worker.send", refused)
    processes = Processes(1)
    with pytest.raises(WorkerLostError, match="a worker process ended with exit code 0"):
        processes.submit(os.getpid).result()
    assert not processes.pids
    assert [pipe.closed for pipe in pipes] == [True]
    processes.shutdown()


def test_a_store_that_can_no_longer_be_written_says_so(
    goals: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {"goal.reference": goals[:2]}
    trajopt.sweep(REACH, values, executor=Here(), store=tmp_path)

    def refused(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refused)
        with pytest.raises(InvalidArgumentError, match="store: expected a writable folder, .*denied"):
            trajopt.sweep(REACH, values, executor=Here(), store=tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("trajopt.sweeps.store.Store.close", refused)
        with pytest.raises(SweepError, match="store: all rows are solved, but .* cannot be completed.*repeat the call"):
            trajopt.sweep(REACH, values, executor=Here(), store=tmp_path)
    assert len(trajopt.sweep(REACH, values, executor=Here(), store=tmp_path)) == 2


def test_a_full_disk_ends_the_sweep_and_it_goes_on_later(goals: Any, tmp_path: Path) -> None:
    """Rows that were written stay; none is half written."""
    values = {"goal.reference": goals}
    with full_disk(100), pytest.raises((InvalidArgumentError, SweepError), match="File too large|No space left"):
        trajopt.sweep(REACH, values, executor=Here(), store=tmp_path, chunk=2)
    for later in (20_000, 60_000):
        with full_disk(later), contextlib.suppress(InvalidArgumentError, SweepError):
            trajopt.sweep(REACH, values, executor=Here(), store=tmp_path, chunk=2)
    found = trajopt.sweep(REACH, values, executor=Here(), store=tmp_path, chunk=2)
    assert len(found) == N
    assert not found.failures()
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".part" or path.name.startswith(".")] == []
