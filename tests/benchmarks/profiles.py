"""Which solves converge, in how many iterations, how near the best known cost and in what time: sets of problems."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tests.benchmarks.peer_process import SCRIPTS
from tests.benchmarks.table import table
from tests.support import arm_reaches
from tests.support.gait_robots import FEET, robot_of, stance_of
from tests.support.random_starts import FAMILIES
from trajopt import gaits, problems
from trajopt.errors import MissingDependencyError
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.solvers import DDPOptions, FDDPOptions, SolverAbstract, SolverDDP, SolverFDDP, SolverSQP, SQPOptions

TITLE = """Profiles: solved (median of their iterations; solves within 1 % of the best known cost; seconds of all solves
together), at most 100 iterations. "gn" has hessian="gauss-newton"; DDP, FDDP and SQP have their defaults. Bars: DDP or
FDDP solves 100 of 108 reaches, 60 % near the best, and 90 of 100 swing-ups of either kind."""
MOST = 100  # iterations
NEAR = 1.01  # of the best known cost

Outcome = tuple[bool, int, float, float]  # solved, iterations, cost, seconds
Profile = dict[str, list[Outcome]]  # by solver
Figures = dict[str, Profile]  # by set
Guess = tuple[Any, Any]

SOLVERS: dict[str, Callable[[ShootingProblem], SolverAbstract[Any]]] = {
    "DDP gn": lambda p: SolverDDP(p, DDPOptions(hessian="gauss-newton", max_iterations=MOST)),
    "DDP": lambda p: SolverDDP(p, DDPOptions(max_iterations=MOST)),
    "FDDP gn": lambda p: SolverFDDP(p, FDDPOptions(hessian="gauss-newton", max_iterations=MOST)),
    "FDDP": lambda p: SolverFDDP(p, FDDPOptions(max_iterations=MOST)),
    "SQP": lambda p: SolverSQP(p, SQPOptions(max_iterations=MOST)),
}


def sets(seed: int, count: int | None) -> dict[str, Iterator[tuple[ShootingProblem, Guess]]]:
    """Problems and guesses of each set, made when they are asked for.

    Args:
        seed: First seed of the arm reaches; defaults were chosen on those from 1,000 on.
        count: Reaches, and starts of each swing-up; None for 108 and 100.
    """
    reaches = range(seed, seed + (count or arm_reaches.COUNT))
    found: dict[str, Iterator[tuple[ShootingProblem, Guess]]] = {}
    found |= {"arm reaches": (_held(arm_reaches.problem(arm_reaches.reach(each))) for each in reaches)}
    found |= {name: _starts(name, count or 100) for name in FAMILIES}
    found |= {"first notebook": (_ready(name) for name in ("arm-reach-seed",)), "ready problems": _all_ready()}
    return found | {"gaits from standing": _gaits()}


def _held(problem: ShootingProblem) -> tuple[ShootingProblem, Guess]:
    return problem, (np.tile(problem.x0, (problem.T + 1, 1)), None)


def _starts(name: str, count: int) -> Iterator[tuple[ShootingProblem, Guess]]:
    problem = FAMILIES[name].build()
    for x0 in FAMILIES[name].starts(count):
        problem.x0 = x0
        yield problem, (np.tile(x0, (problem.T + 1, 1)), np.zeros((problem.T, problem.nu)))


def _ready(name: str) -> tuple[ShootingProblem, Guess]:
    case = problems.load(name)
    return case.problem, (case.xs, case.us)


def _all_ready() -> Iterator[tuple[ShootingProblem, Guess]]:
    for name in problems.names():
        try:
            problem, guess = _ready(name)
        except MissingDependencyError:
            continue
        if not problem.constraint_names and not problem.soft_constraint_names and problem.start == "fixed":
            yield problem, guess


def _gaits() -> Iterator[tuple[ShootingProblem, Guess]]:
    """A gait of each of five robots, from its stance at every knot."""
    for name, feet in FEET.items():
        stance = stance_of(name)
        schedule = gaits.biped_walk(stance) if len(feet) == 2 else gaits.quadruped_trot(stance)
        yield _held(gaits.gait_problem(robot_of(name), schedule))


def measure(environment: Path | None, *, seed: int = 0, count: int | None = None) -> Figures:
    """Outcomes of each set and solver.

    Args:
        environment: Folder that `peers/make_env.sh` made: also Crocoddyl on the arm reaches. None leaves it out.
        seed: First seed of the arm reaches.
        count: Reaches, and starts of each swing-up; None for 108 and 100.
    """
    figures: Figures = {}
    for name, cases in sets(seed, count).items():
        figures[name] = {solver: [] for solver in SOLVERS}
        for problem, guess in cases:
            for solver, build in SOLVERS.items():
                figures[name][solver].append(_outcome(build(problem).solve(*guess)))
    if environment:
        found = _peer(environment, seed, count or arm_reaches.COUNT)
        figures["arm reaches"] |= {f"Crocoddyl {key.upper()}": found[key] for key in ("ddp", "fddp")}
    return figures


def _outcome(solution: Solution) -> Outcome:
    return solution.converged, solution.iterations, float(solution.cost), solution.seconds


def _peer(environment: Path, seed: int, count: int) -> dict[str, list[Outcome]]:
    reaches = [dataclasses.asdict(arm_reaches.reach(each)) for each in range(seed, seed + count)]
    plain = [{k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in each.items()} for each in reaches]
    command = [str(environment / "bin" / "python"), str(SCRIPTS / "crocoddyl_arm_reaches.py")]
    asked = json.dumps({"reaches": plain, "max_iterations": MOST})
    one = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, input=asked, capture_output=True, text=True, env=one, check=True)
    outcomes: dict[str, list[Outcome]] = json.loads(done.stdout.splitlines()[-1])["outcomes"]
    return outcomes


def report(figures: Figures) -> str:
    """The table."""
    columns = list(dict.fromkeys(solver for profile in figures.values() for solver in profile))
    rows = []
    for name, profile in figures.items():
        best = _best(profile)
        cells = [_cell(profile[key], best) if key in profile else "-" for key in columns]
        rows.append([f"{name}, {len(best)}", *cells])
    return table(TITLE, ["set, problems", *columns], rows)


def _best(profile: Profile) -> list[float]:
    """Least cost of a problem that any solver has converged to."""
    columns = zip(*profile.values())
    return [min((cost for solved, _, cost, _ in column if solved), default=np.inf) for column in columns]


def _cell(outcomes: list[Outcome], best: list[float]) -> str:
    counts = [iterations for solved, iterations, _, _ in outcomes if solved]
    near = sum(
        solved and cost <= least + (NEAR - 1.0) * abs(least) for (solved, _, cost, _), least in zip(outcomes, best)
    )
    seconds = sum(each[3] for each in outcomes)
    return f"{len(counts)} ({median(counts):g}; {near}; {seconds:.2g} s)" if counts else f"0 ({seconds:.2g} s)"


def draw(figures: Figures, folder: Path) -> Path:
    """Writes convergence.png, a performance profile of each set: part that is solved by so many iterations."""
    folder.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(4 * len(figures), 4), layout="constrained")
    axes = figure.subplots(1, len(figures), sharey=True, squeeze=False)[0]
    for ax, (name, profile) in zip(axes, figures.items()):
        for i, (solver, outcomes) in enumerate(profile.items()):
            done = np.array([iterations for solved, iterations, _, _ in outcomes if solved])
            counts = np.arange(1, MOST + 1)
            share = 100.0 * (done[:, None] <= counts).sum(axis=0) / len(outcomes)
            ax.step(counts, share, where="post", color=f"C{i}", linestyle=":" if " gn" in solver else "-", label=solver)
        ax.set(title=name, xlabel="iterations [-]", xscale="log", ylim=(0, 102))
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("solved [%]")
    lines = {line.get_label(): line for ax in axes for line in ax.get_lines()}
    figure.legend(lines.values(), [str(name) for name in lines], loc="outside lower center", ncols=7, frameon=False)
    path = folder / "convergence.png"
    figure.savefig(path, dpi=100)
    return path
