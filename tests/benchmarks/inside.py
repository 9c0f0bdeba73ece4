"""Where a solve of ours spends its time: in the calls that work on all knots, and in Python between them."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

from tests.benchmarks.cases import Case
from tests.benchmarks.ours import Ours
from tests.benchmarks.peers.stopwatch import timed
from tests.benchmarks.table import number, table

TITLE = """Inside our solves: µs per iteration, one thread. Between is what solve() does beside these calls: guess,
line search, bookkeeping, result. In brackets: calls per iteration."""
PARTS = ("calc_diff", "backward", "rollout, 1 lane", "rollout, more lanes", "between")

Figures = dict[str, dict[str, dict[str, float]]]


def measure(cases: dict[str, Case], *, rounds: int) -> Figures:
    """Medians over several solves of the time [µs] and the number of calls, per iteration."""
    figures: Figures = {}
    for name, case in cases.items():
        ours = Ours(case)
        solves = [_one_solve(ours) for _ in range(5 * rounds)]
        figures[name] = {
            "us_per_iteration": {part: median(solve[0][part] for solve in solves) for part in PARTS},
            "calls_per_iteration": solves[0][1],
        }
    return figures


def _one_solve(ours: Ours) -> tuple[dict[str, float], dict[str, float]]:
    """Time [µs] and number of calls of each part, per iteration, in one solve."""
    solver = ours.solver
    times: dict[str, list[float]] = {part: [] for part in PARTS}
    riccati, rooms = solver._riccati, solver._search._rooms
    runs = [room.run for room in rooms]
    riccati.factor = _factor(riccati.factor, times)
    for room in rooms:
        room.run = _watched(room.run, times["rollout, 1 lane" if room.width == 1 else "rollout, more lanes"])
    try:
        whole = timed(lambda: solver.solve(*ours.guess))
    finally:
        del riccati.factor  # the class's own shows again
        for room, run in zip(rooms, runs):
            room.run = run
    times["between"] = [whole - sum(sum(of_part) for of_part in times.values())]
    iterations = solver.solve(*ours.guess).iterations
    micros = {part: 1e6 * sum(times[part]) / iterations for part in PARTS}
    return micros, {part: len(times[part]) / iterations for part in PARTS}


def _factor(factor: Callable[..., Any], times: dict[str, list[float]]) -> Callable[..., Any]:
    """`Riccati.factor`, of which what fills the arrays first counts for itself; in turn, as on one thread."""
    backward = _watched(factor, times["backward"])

    def call(*args: Any, after: Callable[[], None] | None = None, **options: Any) -> Any:
        if after is not None:
            _watched(after, times["calc_diff"])()
        return backward(*args, **options)

    return call


def _watched(function: Callable[..., Any], times: list[float]) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        start = time.perf_counter()
        result = function(*args, **options)
        times.append(time.perf_counter() - start)
        return result

    return call


def report(figures: Figures) -> str:
    """The table."""
    rows = []
    for name, measured in figures.items():
        micros, calls = measured["us_per_iteration"], measured["calls_per_iteration"]
        cells = [f"{number(micros[part])} ({calls[part]:.2f})" for part in PARTS[:-1]]
        rows.append([name, *cells, number(micros["between"]), number(sum(micros.values()))])
    return table(TITLE, ["problem", *PARTS, "together"], rows)
