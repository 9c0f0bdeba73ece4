"""A sweep of arm reaches: cost of handing out rows, a second process, workers and main processes that are killed.

Results of every sweep are compared bit for bit with those of one call of `solve_batch` in this process. `python -m
tests.benchmarks.sweep FOLDER COUNT` is the main process that is killed.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np

import trajopt
from tests.benchmarks.machine import ROOT
from tests.benchmarks.table import bar, number, table
from trajopt.kernels import wait_until_optimised
from trajopt.sweeps import Recipe, Sweep, random

COUNT, CHUNK = 10_000, 64  # rows, rows of a chunk
KILLS = 6  # workers that are killed, evenly as the sweep goes on
MOST_OVERHEAD, LEAST_GAIN = 0.1, 1.6  # parts of the solving time; times as fast [-]
RECIPE = Recipe(problem="arm-reach", options={"target": (0.4, 0.3, 0.5)})
BOX = ((0.3, -0.4, 0.2), (0.6, 0.4, 0.7))  # corners of goals [m]
TITLE = """{count} reaches of a UR5 to random points, {chunk} a chunk. Overhead: what one process takes beyond one call
of `solve_batch`, without start-up, which is a sweep of one row; and the processor time of the main process alone, which
hands out rows and writes files, in parts of the call's. Differ: rows that are not the same bits as in the call."""


def measure(*, count: int | None = None) -> dict[str, Any]:
    """Times [s] and numbers of rows; each is printed as soon as it is known."""
    count = count or COUNT
    figures: dict[str, Any] = {"count": count}

    def tell(**found: Any) -> None:
        figures.update(found)
        words = (f"{name.replace('_', ' ')} {number(value) if value else value}" for name, value in found.items())
        print("sweep:", ", ".join(words), flush=True)

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        tell(**_start_up(place / "start"))
        tell(**_plain_loop(count))
        call, found = _one_call(count)
        tell(**found)
        tell(**_alone(call, place / "one", count, figures))
        tell(**_together(call, place / "two", count, figures))
        tell(**_killed_workers(call, place / "dask", count))
        tell(**_killed_main(call, place / "main", count))
    return figures


def _design(count: int) -> Any:
    return random({"goal.reference": BOX}, count, seed=1)


def _sweep(folder: Path, count: int, **options: Any) -> Sweep:
    return trajopt.sweep(RECIPE, _design(count), chunk=CHUNK, store=folder, progress=False, **options)


def _plain_loop(count: int) -> dict[str, float]:
    """Times of all rows in a loop that a user would write [s]."""
    case = trajopt.problems.load("arm-reach", target=(0.4, 0.3, 0.5))
    solver, goals = case.solver(case.problem, case.options), _design(count).block(0, count)["goal.reference"]
    solver.solve(case.xs, case.us)
    wait_until_optimised()
    wall, cpu = time.perf_counter(), time.process_time()
    for goal in goals:
        case.problem.set_parameter("goal.reference", goal)
        solver.solve(case.xs, case.us)
    return {"loop_wall": time.perf_counter() - wall, "loop_cpu": time.process_time() - cpu}


def _one_call(count: int) -> tuple[trajopt.SolutionBatch, dict[str, float]]:
    """Results of all rows in one call, and times [s]."""
    case = trajopt.problems.load("arm-reach", target=(0.4, 0.3, 0.5))
    solver, goals = case.solver(case.problem, case.options), _design(count).block(0, count)
    for _ in range(3):
        solver.solve_batch(parameters={name: rows[:CHUNK] for name, rows in goals.items()}, xs=case.xs, us=case.us)
        wait_until_optimised()
    wall, cpu = time.perf_counter(), time.process_time()
    found = solver.solve_batch(parameters=goals, xs=case.xs, us=case.us, progress=False)
    return found, {"call_wall": time.perf_counter() - wall, "call_cpu": time.process_time() - cpu}


def _differ(sweep: Sweep, call: trajopt.SolutionBatch) -> int:
    """Rows that are missing, or not the same bits."""
    same = np.zeros(len(call), dtype=bool)
    for rows, xs, us in sweep.trajectories():
        place = sweep.index[rows]
        same[place] = (xs == call.xs[place]).all(axis=(1, 2)) & (us == call.us[place]).all(axis=(1, 2))
    same[sweep.index] &= sweep.cost == call.cost[sweep.index]
    return int(np.count_nonzero(~same))


def _timed(run: Callable[[], Sweep], name: str) -> tuple[Sweep, dict[str, float]]:
    """Outcomes; wall time, and processor time of all processes and of this one [s]."""
    wall, own, children = time.perf_counter(), *_processor_times()
    found = run()
    main, workers = (now - before for now, before in zip(_processor_times(), (own, children)))
    return found, {f"{name}_wall": time.perf_counter() - wall, f"{name}_cpu": main + workers, f"{name}_main_cpu": main}


def _processor_times() -> tuple[float, float]:
    """Processor time of this process, and of its children that ended [s]."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    own, children = (usage.ru_utime + usage.ru_stime for usage in usages)
    return own, children


def _start_up(folder: Path) -> dict[str, Any]:
    _sweep(folder / "first", 1, workers=1)  # fills the cache
    return _timed(lambda: _sweep(folder / "second", 1, workers=1), "start")[1]


def _alone(call: trajopt.SolutionBatch, folder: Path, count: int, before: dict[str, Any]) -> dict[str, Any]:
    found, times = _timed(lambda: _sweep(folder, count, workers=1), "one")
    return times | {
        "overhead_wall": (times["one_wall"] - before["start_wall"]) / before["call_wall"] - 1.0,
        "overhead_cpu": (times["one_cpu"] - before["start_cpu"]) / before["call_cpu"] - 1.0,
        "overhead_main": (times["one_main_cpu"] - before["start_main_cpu"]) / before["call_cpu"],
        "bytes_a_row": sum(file.stat().st_size for file in (folder / "chunks").iterdir()) / count,
        "table_bytes_a_row": (folder / "table.parquet").stat().st_size / count,
        "converged": int(np.count_nonzero(found.converged)),
        "one_differ": _differ(found, call),
    }


def _together(call: trajopt.SolutionBatch, folder: Path, count: int, before: dict[str, Any]) -> dict[str, Any]:
    found, times = _timed(lambda: _sweep(folder, count, workers=2), "two")
    gain = (before["one_wall"] - before["start_wall"]) / (times["two_wall"] - before["start_wall"])
    return times | {"gain": gain, "two_differ": _differ(found, call)}


def _killed_workers(call: trajopt.SolutionBatch, folder: Path, count: int) -> dict[str, Any]:
    """Dask with two workers of one thread, one of which is killed again and again."""
    begin = time.perf_counter()
    with _dask() as (executor, cluster), _killing(cluster, folder, count) as killed:
        found = _sweep(folder, count, executor=executor)
    facts = {"dask_wall": time.perf_counter() - begin, "dask_kills": len(killed)}
    return facts | {"dask_missing": count - len(found), "dask_differ": _differ(found, call)}


@contextlib.contextmanager
def _dask() -> Iterator[tuple[Executor, Any]]:
    """An executor, and its cluster of two workers."""
    import dask
    from distributed import Client, LocalCluster

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1000, "logging.distributed": "critical"}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        yield client.get_executor(), cluster


@contextlib.contextmanager
def _killing(cluster: Any, folder: Path, count: int) -> Iterator[list[int]]:
    """Kills one worker after the other; gives the list of those it has killed."""
    killed: list[int] = []
    end = threading.Event()

    def wait() -> bool:
        """Waits for the time to kill one; whether there is none."""
        wanted = (len(killed) + 1) * -(-count // CHUNK) // (KILLS + 1)
        while len(list((folder / "chunks").glob("*.npz"))) < wanted:
            if end.wait(0.02):
                return True
        return end.is_set() or len(killed) == KILLS

    def kill() -> None:
        while not wait():
            running = [worker.pid for worker in cluster.workers.values() if worker.pid is not None]
            if running:
                pid = running[len(killed) % len(running)]
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        end.set()
        thread.join()


def _killed_main(call: trajopt.SolutionBatch, folder: Path, count: int) -> dict[str, Any]:
    """The main process is killed when a third of the chunks are there; then the same call goes on."""
    command = [sys.executable, "-m", "tests.benchmarks.sweep", str(folder), str(count)]
    wanted = -(-count // CHUNK) // 3
    with subprocess.Popen(command, cwd=ROOT) as process:
        while process.poll() is None and len(list((folder / "chunks").glob("*.npz"))) < wanted:
            time.sleep(0.02)
        process.kill()
    kept = {file.name: file.stat().st_mtime_ns for file in (folder / "chunks").glob("*.npz")}
    found = _sweep(folder, count, workers=2)
    again = sum((folder / "chunks" / name).stat().st_mtime_ns != when for name, when in kept.items())
    facts = {"main_killed_at_chunks": len(kept), "main_chunks_done_again": again}
    return facts | {"main_missing": count - len(found), "main_differ": _differ(found, call)}


def failures(figures: dict[str, Any]) -> bool:
    """Whether a row was lost or differs from the one call, or no worker was killed."""
    return figures["dask_kills"] == 0 or any(
        value for name, value in figures.items() if name.endswith(("_differ", "_missing"))
    )


def report(figures: dict[str, Any]) -> str:
    """The tables."""
    f, none = figures, 0.0
    rate = f["count"] / f["call_cpu"]
    rows = [
        ["plain loop", f"{number(f['loop_wall'])} s, {number(f['loop_cpu'])} s of processor", ""],
        ["one call", f"{number(f['call_wall'])} s, {number(f['call_cpu'])} s of processor", ""],
        ["solves a second of processor", number(rate), ""],
        ["start-up", f"{number(f['start_wall'])} s, {number(f['start_cpu'])} s of processor", ""],
        ["overhead, wall", f"{100 * f['overhead_wall']:.1f} %", bar(f["overhead_wall"], MOST_OVERHEAD, at_least=False)],
        ["overhead, processor", f"{100 * f['overhead_cpu']:.1f} %", ""],
        ["main process, processor", f"{100 * f['overhead_main']:.1f} %", ""],
        ["two processes, times one", number(f["gain"]), bar(f["gain"], LEAST_GAIN, at_least=True)],
        ["bytes a row", f"{f['bytes_a_row']:,.0f}, {f['table_bytes_a_row']:.0f} in the table", ""],
        ["converged", str(f["converged"]), ""],
    ]
    for key, words in (("one", "one process"), ("two", "two processes"), ("dask", "Dask"), ("main", "main killed")):
        counts = f"{f[f'{key}_differ']} differ"
        if f"{key}_missing" in f:
            counts += f", {f[f'{key}_missing']} missing"
        counts += f", {f['dask_kills']} workers killed in {f['dask_wall']:.0f} s" if key == "dask" else ""
        counts += (
            f", killed at {f['main_killed_at_chunks']} chunks, {f['main_chunks_done_again']} of them done again"
            if key == "main"
            else ""
        )
        rows.append([words, counts, bar(f[f"{key}_differ"] + f.get(f"{key}_missing", none), none, at_least=False)])
    return table(TITLE.format(count=f["count"], chunk=CHUNK), ["", "measured", "required"], rows)


if __name__ == "__main__":
    _sweep(Path(sys.argv[1]), int(sys.argv[2]), workers=2)
