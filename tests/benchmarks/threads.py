"""What a second thread gains."""

from __future__ import annotations

from statistics import median

import trajopt
from tests.benchmarks.cases import Case
from tests.benchmarks.ours import Ours
from tests.benchmarks.table import bar, number, table

TITLE = "A second thread, where a core is free: times in µs per knot; the gain [-] is a ratio of medians."
HEADER = ["problem", "part", "1 thread", "2 threads", "gain", "required"]
PARTS = ("calc_diff", "iteration")
REQUIRED = {("hyq_walk", "iteration"): 1.25}  # gain [-]

Figures = dict[str, dict[str, dict[str, float]]]


def measure(cases: dict[str, Case], *, rounds: int, seconds: float) -> Figures:
    """Times of each problem and part with one thread and with two, measured in turns."""
    figures: Figures = {}
    for name, case in cases.items():
        ours = Ours(case)
        rows: dict[int, list[dict[str, float]]] = {1: [], 2: []}
        for _ in range(rounds):
            for count in rows:
                trajopt.set_num_threads(count)
                rows[count].append(ours.measure(seconds).micros)
        trajopt.set_num_threads(1)
        figures[name] = {}
        for part in PARTS:
            one, two = (median(row[part] for row in rows[count]) for count in (1, 2))
            figures[name][part] = {"one_us_per_knot": one, "two_us_per_knot": two, "gain": one / two}
    return figures


def report(figures: Figures) -> str:
    """The table."""
    rows = []
    for name, parts in figures.items():
        for part, times in parts.items():
            one, two = number(times["one_us_per_knot"]), number(times["two_us_per_knot"])
            limit = REQUIRED.get((name, part))
            required = "" if limit is None else bar(times["gain"], limit, at_least=True)
            rows.append([name, part, one, two, f"{times['gain']:.2f}", required])
    return table(TITLE, HEADER, rows)
