"""An SQP iteration with linear steps, in which nothing is sequential but the recursion, beside one of our own FDDP."""

from __future__ import annotations

import time

import numpy as np

from tests.benchmarks.table import bar, number, table
from tests.support import legged_problems
from trajopt.kernels import wait_until_optimised
from trajopt.solvers import FDDPOptions, SolverAbstract, SolverFDDP, SolverSQP, SQPOptions
from trajopt.types import Reals

FEW, MANY = 1, 5  # iterations of the two solves whose difference is timed
FASTER = 1.0  # what must be reached
TITLE = f"""An iteration on an unconstrained HyQ trot, µs of one thread's time, each side's fastest round: the
difference of solves of {MANY} and {FEW} iterations, in turns. Linear steps evaluate all knots of a trial at once."""


def measure(*, rounds: int) -> dict[str, float]:
    """Time of an iteration [µs] of each solver.

    Args:
        rounds: Turns [-].
    """
    problem = legged_problems.problem_of("hyq-trot")
    xs = np.tile(problem.x0, (problem.T + 1, 1))
    us = problem.quasi_static(xs[:-1])
    solvers: dict[str, list[SolverAbstract]] = {
        "SolverFDDP": [SolverFDDP(problem, FDDPOptions.crocoddyl(max_iterations=n)) for n in (FEW, MANY)],
        "SolverSQP": [SolverSQP(problem, SQPOptions(steps="linear", max_iterations=n)) for n in (FEW, MANY)],
    }
    for pair in solvers.values():
        assert [solver.solve(xs, us).iterations for solver in pair] == [FEW, MANY]
    wait_until_optimised()
    fastest = {name: [np.inf, np.inf] for name in solvers}
    for _ in range(rounds):
        for name, pair in solvers.items():
            for i, solver in enumerate(pair):
                fastest[name][i] = min(fastest[name][i], _seconds(solver, xs, us))
    return {name: (times[1] - times[0]) / (MANY - FEW) * 1e6 for name, times in fastest.items()}


def _seconds(solver: SolverAbstract, xs: Reals, us: Reals) -> float:
    """Time of this thread in a solve [s]."""
    before = time.thread_time()
    solver.solve(xs, us)
    return time.thread_time() - before


def report(micros: dict[str, float]) -> str:
    """The table."""
    ratio = micros["SolverFDDP"] / micros["SolverSQP"]
    cells = [
        number(micros["SolverSQP"]),
        number(micros["SolverFDDP"]),
        f"{ratio:.2f}",
        bar(ratio, FASTER, at_least=True),
    ]
    return table(TITLE, ["linear steps", "SolverFDDP", "ratio", "required"], [cells])
