"""The backward pass of problems with unknown durations, beside the pass of the same problem without."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import trajopt
from tests.benchmarks.table import bar, table
from tests.support import free_problems, ur5_reach
from trajopt import gaits
from trajopt.shooting import ShootingProblem
from trajopt.shooting.evaluator import Evaluator
from trajopt.solvers.riccati import LinearQuadratic, Riccati

COUNTS = (1, 4)  # unknown time steps: one for all knots, or one for each of four phases
TITLE = """Backward pass with k unknown time steps, in the time of the pass without: lower decile of interleaved passes.
Bar: 1 + 2 k / (nx + nu), the part of the additional multiplications."""


def ur5(integrator: type) -> ShootingProblem:
    """A reach."""
    problem = ur5_reach.solved_reach(lambda arm: integrator(arm, dt=0.05)).problem
    assert problem is not None
    return problem


def go2() -> ShootingProblem:
    """A trot of two steps."""
    robot = trajopt.load_robot("go2")
    stance = gaits.Stance.of(robot, ["FL_foot", "FR_foot", "RL_foot", "RR_foot"])
    return gaits.gait_problem(robot, gaits.quadruped_trot(stance, step_length=0.1, support_knots=4, step_knots=23))


CASES: dict[str, Callable[[], ShootingProblem]] = {
    "pendulum, RK4": free_problems.swing,
    "UR5, RK4": lambda: ur5(trajopt.IntegratedActionModelRK4),
    "UR5, symplectic Euler": lambda: ur5(trajopt.IntegratedActionModelEuler),
    "Go2, symplectic Euler": go2,
}
Figures = dict[str, dict[str, float]]


def recursion(problem: ShootingProblem) -> Riccati:
    """The backward pass of a problem at x0 and no control, ready to run."""
    freed = problem.freed()
    whole = problem if freed is None else freed.follow()
    e = Evaluator(whole)
    e.xs[:] = whole.x0
    e.expand(whole.x0)
    riccati = Riccati(LinearQuadratic.of(e))
    assert riccati.factor(1.0, feasible=True).failure is None
    return riccati


def measure(*, rounds: int = 400) -> Figures:
    """Ratio and bar by problem and number of unknowns, and the time of a knot without any [µs].

    Args:
        rounds: Passes of each [-].
    """
    return {name: _ratios(build(), rounds) for name, build in CASES.items()}


def _ratios(problem: ShootingProblem, rounds: int) -> dict[str, float]:
    passes = {0: recursion(problem)}
    having = sorted(t for kind in problem.kinds if "dt" in kind.parameters for t in kind.knots)  # impulses have none
    for count in COUNTS:
        problem.free("dt", 1e-4, 1.0, knots=[part.tolist() for part in np.array_split(having, count)], guess=0.01)
        passes[count] = recursion(problem)
    seconds: dict[int, list[float]] = {count: [] for count in passes}
    for _ in range(rounds):
        for count, each in passes.items():
            begun = time.perf_counter()
            each.factor(1.0, feasible=True)
            seconds[count].append(time.perf_counter() - begun)
    least = {count: float(np.quantile(times, 0.1)) for count, times in seconds.items()}
    size = problem.state.ndx + problem.nu
    return {
        "µs": 1e6 * least[0] / problem.T,
        **{f"{count}": least[count] / least[0] for count in COUNTS},
        **{f"bar {count}": 1.0 + 2.0 * count / size for count in COUNTS},
    }


def report(figures: Figures) -> str:
    """The table."""
    rows = []
    for name, f in figures.items():
        pairs = [(f"{f[f'{k}']:.2f}", bar(f[f"{k}"], round(f[f"bar {k}"], 2), at_least=False)) for k in COUNTS]
        rows.append([name, f"{f['µs']:.2f}", *(cell for pair in pairs for cell in pair)])
    header = ["problem", "without, a knot [µs]", *(cell for k in COUNTS for cell in (f"k = {k}", "bar"))]
    return table(TITLE, header, rows)
