"""Many problems in one call beside a loop of solves over the same starts, and the bound from the parts of a solve."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import trajopt
from tests.benchmarks.machine import ROOT
from tests.benchmarks.table import table
from trajopt import problems
from trajopt.kernels import lane_count, wait_until_optimised
from trajopt.shooting import ShootingProblem
from trajopt.solvers import SolverDDP, SolverFDDP
from trajopt.types import Reals

TITLE = """Many problems in one call, `solver.solve_batch(x0=X)`, beside a loop of `solve` over the same random starts,
in processor time of one thread; the least of {rounds} interleaved rounds. Parts are those of one iteration of `solve`
[us]: expansion, backward pass, rollouts of the trials, and the rest: Python, the guess, exact Hessians. Bound: without
that rest, and with backward pass and rollouts in {lanes} lanes. "alike": rows with the status and, within 1e-10, the
cost of their solve."""
HEADER = [
    *("problem", "rows", "iterations", "expand", "backward", "trials", "rest", "bound"),
    *("loop [us]", "batch [us]", "times", "of bound", "asked", "alike"),
]


@dataclass(frozen=True)
class BatchCase:
    """Problem, solver, random starts.

    Attributes:
        build: Returns the problem.
        solver: The solver.
        spread: Starts are x0 ⊕ d with d uniform in ± spread.
        asked: Times a loop of solves that are asked for.
    """

    build: Callable[[], ShootingProblem]
    solver: Any
    spread: float
    asked: float


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
    "unicycle": BatchCase(lambda: problems.load("unicycle").problem, SolverDDP, 1.0, 10.0),
    "double pendulum": BatchCase(lambda: problems.load("double-pendulum").problem, SolverDDP, 0.5, 10.0),
    "cart-pole": BatchCase(lambda: problems.load("cart-pole").problem, SolverDDP, 0.5, 10.0),
    "quadrotor": BatchCase(_quadrotor, SolverFDDP, 0.3, 4.0),
    "UR5 reach": BatchCase(lambda: problems.load("arm-reach").problem, SolverDDP, 0.5, 2.0),
    "Panda reach": BatchCase(lambda: problems.load("arm-reach", "panda").problem, SolverDDP, 0.3, 2.0),
}


def measure(*, count: int | None = None, rounds: int = 3, cases: Any = None) -> dict[str, Any]:
    """Figures by name of the problem.

    Args:
        count: Rows of a batch [-]; 1000 by default, 300 of arms.
        rounds: Turns of each comparison [-].
        cases: Names of the problems; all by default.
    """
    figures: dict[str, Any] = {"rounds": rounds}
    for name in cases or CASES:
        case = CASES[name]
        n = count or (300 if "reach" in name else 1000)
        figures[name] = _compare(case, n, rounds)
    return figures


def _compare(case: BatchCase, n: int, rounds: int) -> dict[str, Any]:
    problem = case.build()
    solver, X = case.solver(problem), _starts(problem, n, case.spread)
    for _ in range(3):  # until code is optimised
        solver.solve_batch(X[:100], progress=False)
        _loop(solver, X[:5])
        wait_until_optimised()
    batch, loop = [], []
    for _ in range(rounds):
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
    }


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
    """The table."""
    rows = []
    for name, f in figures.items():
        if name == "rounds":
            continue
        parts = [f"{f[key]:.1f}" for key in ("iterations", "expand", "backward", "trials", "rest", "bound")]
        times = [f"{f['loop']:.0f}", f"{f['batch']:.0f}", f"{f['times']:.1f}", f"{100 * f['times'] / f['bound']:.0f} %"]
        rows.append([name, str(f["rows"]), *parts, *times, f"{f['asked']:.0f}", f"{100 * f['alike']:.1f} %"])
    return table(TITLE.format(rounds=figures["rounds"], lanes=lane_count()), HEADER, rows)
