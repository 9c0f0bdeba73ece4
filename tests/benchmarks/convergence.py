"""How many swing-ups from random starts converge, with our defaults and with Crocoddyl's, beside Crocoddyl itself."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from statistics import median
from typing import Any

from tests.benchmarks.peer_process import SCRIPTS
from tests.benchmarks.table import table
from tests.support.random_starts import FAMILIES, solve_from
from trajopt.solvers import DDPOptions, FDDPOptions, SolverAbstract, SolverDDP, SolverFDDP

TITLE = """Convergence from 100 random starts, the same on both sides, at most 100 iterations: converged (median of
their iterations). Guess: x0 at every knot, no control. Ours is to be at least Crocoddyl's in every row, and the profile
.crocoddyl() to end with the same iterations and costs, but for starts that a rounding decides."""
HEADER = ["problem", "solver", "Crocoddyl", ".crocoddyl()", "same", "defaults", "at least"]
MOST = 100  # iterations
SOLVERS: dict[str, tuple[type[SolverAbstract[Any]], type[DDPOptions]]] = {
    "ddp": (SolverDDP, DDPOptions),
    "fddp": (SolverFDDP, FDDPOptions),
}

Outcome = tuple[bool, int, float]  # converged, iterations, cost
Figures = dict[str, dict[str, dict[str, list[Outcome]]]]


def measure(environment: Path | None, count: int = 100) -> Figures:
    """Outcomes of every problem and solver with each profile: "defaults", "crocoddyl" and, of Crocoddyl itself, "peer".

    Args:
        environment: Folder that `peers/make_env.sh` made; None leaves Crocoddyl itself out.
        count: Starts of each problem [-].
    """
    peer = _peer(environment, count) if environment else {}
    figures: Figures = {}
    for name, family in FAMILIES.items():
        problem, starts = family.build(), family.starts(count)
        figures[name] = {}
        for key, (solver, options) in SOLVERS.items():
            profiles = {"defaults": options(max_iterations=MOST), "crocoddyl": options.crocoddyl(max_iterations=MOST)}
            figures[name][key] = {profile: [] for profile in profiles}
            for profile, chosen in profiles.items():
                one = solver(problem, chosen)
                solutions = (solve_from(one, x0) for x0 in starts)
                figures[name][key][profile] = [(s.converged, s.iterations, s.cost) for s in solutions]
            if peer:
                figures[name][key]["peer"] = peer[name][key]
    return figures


def _peer(environment: Path, count: int) -> dict[str, dict[str, list[Outcome]]]:
    asked = {
        "starts": {name: family.starts(count).tolist() for name, family in FAMILIES.items()},
        "max_iterations": MOST,
    }
    command = [str(environment / "bin" / "python"), str(SCRIPTS / "crocoddyl_convergence.py")]
    one = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, env=one, check=True)
    outcomes: dict[str, dict[str, list[Outcome]]] = json.loads(done.stdout.splitlines()[-1])["outcomes"]
    return outcomes


def report(figures: Figures) -> str:
    """The table."""
    rows = []
    for name, solvers in figures.items():
        for key, profiles in solvers.items():
            peer, ours = profiles.get("peer", []), profiles["defaults"]
            same = sum(_same(a, b) for a, b in zip(peer, profiles["crocoddyl"]))
            enough = "yes" if _converged(ours) >= _converged(peer) else "NO"
            cells = [_cell(peer) if peer else "-", _cell(profiles["crocoddyl"]), str(same) if peer else "-"]
            rows.append([name, key.upper(), *cells, _cell(ours), enough if peer else "-"])
    return table(TITLE, HEADER, rows)


def _converged(outcomes: list[Outcome]) -> int:
    return sum(converged for converged, _, _ in outcomes)


def _cell(outcomes: list[Outcome]) -> str:
    counts = [iterations for converged, iterations, _ in outcomes if converged]
    return f"{len(counts)} ({median(counts):g})" if counts else "0"


def _same(one: Outcome, other: Outcome) -> bool:
    """Whether both converged, with as many iterations, to the same cost; or neither did."""
    if not one[0] or not other[0]:
        return one[0] == other[0]
    return one[1] == other[1] and abs(one[2] - other[2]) < 1e-6 * abs(one[2])
