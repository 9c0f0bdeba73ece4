"""Sweeps: the bits of one call, going on after any end, workers that are killed, executors of others."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trajopt
from tests.sweeps.builders import ARM, goals_around
from tests.sweeps.executors import Closed, Deserted, Here
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.solution import Solution, SolverStatus
from trajopt.sweeps import Recipe, Sweep, SweepError, engine, grid, work
from trajopt.sweeps.cluster import count_workers
from trajopt.sweeps.engine import TRIES
from trajopt.sweeps.processes import Processes
from trajopt.sweeps.store import Store

pytest.importorskip("pyarrow")

N = 24
REACH = Recipe(problem="arm-reach", options={"T": 20}, robot="planar-2r")


@pytest.fixture
def goals() -> Any:
    return goals_around(N)


def one_call(goals: Any, solver: str = "SolverFDDP") -> list[Solution]:
    """All rows in one call, the last one first."""
    case = trajopt.problems.load("arm-reach", **ARM)
    one = getattr(trajopt.solvers, solver)(case.problem)
    return list(one.solve_batch(parameters={"goal.reference": goals[::-1]}, xs=case.xs, us=case.us))[::-1]


def plain_loop(goals: Any, solver: str) -> list[Solution]:
    """As a user would write it, from the last row to the first."""
    case = trajopt.problems.load("arm-reach", **ARM)
    one = getattr(trajopt.solvers, solver)(case.problem)
    found = []
    for goal in goals[::-1]:
        case.problem.set_parameter("goal.reference", goal)
        found.append(one.solve(case.xs, case.us))
    return found[::-1]


def check(found: Sweep, loop: list[Solution]) -> None:
    np.testing.assert_array_equal(found.index, np.arange(len(loop)))
    for row, solution in zip(found, loop):
        np.testing.assert_array_equal(row.xs, solution.xs)
        np.testing.assert_array_equal(row.us, solution.us)
        assert (row.cost, row.iterations, row.status) == (solution.cost, solution.iterations, solution.status.name)


@pytest.mark.parametrize("solver", ["SolverFDDP", "SolverSQP"])
def test_results_are_those_of_one_call_in_any_order_and_of_a_loop(goals: Any, tmp_path: Path, solver: str) -> None:
    recipe = Recipe(problem="arm-reach", options={"T": 20}, robot="planar-2r", solver=solver)
    found = trajopt.sweep(recipe, {"goal.reference": goals}, executor=Here(), chunk=7, store=tmp_path)
    check(found, one_call(goals, solver))
    loop = plain_loop(goals, solver)
    if solver == "SolverSQP":  # which solves row by row
        check(found, loop)
    assert found.status.tolist() == [one.status.name for one in loop]
    np.testing.assert_allclose(found.cost, [one.cost for one in loop], rtol=1e-10)
    np.testing.assert_allclose([row.xs for row in found], [one.xs for one in loop], atol=1e-7)
    assert (tmp_path / "table.parquet").exists()


def test_a_row_that_raises_is_a_result_and_leaves_the_others_alone(goals: Any, tmp_path: Path) -> None:
    us = np.zeros((N, 20, 2))
    us[4] = 1e200
    found = trajopt.sweep(REACH, {"goal.reference": goals, "us": us}, executor=Here(), store=tmp_path)
    assert found.status[4] == "ERROR"
    assert found[4].error.startswith("ModelEvaluationError: knot ")
    assert not found.error[5]
    alone = {"goal.reference": goals[5:], "us": us[5:]}
    np.testing.assert_array_equal(found[5].xs, found[5].solution().xs)
    apart = trajopt.sweep(REACH, alone, executor=Here(), store=tmp_path / "apart")
    np.testing.assert_array_equal(apart.cost, found.cost[5:])


def test_a_sweep_goes_on_at_a_row_that_raises(tmp_path: Path) -> None:
    values = {"seed": np.arange(4), "spread": np.array([0.1, 0.1, -1.0, 0.1])}
    trajopt.sweep(REACH, {k: v[:2] for k, v in values.items()}, executor=Here(), chunk=2, store=tmp_path)
    found = trajopt.sweep(REACH, values, executor=Here(), chunk=2, store=tmp_path)
    assert list(found.status) == ["CONVERGED", "CONVERGED", "ERROR", "CONVERGED"]
    assert found[2].error == "InvalidArgumentError: spread: expected a number >= 0, got -1.0"


def test_wrong_guesses_are_refused_before_anything_is_submitted(tmp_path: Path) -> None:
    executor = Here()
    with pytest.raises(InvalidArgumentError, match="us: expected 20 controls"):
        trajopt.sweep(REACH, {"us": np.zeros((3, 19, 2))}, executor=executor, store=tmp_path)
    assert not executor.calls


def test_states_guesses_and_seeds_vary(tmp_path: Path) -> None:
    case = trajopt.problems.load("arm-reach", **ARM)
    x0 = case.problem.x0 + 0.1 * np.arange(4)[:, None] * [1, 1, 0, 0]
    found = trajopt.sweep(REACH, {"x0": x0, "seed": [0, 1, 2, 2]}, executor=Here(), store=tmp_path / "a")
    for row, start in zip(found, x0):
        np.testing.assert_array_equal(row.xs[0], start)
    assert found.converged.all()
    same = trajopt.sweep(REACH, {"seed": [5, 5, 6]}, executor=Here(), store=tmp_path / "b")
    np.testing.assert_array_equal(same[0].xs, same[1].xs)
    assert not np.array_equal(same[0].xs, same[2].xs)
    still = trajopt.sweep(REACH, {"seed": [5], "spread": [0.0]}, executor=Here(), store=tmp_path / "c")
    xs = np.tile(case.problem.x0, (21, 1))
    np.testing.assert_array_equal(still[0].xs, case.solver(case.problem, case.options).solve_batch(xs=xs[None]).xs[0])


def test_values_at_some_knots(tmp_path: Path) -> None:
    found = trajopt.sweep(
        REACH, grid({"torque.weight@running": [1e-4, 1e-2]}), executor=Here(), store=tmp_path, trajectories=False
    )
    assert found.cost[0] < found.cost[1]


@pytest.mark.parametrize(
    ("error", "comes"), [(BrokenExecutor("killed"), SweepError), (KeyboardInterrupt(), KeyboardInterrupt)]
)
def test_it_goes_on_where_it_was_cut_off(
    goals: Any, tmp_path: Path, error: BaseException, comes: type[BaseException]
) -> None:
    values = {"goal.reference": goals}
    with pytest.raises(comes) as raised:
        trajopt.sweep(REACH, values, executor=Here(2, error), chunk=5, store=tmp_path, ahead=1)
    if comes is SweepError:
        assert "repeat the call with a new executor to continue" in str(raised.value)
    done = len(list((tmp_path / "chunks").glob("*.npz")))
    assert len(part := Sweep.read(tmp_path)) == 5 * done >= 5
    assert part.report()["interrupted"].startswith(f"{24 - 5 * done} rows still to solve: repeat the call")
    assert part[:2].left == part.left == 24 - 5 * done
    later = Here()
    check(trajopt.sweep(REACH, values, executor=later, chunk=5, store=tmp_path), one_call(goals))
    assert len(later.calls) == 5 - done
    assert not list(tmp_path.rglob("*.tmp"))


def test_chunks_that_are_there_are_read_once(goals: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of a store reads whole files: three here, then one that is missing."""
    values, asked = {"goal.reference": goals}, list[str]()
    trajopt.sweep(REACH, values, executor=Here(), chunk=6, store=tmp_path)
    keys = json.loads((tmp_path / "chunks.json").read_text())
    (tmp_path / "chunks" / f"{keys[-1]}.npz").unlink()
    holds = Store.holds

    def count(store: Store, key: str) -> bool:
        asked.append(key)
        return holds(store, key)

    monkeypatch.setattr(Store, "holds", count)
    later = Here()
    trajopt.sweep(REACH, values, executor=later, chunk=6, store=tmp_path)
    assert asked == keys
    assert len(later.calls) == 1


def test_a_cluster_that_is_closed_ends_the_sweep(goals: Any, tmp_path: Path) -> None:
    with pytest.raises(SweepError, match="executor: it ended before the sweep"):
        trajopt.sweep(REACH, {"goal.reference": goals}, executor=Closed(), store=tmp_path)


def test_a_cluster_without_workers_warns_once_and_the_sweep_waits(
    goals: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(engine, "QUIET", 0.01)
    with caplog.at_level(logging.WARNING):
        found = trajopt.sweep(REACH, {"goal.reference": goals}, executor=Deserted(3), chunk=64, store=tmp_path)
    check(found, one_call(goals))
    assert caplog.text.count("the cluster has no workers, and the sweep waits for them") == 1
    assert str(tmp_path) in caplog.text


def test_workers_of_a_cluster_are_counted() -> None:
    assert count_workers(Here()) is None
    assert count_workers(Deserted(1)) == 0


def test_damaged_chunks_are_done_again(goals: Any, tmp_path: Path) -> None:
    first = trajopt.sweep(REACH, {"goal.reference": goals}, executor=Here(), chunk=6, store=tmp_path)
    files = sorted((tmp_path / "chunks").glob("*.npz"))
    content = bytearray(files[0].read_bytes())
    content[len(content) // 2] ^= 1
    files[0].write_bytes(content)
    files[1].write_bytes(files[1].read_bytes()[:-100])
    files[2].write_bytes(files[3].read_bytes())  # sound, but of other rows
    later = Here()
    second = trajopt.sweep(REACH, {"goal.reference": goals}, executor=later, chunk=6, store=tmp_path)
    assert len(later.calls) == 3
    np.testing.assert_array_equal(first.cost, second.cost)


def test_a_store_has_the_rows_of_its_last_sweep(goals: Any, tmp_path: Path) -> None:
    trajopt.sweep(REACH, {"goal.reference": goals}, executor=Here(), chunk=6, store=tmp_path)
    later = Here()
    part = trajopt.sweep(REACH, {"goal.reference": goals[:15]}, executor=later, chunk=6, store=tmp_path)
    assert len(part) == 15
    assert len(later.calls) == 1, "the last chunk is shorter"
    moved = trajopt.sweep(REACH, {"goal.reference": goals[6:]}, executor=Here(), chunk=6, store=tmp_path)
    np.testing.assert_array_equal(moved.index, np.arange(18))
    np.testing.assert_array_equal(moved.cost[:9], part.cost[6:])


def test_the_store_of_another_recipe_is_refused(goals: Any, tmp_path: Path) -> None:
    values = {"goal.reference": goals[:2]}
    trajopt.sweep(REACH, values, executor=Here(), store=tmp_path)
    other = Recipe(problem="arm-reach", options={"T": 21}, robot="planar-2r")
    with pytest.raises(InvalidArgumentError, match="store: expected a new folder, or one of the same recipe"):
        trajopt.sweep(other, values, executor=Here(), store=tmp_path)
    facts = (tmp_path / "recipe.json").read_text()
    assert json.loads(facts)["coordinates"] == ["q:joint_1", "q:joint_2", "v:joint_1", "v:joint_2"]
    (tmp_path / "recipe.json").write_text(facts.replace('"fingerprint": "', '"fingerprint": "0'))
    with pytest.raises(InvalidArgumentError, match="was begun with another version"):
        trajopt.sweep(REACH, values, executor=Here(), store=tmp_path)
    (tmp_path / "recipe.json").write_text(facts[:-5])
    with pytest.raises(InvalidArgumentError, match="recipe.json cannot be read"):
        trajopt.sweep(REACH, values, executor=Here(), store=tmp_path)


def test_wrong_values_are_refused_before_anything_is_submitted(goals: Any, tmp_path: Path) -> None:
    for values, error in (
        ({"goal.referenc": goals}, UnknownNameError),
        ({"goal.reference": goals[:, :, :2]}, InvalidArgumentError),
        ({"x0": np.zeros((3, 5))}, InvalidArgumentError),
    ):
        executor = Here()
        with pytest.raises(error):
            trajopt.sweep(REACH, values, executor=executor, store=tmp_path)
        assert not executor.calls
    with pytest.raises(InvalidArgumentError, match=r"executor: expected an Executor.*client.get_executor\(\)"):
        trajopt.sweep(REACH, {"goal.reference": goals}, executor="dask", store=tmp_path)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="workers: expected None together with an executor"):
        trajopt.sweep(REACH, {"goal.reference": goals}, executor=Here(), workers=2, store=tmp_path)


def test_a_generator_is_consumed_as_the_sweep_goes_on(goals: Any, tmp_path: Path) -> None:
    executor, asked = Here(), []

    def rows() -> Iterator[dict[str, Any]]:
        for i in range(N):
            asked.append((i, len(executor.calls)))
            yield {"goal.reference": goals[i]}

    check(trajopt.sweep(REACH, rows(), executor=executor, chunk=4, store=tmp_path, ahead=1), one_call(goals))
    assert all(i // 4 <= calls for i, calls in asked), "a chunk is asked for when the one before is handed out"


def test_threads_build_problems_of_their_own(goals: Any, tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as threads:
        found = trajopt.sweep(REACH, {"goal.reference": goals}, executor=threads, chunk=2, store=tmp_path)
    check(found, one_call(goals))


def one_chunk(goals: Any, **recipe: Any) -> work.Chunk:
    reach = Recipe(problem="arm-reach", options={"T": 20}, robot="planar-2r", **recipe)
    return work.Chunk(recipe=reach, start=0, values={"goal.reference": goals}, trajectories=True, owner=os.getpid())


def test_a_solve_that_was_interrupted_is_no_result(goals: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        trajopt.solvers.SolverSQP, "iterate", lambda self, run: setattr(run, "status", SolverStatus.INTERRUPTED)
    )
    with pytest.raises(KeyboardInterrupt):
        work.solve_chunk(one_chunk(goals, solver="SolverSQP"))


def test_rows_of_a_chunk_run_in_lanes(goals: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(trajopt.solvers.SolverFDDP, "iterate", interrupted)  # which lanes do without
    assert work.solve_chunk(one_chunk(goals))["converged"].all()
    monkeypatch.setattr("trajopt.solvers.ddp.lanes.loop.LaneLoop._iterate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        work.solve_chunk(one_chunk(goals))


def test_without_the_extra_nothing_is_begun(goals: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(trajopt.MissingDependencyError, match=r"trajopt.sweep needs pyarrow: pip install pyarrow"):
        trajopt.sweep(REACH, {"goal.reference": goals}, executor=Here(), store=tmp_path / "store")
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(("owner", "threads"), [(os.getpid(), []), (0, [1])], ids=["own process", "another"])
def test_other_processes_work_with_one_thread(
    goals: Any, monkeypatch: pytest.MonkeyPatch, owner: int, threads: list[int]
) -> None:
    told: list[int] = []
    monkeypatch.setattr(work, "set_num_threads", told.append)
    monkeypatch.setattr(work, "get_num_threads", lambda: 4)
    values = {"goal.reference": goals[:1]}
    work.solve_chunk(work.Chunk(recipe=REACH, start=0, values=values, trajectories=True, owner=owner))
    assert told == threads


def test_workers_that_are_killed_are_replaced(goals: Any, tmp_path: Path) -> None:
    options = {"owner": os.getpid(), "flag": str(tmp_path / "flag"), "times": 1}
    recipe = Recipe(problem="tests.sweeps.builders:killed", options=options)
    found = trajopt.sweep(recipe, {"goal.reference": goals}, workers=1, chunk=12, store=tmp_path / "store")
    assert (tmp_path / "flag").read_text() == "xx"
    check(found, one_call(goals))


def test_calls_that_end_their_process_are_given_up() -> None:
    """With nothing but Python in the processes."""
    with Processes(2) as processes:
        calls = [processes.submit(os._exit, 3), processes.submit(os.kill, os.getpid(), 0), processes.submit(max, 3, 4)]
        with pytest.raises(trajopt.TrajoptError, match="ended with exit code 3"):
            calls[0].result()
        assert (calls[1].result(), calls[2].result()) == (None, 4)
        with pytest.raises(ZeroDivisionError):
            processes.submit(divmod, 1, 0).result()
        assert processes.submit(os.getenv, "OMP_NUM_THREADS").result() == "1"
    with pytest.raises(RuntimeError, match="not shut down"):
        processes.submit(max, 1, 2)


def test_a_chunk_that_ends_its_workers_ends_the_sweep(goals: Any, tmp_path: Path) -> None:
    class Ending(Here):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            future = super().submit(max, 1, 2)
            if args[0].start == 6:
                future = type(future)()
                future.set_exception(trajopt.sweeps.errors.WorkerLostError("a worker process was ended by signal 11"))
            else:
                future = type(future)()
                future.set_result(fn(*args))
            return future

    executor = Ending()
    with pytest.raises(SweepError, match=f"rows 6 to 11 failed in attempt {TRIES} of {TRIES} .* ended by signal 11"):
        trajopt.sweep(REACH, {"goal.reference": goals[:12]}, executor=executor, chunk=6, store=tmp_path)
    assert len(executor.calls) == TRIES + 1
    assert len(Sweep.read(tmp_path)) == 6


def test_workers_end_with_the_process_that_asks() -> None:
    code = (
        "import os, time; from trajopt.sweeps.processes import Processes; p = Processes(1);"
        "print(p.submit(os.getpid).result(), flush=True); p.submit(time.sleep, 0.2); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        worker = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
    for _ in range(200):
        if not Path(f"/proc/{worker}").exists() or "State:\tZ" in Path(f"/proc/{worker}/status").read_text():
            return
        time.sleep(0.05)
    os.kill(worker, signal.SIGKILL)
    pytest.fail("the worker goes on alone")


@pytest.mark.filterwarnings("ignore")
def test_dask(goals: Any, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        found = trajopt.sweep(REACH, {"goal.reference": goals}, executor=client.get_executor(), chunk=5, store=tmp_path)
    check(found, one_call(goals))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_workers_of_dask_that_are_killed_are_replaced(goals: Any, tmp_path: Path) -> None:
    """A nanny starts another worker, and the rows of the dead one are solved there."""
    distributed = pytest.importorskip("distributed")
    options = {"owner": os.getpid(), "flag": str(tmp_path / "flag"), "times": 1}
    recipe = Recipe(problem="tests.sweeps.builders:killed", options=options)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        executor = client.get_executor()
        found = trajopt.sweep(
            recipe, {"goal.reference": goals}, executor=executor, chunk=12, store=tmp_path / "store", progress=False
        )
    assert (tmp_path / "flag").read_text() == "xx"
    check(found, one_call(goals))
