"""Whether solving again and again leaves memory where it was.

`python -m tests.benchmarks.memory KIND` is one such process.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks.machine import ROOT
from tests.benchmarks.table import table

LIMIT = 8  # what the process keeps of kernels that nobody holds, where models differ; 64 by default [MiB]
TITLE = f"""Memory: resident set of one process [MiB] after so many solves. Live: once garbage is collected and free
memory is given back to the system; what grows there never comes back. Where each solve has another model, the process
keeps {LIMIT} MiB of kernels that nobody holds instead of 64."""
HEADER = ["made anew for each solve", "solves", "then", "then, live", "solves", "then", "then, live", "growth, live"]

Figures = dict[str, list[dict[str, float]]]


def measure(counts: tuple[int, int] | None = None) -> Figures:
    """Solves, resident set then, and its live part [MiB], at two times; by what is made anew for each solve.

    Args:
        counts: Solves after which memory is looked at [-]; by default those of `KINDS`.
    """
    figures = {}
    for kind, (_, usual) in KINDS.items():
        command = [sys.executable, "-m", "tests.benchmarks.memory", kind, *map(str, counts or usual)]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        figures[kind] = list(json.loads(done.stdout))
    return figures


def report(figures: Figures) -> str:
    """The table."""
    rows = []
    for kind, sizes in figures.items():
        cells = [f"{size[key]:.{d}f}" for size in sizes for key, d in {"solves": 0, "resident": 1, "live": 1}.items()]
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

    case = problems.load("arm-reach-crocoddyl")
    problem, rng = case.problem, np.random.default_rng(0)
    start, solver = problem.x0, case.solver(problem, case.options)

    def solve() -> object:
        problem.x0 = start + 1e-2 * rng.normal(size=start.shape)
        return solver.solve()

    return solve


def _arm_solver() -> Callable[[], object]:
    """Solves one problem with a new solver each time."""
    from trajopt import problems

    case = problems.load("arm-reach-crocoddyl")
    return lambda: case.solve()


def _unicycle() -> Callable[[], object]:
    """Builds the problem anew each time."""
    from trajopt import problems

    def solve() -> object:
        case = problems.load("unicycle")
        return case.solve()

    return solve


def _chains(links: int) -> Callable[[], object]:
    """Builds and solves another model each time: `links` pendulums with springs between them, under another gravity."""
    import casadi as ca
    import numpy as np
    from casadi import SX

    import trajopt
    from trajopt.kernels import machine
    from trajopt.solvers import SolverDDP

    machine._kept.limit = LIMIT * 2**20
    count, state = itertools.count(), trajopt.StateVector(2 * links)

    class Chain(trajopt.ActionModelDiscrete):
        def __init__(self) -> None:
            super().__init__(state, 1)
            self.gravity = 9.81 + 1e-3 * next(count)

        def next_state(self, x: SX, u: SX) -> SX:
            q, v, dt = x[:links], x[links:], 0.05
            springs = ca.diff(q) if links > 1 else SX(0, 1)
            faster = v + dt * (ca.vertcat(u, springs) - ca.vertcat(springs, 0) - self.gravity * ca.sin(q))
            return ca.vertcat(q + dt * faster, faster)

        def running_cost(self, x: SX, u: SX) -> SX:
            return ca.sumsqr(x) + 0.1 * ca.sumsqr(u)

        def terminal_cost(self, x: SX) -> SX:
            return ca.sumsqr(x)

    def solve() -> object:
        model = Chain()
        return SolverDDP(trajopt.ShootingProblem(np.full(state.nx, 0.1), [model] * 20, model)).solve()

    return solve


KINDS: dict[str, tuple[Callable[[], Callable[[], object]], tuple[int, int]]] = {
    "nothing (arm-reach)": (_arm, (50, 500)),
    "the solver (arm-reach)": (_arm_solver, (50, 500)),
    "the problem (unicycle)": (_unicycle, (50, 500)),
    "the model (pendulums)": (functools.partial(_chains, 1), (50, 200)),
    "the model (chains of 10)": (functools.partial(_chains, 10), (50, 200)),
}
"""What makes the solve, and after how many solves its memory is looked at."""


def main() -> None:
    """Solve, and print the sizes."""
    (make, _), counts = KINDS[sys.argv[1]], [int(count) for count in sys.argv[2:]]
    solve, sizes = make(), []
    for i in range(1, counts[-1] + 1):
        solve()
        if i in counts:
            size = resident()
            give_back()
            sizes.append({"solves": i, "resident": size, "live": resident()})
    print(json.dumps(sizes))


if __name__ == "__main__":
    main()
