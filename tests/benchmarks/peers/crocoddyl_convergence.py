"""Crocoddyl on swing-ups from random starts (problems: tests/support/random_starts.py).

    DIR/bin/python crocoddyl_convergence.py < starts.json

Reads {"starts": {problem: [x0, ...]}, "max_iterations": n} and writes {"crocoddyl": version, "outcomes": {problem:
{solver: [[converged, iterations, cost], ...]}}} for the solvers ddp and fddp with Crocoddyl's default options, from x0
at every node and controls of zero.
"""

import json
import sys

import crocoddyl
import numpy as np
from crocoddyl_cart_pole import STEP, WEIGHTS, ActionModelCartPole
from crocoddyl_problems import double_pendulum
from crocoddyl_reference import SOLVERS, one_thread


def cart_pole(running: np.ndarray, terminal: np.ndarray) -> crocoddyl.ShootingProblem:
    """Cart-pole over 100 steps with these weights."""
    return crocoddyl.ShootingProblem(np.zeros(4), [ActionModelCartPole(running)] * 100, ActionModelCartPole(terminal))


PROBLEMS = {
    "double-pendulum": double_pendulum,
    "cart-pole-balance": lambda: cart_pole(WEIGHTS, WEIGHTS),
    "cart-pole-swing-up": lambda: cart_pole(np.sqrt(STEP) * WEIGHTS, np.array([100.0, 100.0, 1.0, 0.1, 0.01, 0.0001])),
}


def outcomes(problem: crocoddyl.ShootingProblem, solver: str, starts: list, most: int) -> list:
    """[converged, iterations, cost] from each start."""
    found = []
    for start in starts:
        problem.x0 = np.array(start)
        one = SOLVERS[solver](problem)
        xs, us = [problem.x0] * (problem.T + 1), [np.zeros(model.nu) for model in problem.runningModels]
        converged = one.solve(xs, us, most, False, 1e-9)
        found.append([bool(converged), min(one.iter + 1, most), one.cost])
    return found


def main() -> None:
    """Read, solve, write."""
    asked = json.load(sys.stdin)
    answer = {
        name: {
            solver: outcomes(one_thread(PROBLEMS[name]()), solver, starts, asked["max_iterations"])
            for solver in ("ddp", "fddp")
        }
        for name, starts in asked["starts"].items()
    }
    print(json.dumps({"crocoddyl": crocoddyl.__version__, "outcomes": answer}))


if __name__ == "__main__":
    main()
