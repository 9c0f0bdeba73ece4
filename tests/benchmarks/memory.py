"""Whether solving again and again leaves memory where it was.

`python -m tests.benchmarks.memory KIND` is one such process.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks.machine import ROOT
from tests.benchmarks.table import table

COUNTS = (50, 500)
TITLE = """Memory: resident set of one process [MiB] after so many solves. Live: once garbage is collected and free
memory is given back to the system; what grows there never comes back."""
HEADER = [
    "made anew for each solve",
    *(f"{count}{kind}" for count in COUNTS for kind in ("", ", live")),
    "growth, live",
]

Figures = dict[str, list[dict[str, float]]]


def measure() -> Figures:
    """Resident set and its live part after each of `COUNTS` solves [MiB], by what is made anew for each solve."""
    figures = {}
    for kind in KINDS:
        command = [sys.executable, "-m", "tests.benchmarks.memory", kind]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        figures[kind] = list(json.loads(done.stdout))
    return figures


def report(figures: Figures) -> str:
    """The table."""
    rows = []
    for kind, sizes in figures.items():
        cells = [f"{size[key]:.1f}" for size in sizes for key in ("resident", "live")]
        rows.append([kind, *cells, f"{sizes[-1]['live'] - sizes[0]['live']:+.1f}"])
    return table(TITLE, HEADER, rows)


def resident() -> float:
    """Memory of this process that is in use [MiB]; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def give_back() -> None:
    """Collects garbage, and gives free memory back to the system where the C library can."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _arm() -> Callable[[], object]:
    """Solves one problem with one solver, from another state each time."""
    import numpy as np

    from trajopt import problems

    case = problems.load("arm-reach")
    problem, rng = case.problem, np.random.default_rng(0)
    start, solver = problem.x0, case.solver(problem, case.options)

    def solve() -> object:
        problem.x0 = start + 1e-2 * rng.normal(size=start.shape)
        return solver.solve()

    return solve


def _arm_solver() -> Callable[[], object]:
    """Solves one problem with a new solver each time."""
    from trajopt import problems

    case = problems.load("arm-reach")
    return lambda: case.solver(case.problem, case.options).solve()


def _unicycle() -> Callable[[], object]:
    """Builds the problem anew each time."""
    from trajopt import problems

    def solve() -> object:
        case = problems.load("unicycle")
        return case.solver(case.problem, case.options).solve()

    return solve


KINDS = {"nothing (arm-reach)": _arm, "the solver (arm-reach)": _arm_solver, "the problem (unicycle)": _unicycle}


def main() -> None:
    """Solve, and print the sizes."""
    solve, sizes = KINDS[sys.argv[1]](), []
    for i in range(1, COUNTS[-1] + 1):
        solve()
        if i in COUNTS:
            size = resident()
            give_back()
            sizes.append({"resident": size, "live": resident()})
    print(json.dumps(sizes))


if __name__ == "__main__":
    main()
