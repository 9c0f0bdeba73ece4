"""Quadratic programs: SQP iterations beside mim-solvers, whole programs beside HPIPM."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from tests.benchmarks.constrained import EXAMPLES, PROGRAMS, Constrained
from tests.benchmarks.peer_process import PeerProcess
from tests.benchmarks.table import bar, number, table
from tests.support.first_programs import first_program
from trajopt.kernels import wait_until_optimised
from trajopt.shooting.evaluator import Evaluator
from trajopt.solvers import SolverSQP, SQPOptions
from trajopt.solvers.qp import InteriorPoint, StageQP
from trajopt.solvers.qp.sparse import SparseQP, Stages

ITERATIONS = {"ur5": 11, "solo12": 5}  # as in peers/mim_times.py
FASTER = {"mim-solvers": 3.0, "HPIPM": 1.0}  # what must be reached
ACCURACY = {"res_g_max": 1e-6, "res_b_max": 1e-6, "res_d_max": 1e-6, "res_m_max": 1e-6}
SQP_TITLE = """An SQP iteration, µs, one thread, each side's fastest round: derivatives, quadratic program (ours to
the end by the interior point, theirs 20 steps of ADMM), trials, and all else. Both take linear steps with a filter. It
is the time of further iterations of a solve; "solve" is the whole by its iterations, with what comes before the first.
Of ours, QP is the first program alone."""
QP_TITLE = """A whole quadratic program by an interior point, µs, one thread, each side's fastest round: ours to 1e-10,
HPIPM through CasADi to 1e-6, its arrays filled before. Difference: of the objective, relative; positive where ours is
lower."""

Figures = dict[str, dict[str, dict[str, float]]]


def measure(environment: Path | None, *, rounds: int) -> Figures:
    """Times [µs] of both comparisons, taken in turns.

    Args:
        environment: Folder that `peers/make_env.sh` made; None leaves mim-solvers out.
        rounds: Turns of each comparison [-].
    """
    figures: Figures = {"mim-solvers": {}, "HPIPM": {}}
    for name, build in PROGRAMS.items():
        figures["HPIPM"][name] = _beside_hpipm(first_program(build()), rounds)
    peer = PeerProcess(environment, 0.0, "mim_times.py") if environment else None
    try:
        for name, build in EXAMPLES.items():
            figures["mim-solvers"][name] = _beside_mim(name, build(), peer, rounds)
    finally:
        if peer is not None:
            peer.close()
    return figures


def _beside_hpipm(qp: StageQP, rounds: int) -> dict[str, float]:
    wait_until_optimised()
    program = SparseQP.of(qp)
    stages = Stages.of(qp, program)
    arguments = stages.arguments(program)
    settings = {"print_time": False, "error_on_fail": False, "hpipm": ACCURACY}
    structure = {"h": arguments["h"].sparsity(), "a": arguments["a"].sparsity()}
    hpipm, ours = ca.conic("qp", "hpipm", structure, stages.sizes | settings), InteriorPoint(qp)
    found, given = ours.solve(), np.array(hpipm(**arguments)["x"]).ravel()
    z = np.concatenate([np.concatenate([found.dx[:-1], found.du], axis=1).ravel(), found.dx[-1]])
    mine, other = (float(0.5 * x @ (program.P @ x) + program.q @ x) for x in (z, given))
    theirs, us = _in_turns(rounds, 3, lambda: hpipm(**arguments), ours.solve)
    return {
        "ours": us,
        "theirs": theirs,
        "iterations": found.iterations,
        "their iterations": hpipm.stats()["iter_count"],
        "active": float(np.count_nonzero(np.abs(found.y) > 1e-6)),
        "difference": (other - mine) / abs(mine),
    }


def _beside_mim(name: str, case: Constrained, peer: PeerProcess | None, rounds: int) -> dict[str, float]:
    inner = InteriorPoint(first_program(case))
    never = {"tolerance": 1e-300, "relative_tolerance": 0.0, "feasibility": 1e-300}
    options = SQPOptions(steps="linear", max_iterations=1, **never)
    one, many = (SolverSQP(case.problem, replace(options, max_iterations=count)) for count in (1, ITERATIONS[name]))
    calls = [inner.solve, *(functools.partial(solver.solve, case.xs, case.us) for solver in (one, many))]
    iterations = (one.solve(case.xs, case.us).iterations, many.solve(case.xs, case.us).iterations)
    wait_until_optimised()
    rows: list[list[float]] = []
    theirs: dict[str, Any] = {"cost": np.nan, "first_us": np.nan, "last_us": np.nan, "iterations": ITERATIONS[name]}
    for _ in range(rounds):
        theirs = peer.ask(name) if peer is not None else theirs
        rows.append([*_in_turns(1, 3, *calls), theirs["first_us"], theirs["last_us"]])
    program, first, last, their_first, their_last = np.min(rows, axis=0).tolist()
    return {
        "program": program,
        "ours": (last - first) / (iterations[1] - iterations[0]),
        "theirs": (their_last - their_first) / (theirs["iterations"] - 1),
        "solve": last / iterations[1],
        "their solve": their_last / theirs["iterations"],
        "cost": _cost(case),
        "their cost": theirs["cost"],
    }


def _cost(case: Constrained) -> float:
    e = Evaluator(case.problem)
    e.prepare()
    e.xs[:], e.us[:] = case.xs, case.us
    e.expand(case.problem.x0)
    return float(e.costs.sum())


def _in_turns(rounds: int, calls: int, *functions: Callable[[], Any]) -> list[float]:
    """Fastest time of each function [µs]."""
    fastest = [np.inf] * len(functions)
    for _ in range(rounds):
        for i, function in enumerate(functions):
            for _ in range(calls):
                start = time.perf_counter()
                function()
                fastest[i] = min(fastest[i], 1e6 * (time.perf_counter() - start))
    return fastest


def report(figures: Figures) -> str:
    """Both tables."""
    sqp, programs = [], []
    for name, row in figures["mim-solvers"].items():
        there = not np.isnan(row["theirs"])
        same = "yes" if there and abs(row["their cost"] - row["cost"]) < 1e-8 * abs(row["cost"]) else "NO"
        ours = [number(row[part]) for part in ("ours", "solve", "program")]
        theirs = [number(row["theirs"]), number(row["their solve"]), *_ratio(row, "mim-solvers"), same]
        sqp.append([name, *ours, *(theirs if there else [""] * len(theirs))])
    for name, row in figures["HPIPM"].items():
        times = [f"{number(row[side])} ({row[count]:.0f})" for side, count in _SIDES]
        programs.append([name, *times, *_ratio(row, "HPIPM"), f"{row['active']:.0f}", number(row["difference"], 1)])
    header = ["problem", "ours", "solve", "QP", "mim-solvers", "solve", "ratio", "required", "same problem"]
    first = table(SQP_TITLE, header, sqp)
    header = ["program", "ours (iterations)", "HPIPM (iterations)", "ratio", "required", "active rows", "difference"]
    return first + "\n" + table(QP_TITLE, header, programs)


_SIDES = (("ours", "iterations"), ("theirs", "their iterations"))


def _ratio(row: dict[str, float], peer: str) -> tuple[str, str]:
    ratio = row["theirs"] / row["ours"]
    return number(ratio), bar(ratio, FASTER[peer], at_least=True)
