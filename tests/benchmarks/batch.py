"""Many problems in one call beside a loop of solves over the same starts, and the bound from the parts of a solve."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import trajopt
from tests.benchmarks.machine import ROOT
from tests.benchmarks.peer_process import SCRIPTS
from tests.benchmarks.table import table
from trajopt import problems
from trajopt.kernels import get_num_threads, lane_count, set_num_threads, wait_until_optimised
from trajopt.shooting import ShootingProblem
from trajopt.solvers import SolverDDP, SolverFDDP
from trajopt.sweeps import random
from trajopt.types import Reals

TITLE = """Many problems in one call, `solver.solve_batch(x0=X)`, beside a loop of `solve` over the same random starts,
in processor time of one thread; the least of {rounds} interleaved rounds. Parts are those of one iteration of `solve`
[us]: expansion, backward pass, rollouts of the trials, and the rest: Python, the guess, exact Hessians. Bound: without
that rest, and with backward pass and rollouts in {lanes} lanes. "alike": rows with the status and, within 1e-10, the
cost of their solve. "Two threads": times as fast as one, in wall time."""
HEADER = [
    *("problem", "rows", "iterations", "expand", "backward", "trials", "rest", "bound"),
    *("loop [us]", "batch [us]", "times", "of bound", "asked", "alike", "two threads"),
]
PEER_TITLE = """The same starts in a loop of Crocoddyl {version}, once, with its default options, in processor time.
Converged, and cheaper by 1e-6 than the other side: parts of all rows, Crocoddyl's and ours."""
PEER_HEADER = ["problem", "rows", "Crocoddyl [us]", "batch [us]", "times", "converged", "cheaper"]
STORE_TITLE = """Cart-poles streamed to a store by `trajopt.sweep` with one worker, {chunk} rows a chunk; largest
memory of the process that writes and of the worker [MB]."""
STORE_HEADER = ["rows", "seconds", "store [MB]", "main process [MB]", "worker [MB]"]
STREAMED, CHUNK = (1_000, 100_000), 1_000


@dataclass(frozen=True)
class BatchCase:
    """Problem, solver, random starts.

    Attributes:
        build: Returns the problem.
        solver: The solver.
        spread: Starts are x0 ⊕ d with d uniform in ± spread.
        asked: Times a loop of solves that are asked for.
        peer: Name of the same problem in `peers/crocoddyl_problems.py`.
    """

    build: Callable[[], ShootingProblem]
    solver: Any
    spread: float
    asked: float
    peer: str = ""


def _quadrotor() -> ShootingProblem:
    """Hovering, from a disturbed state to a place 2 m away: the problem of example 8 without its waypoint."""
    spec = importlib.util.spec_from_file_location("example_8", ROOT / "examples" / "08_quadrotor.py")
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    with contextlib.redirect_stdout(io.StringIO()):
        problem: ShootingProblem = example.main().problem
    problem.set_parameter("waypoint.weight", 0.0, 40)
    return problem


CASES = {
    "pendulum": BatchCase(lambda: problems.load("pendulum").problem, SolverDDP, 0.5, 10.0),
    "unicycle": BatchCase(lambda: problems.load("unicycle").problem, SolverDDP, 1.0, 10.0, "unicycle-t20-ddp"),
    "double pendulum": BatchCase(lambda: problems.load("double-pendulum").problem, SolverDDP, 0.5, 10.0),
    "cart-pole": BatchCase(lambda: problems.load("cart-pole").problem, SolverDDP, 0.5, 10.0),
    "quadrotor": BatchCase(_quadrotor, SolverFDDP, 0.3, 4.0),
    "UR5 reach": BatchCase(lambda: problems.load("arm-reach").problem, SolverDDP, 0.5, 2.0),
    "Panda reach": BatchCase(lambda: problems.load("arm-reach", "panda").problem, SolverDDP, 0.3, 2.0),
    "Talos arm": BatchCase(lambda: problems.load("arm-reach-crocoddyl").problem, SolverFDDP, 0.3, 1.0, "arm-t100"),
}


def measure(
    environment: Path | None = None, *, count: int | None = None, rounds: int = 3, cases: Any = None
) -> dict[str, Any]:
    """Figures by name of the problem, and of cart-poles that are streamed to a store.

    Args:
        environment: Folder that `peers/make_env.sh` made; None leaves Crocoddyl out.
        count: Rows of a batch [-]; 1000 by default, 300 of arms.
        rounds: Turns of each comparison [-].
        cases: Names of the problems; all by default.
    """
    figures: dict[str, Any] = {"rounds": rounds}
    for name in cases or CASES:
        case = CASES[name]
        n = count or (300 if name.endswith(("reach", "arm")) else 1000)
        figures[name] = _compare(case, n, rounds, environment)
    if cases is None:
        figures["streamed"] = [_streamed(count or rows) for rows in STREAMED]
    return figures


def _compare(case: BatchCase, n: int, rounds: int, environment: Path | None) -> dict[str, Any]:
    problem = case.build()
    solver, other, X = case.solver(problem), case.solver(problem), _starts(problem, n, case.spread)
    _span(other, X, 2)
    for _ in range(3):  # until code is optimised
        solver.solve_batch(X[:100], progress=False)
        _loop(solver, X[:5])
        wait_until_optimised()
    batch, loop, spans = [], [], []
    for _ in range(rounds):
        spans.append([_span(one, X, number) for one, number in ((solver, 1), (other, 2))])
        begun = time.process_time()
        solutions = solver.solve_batch(X, progress=False)
        batch.append(time.process_time() - begun)
        begun = time.process_time()
        single = _loop(solver, X)
        loop.append(time.process_time() - begun)
    cost = np.array([one.cost for one in single])
    alike = (solutions.status == [one.status.name for one in single]) & (
        np.abs(solutions.cost - cost) <= 1e-10 * np.abs(cost)
    )
    iterations = float(np.mean([one.iterations for one in single]))
    trials = float(np.mean([_trials(r.step_length) for one in single for r in one.history]))
    parts = _parts(solver)
    parts["trials"] = trials * parts.pop("rollout")
    native = parts["expand"] + (parts["backward"] + parts["trials"]) / lane_count()
    per = {"loop": 1e6 * min(loop) / n, "batch": 1e6 * min(batch) / n}
    peer = _peer(environment, case.peer, solutions) if environment and case.peer else None
    rest = max(0.0, per["loop"] / iterations - parts["expand"] - parts["backward"] - parts["trials"])
    return {
        **per,
        **parts,
        "rest": rest,
        "bound": per["loop"] / (iterations * native),
        "rows": n,
        "iterations": iterations,
        "times": per["loop"] / per["batch"],
        "asked": case.asked,
        "alike": float(np.mean(alike)),
        "two threads": float(np.divide(*np.min(spans, axis=0))),
        "peer": peer,
    }


def _span(solver: Any, X: Reals, threads: int) -> float:
    """Wall time of a batch with so many threads [s]."""
    before = get_num_threads()
    set_num_threads(threads)
    begun = time.perf_counter()
    solver.solve_batch(X, progress=False)
    total = time.perf_counter() - begun
    set_num_threads(before)
    return total


def _peer(environment: Path, name: str, ours: trajopt.SolutionBatch) -> dict[str, Any]:
    """Times and outcomes of `peers/crocoddyl_batch.py` for the starts of a batch."""
    command = [str(environment / "bin" / "python"), str(SCRIPTS / "crocoddyl_batch.py")]
    asked, one = json.dumps({"problem": name, "starts": ours.x0.tolist()}), {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, input=asked, capture_output=True, text=True, env=one, check=True)
    answer = dict(json.loads(done.stdout.splitlines()[-1]))
    converged, _, cost = (np.array(column) for column in zip(*answer.pop("outcomes")))
    pairs = (cost, ours.cost), (ours.cost, cost)
    answer["cheaper"] = [float(np.mean(a < b - 1e-6 * np.abs(b))) for a, b in pairs]
    answer["converged"] = [float(np.mean(converged)), float(np.mean(ours.converged))]
    return answer


def _streamed(rows: int) -> dict[str, float]:
    """Figures of a sweep in a process of its own, whose largest memory is that of the sweep."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.benchmarks.batch", folder, str(rows)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _stream(folder: Path, rows: int) -> dict[str, float]:
    x0 = problems.load("cart-pole").problem.x0
    begun = time.perf_counter()
    design = random({"x0": (x0 - 0.5, x0 + 0.5)}, rows)
    trajopt.sweep("cart-pole", design, chunk=CHUNK, workers=1, store=folder, progress=False)
    seconds = time.perf_counter() - begun
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    main, worker = (resource.getrusage(who).ru_maxrss / 1e3 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return {"rows": rows, "seconds": seconds, "store": size / 1e6, "main": main, "worker": worker}


def _starts(problem: ShootingProblem, n: int, spread: float) -> Reals:
    """Random initial states (n, nx)."""
    rng, state = np.random.default_rng(0), problem.state
    return np.array([state.integrate(problem.x0, rng.uniform(-spread, spread, state.ndx)) for _ in range(n)])


def _loop(solver: Any, X: Reals) -> list[trajopt.Solution]:
    problem, before = solver.problem, solver.problem.x0
    found = []
    for x0 in X:
        problem.x0 = x0
        found.append(solver.solve())
    problem.x0 = before
    return found


def _trials(length: float) -> float:
    """Rollouts of a line search that ended with this step length [-], at most nine."""
    if length <= 0.0 or np.isnan(length):
        return 9.0
    return 1.0 + abs(np.log2(length)) + (length > 1.0)


def _parts(solver: Any) -> dict[str, float]:
    """Times of the compiled parts of one iteration, at the trajectory of the last solve [us]."""
    e, riccati, rollout = solver._evaluator, solver._riccati, solver._search.single
    x0 = solver.problem.x0
    calls = {
        "expand": lambda: e.expand(x0),
        "backward": lambda: riccati.factor(1.0, feasible=True),
        "rollout": rollout.run,
    }
    return {name: _least(call) for name, call in calls.items()}


def _least(call: Callable[[], Any]) -> float:
    """Least time of a call in 20 turns of 20 [us]."""
    times = []
    for _ in range(20):
        begun = time.perf_counter()
        for _ in range(20):
            call()
        times.append((time.perf_counter() - begun) / 20)
    return 1e6 * min(times)


def report(figures: dict[str, Any]) -> str:
    """The tables."""
    rows, peers, version = [], [], ""
    for name, f in figures.items():
        if name in ("rounds", "streamed"):
            continue
        if f["peer"]:
            one, version = 1e6 * f["peer"]["seconds"] / f["rows"], f["peer"]["crocoddyl"]
            shares = [", ".join(f"{100 * part:.0f} %" for part in f["peer"][key]) for key in ("converged", "cheaper")]
            peers.append([name, str(f["rows"]), f"{one:.0f}", f"{f['batch']:.0f}", f"{one / f['batch']:.1f}", *shares])
        parts = [f"{f[key]:.1f}" for key in ("iterations", "expand", "backward", "trials", "rest", "bound")]
        times = [f"{f['loop']:.0f}", f"{f['batch']:.0f}", f"{f['times']:.1f}", f"{100 * f['times'] / f['bound']:.0f} %"]
        rows.append(
            [
                name,
                str(f["rows"]),
                *parts,
                *times,
                f"{f['asked']:.0f}",
                f"{100 * f['alike']:.1f} %",
                f"{f['two threads']:.2f}",
            ]
        )
    texts = [table(TITLE.format(rounds=figures["rounds"], lanes=lane_count()), HEADER, rows)]
    if peers:
        texts.append(table(PEER_TITLE.format(version=version), PEER_HEADER, peers))
    if "streamed" in figures:
        numbers = [
            [f"{f[key]:.0f}" for key in ("rows", "seconds", "store", "main", "worker")] for f in figures["streamed"]
        ]
        texts.append(table(STORE_TITLE.format(chunk=CHUNK), STORE_HEADER, numbers))
    return "\n".join(texts)


if __name__ == "__main__":
    print(json.dumps(_stream(Path(sys.argv[1]), int(sys.argv[2]))))
