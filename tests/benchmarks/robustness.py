"""How many solves from random guesses and of random samples succeed: two profiles, beside the peers."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.benchmarks.peer_process import SCRIPTS
from tests.benchmarks.table import table
from tests.support.ocp_problems import PROBLEMS, OptimalControlProblem
from tests.support.stagewise_sampling import FAMILIES, IIWA, TOLERANCE, Family
from trajopt.callbacks import Callback
from trajopt.shooting import ShootingProblem
from trajopt.solution import IterationRecord, Solution
from trajopt.solvers import NLPOptions, SolverAbstract, SolverFatrop, SolverIpopt, SolverSQP, SQPOptions

GUESSES_TITLE = """Solved from random guesses with constraints (median of the iterations), at most 300 iterations.
States: noise about a line from x0 to the goal; controls: noise. "rolled out": the guess's states are those of its
controls. Solved is converged, with gaps and violations below 1e-6. SQP is to solve all; bar: of its median."""
SAMPLES_TITLE = """Solved samples of stage-wise SQP, without constraints (median of the iterations to 1e-4). Solved is a
gradient of the Lagrangian and gaps below 1e-4, of the cost as it is. Published: what its authors report."""
MOST = 300  # iterations of a solve from a random guess
MEDIANS = {"pendulum": 40, "cart_pole": 45, "parking": 25, "obstacles": 45, "kelly": 30}
"""Problems with constraints, and the largest median of iterations."""
FEASIBLE = 1e-6

Outcome = tuple[bool, int, float]  # solved, iterations, cost
Profile = dict[str, dict[str, list[Outcome]]]  # by problem and solver
Figures = dict[str, Profile]
Solver = SolverAbstract[Any]

OURS: dict[str, Callable[[ShootingProblem], Solver]] = {
    "SQP": lambda p: SolverSQP(p, SQPOptions(max_iterations=MOST)),
}
NLP: dict[str, Callable[[ShootingProblem], Solver]] = {
    "IPOPT": lambda p: SolverIpopt(p, NLPOptions(max_iterations=MOST)),
    "fatrop": lambda p: SolverFatrop(p, NLPOptions(max_iterations=MOST)),
}


def measure(environment: Path | None, count: int = 50, samples: int = 100) -> Figures:
    """Outcomes of both profiles, "guesses" and "samples".

    Args:
        environment: Folder that `peers/make_env.sh` made: also IPOPT and fatrop on the first, mim-solvers on the second
            profile. None leaves them out.
        count: Random guesses of each problem [-].
        samples: Samples of each robot [-].
    """
    guesses = {name: _from_guesses(PROBLEMS[name](), count, with_peers=environment is not None) for name in MEDIANS}
    peer = _peer(environment, samples) if environment else {}
    drawn = {
        name: {"SQP": of_samples(family, samples), **({"mim-solvers": peer[name]} if peer else {})}
        for name, family in FAMILIES.items()
    }
    return {"guesses": guesses, "samples": drawn}


def _from_guesses(case: OptimalControlProblem, count: int, *, with_peers: bool) -> dict[str, list[Outcome]]:
    found = {name: from_guesses(case, build(case.problem), count) for name, build in OURS.items()}
    for name, build in NLP.items() if with_peers else ():
        solver = build(case.problem)
        found[name] = from_guesses(case, solver, count)
        found[f"{name}, rolled out"] = from_guesses(case, solver, count, rolled_out=True)
    return found


def from_guesses(case: OptimalControlProblem, solver: Solver, count: int, *, rolled_out: bool = False) -> list[Outcome]:
    """Outcomes from the guesses of the first seeds; `rolled_out` takes the states that the guess's controls lead to."""
    found = []
    for seed in range(count):
        xs, us = case.random_guess(seed)
        solution = solver.solve(case.problem.rollout(us) if rolled_out else xs, us)
        found.append((_holds(solution), solution.iterations, solution.cost))
    return found


def _holds(solution: Solution) -> bool:
    beyond = [np.abs(solution.gaps()).max(), *(v.max(initial=0.0) for v in solution.violations().values())]
    return solution.converged and bool(max(beyond) < FEASIBLE)


class Trajectories(Callback):
    """Keeps the trajectory after each iteration."""

    def __init__(self) -> None:
        self.kept: list[tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]] = []

    def start(self, problem: ShootingProblem, solver_name: str) -> None:
        """Forgets the previous solve."""
        self.kept.clear()

    def __call__(self, record: IterationRecord) -> None:
        """Keeps it."""
        self.kept.append(record.trajectory)


def of_samples(family: Family, count: int) -> list[Outcome]:
    """Outcomes of SolverSQP with its default options on the first samples of a family."""
    problem, kept, found = family.build(), Trajectories(), []
    solver = SolverSQP(problem, SQPOptions(max_iterations=family.iterations), callbacks=[kept])
    for sample in family.draw(count):
        family.take(problem, sample)
        solution = solver.solve(np.tile(problem.x0, (problem.T + 1, 1)))
        solved = residual(solution) < TOLERANCE
        found.append((solved, _first_below(solution, kept) if solved else family.iterations, solution.cost))
    return found


def residual(solution: Solution) -> float:
    """Largest gradient of the Lagrangian along a control, or gap, in the units of the problem."""
    if not (np.all(np.isfinite(solution.xs)) and np.all(np.isfinite(solution.us))):
        return np.inf
    return float(max(np.abs(solution.stationarity()).max(), np.abs(solution.gaps()).max()))


def _first_below(solution: Solution, kept: Trajectories) -> int:
    """Iteration after which the residual is below the tolerance, seen with the gains of the solution."""
    for i, (xs, us) in enumerate(kept.kept):
        if residual(dataclasses.replace(solution, xs=xs, us=us)) < TOLERANCE:
            return i + 1
    return solution.iterations


def _peer(environment: Path, count: int) -> dict[str, list[Outcome]]:
    samples = {
        name: {"iterations": family.iterations, "samples": family.draw(count).tolist()}
        for name, family in FAMILIES.items()
    }
    asked = {"iiwa": str(IIWA), "tolerance": TOLERANCE, "samples": samples}
    command = [str(environment / "bin" / "python"), str(SCRIPTS / "mim_sampling.py")]
    one = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, env=one, check=True)
    outcomes: dict[str, list[Outcome]] = json.loads(done.stdout.splitlines()[-1])["outcomes"]
    return outcomes


def report(figures: Figures) -> str:
    """Both tables."""
    rows = []
    for name, solvers in figures["guesses"].items():
        ours, most = solvers["SQP"], MEDIANS[name]
        enough = all(solved for solved, _, _ in ours) and _median(ours) <= most
        cells = [_cell(solvers[key]) if key in solvers else "-" for key in _columns()]
        rows.append([name, *cells, f"≤ {most} {'yes' if enough else 'NO'}"])
    header = ["problem", *_columns(), "bar"]
    first = table(f"{GUESSES_TITLE} Guesses: {_count(figures['guesses'])}.", header, rows)
    rows = []
    for name, solvers in figures["samples"].items():
        family, ours = FAMILIES[name], solvers["SQP"]
        share = 100.0 * sum(solved for solved, _, _ in ours) / len(ours)
        cells = [_cell(solvers[key]) if key in solvers else "-" for key in ("SQP", "mim-solvers")]
        bar = f"≥ {family.least} % {'yes' if share >= family.least else 'NO'}"
        rows.append([name, str(family.iterations), *cells, f"{family.published} %", bar])
    header = ["problem", "iterations", "SQP", "mim-solvers", "published", "bar"]
    second = table(f"{SAMPLES_TITLE} Samples: {_count(figures['samples'])}.", header, rows)
    return f"{first}\n{second}"


def _columns() -> list[str]:
    return [*OURS, *(key for name in NLP for key in (name, f"{name}, rolled out"))]


def _count(profile: Profile) -> int:
    return len(next(iter(profile.values()))["SQP"])


def _median(outcomes: list[Outcome]) -> float:
    counts = [iterations for solved, iterations, _ in outcomes if solved]
    return float(median(counts)) if counts else np.inf


def _cell(outcomes: list[Outcome]) -> str:
    solved = sum(solved for solved, _, _ in outcomes)
    return f"{solved} ({_median(outcomes):g})" if solved else "0"
