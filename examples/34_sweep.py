"""A UR5 reaches to its other side: many guesses, solved by all cores, and the best motion within its limits.

    minimise  ∫ (½ 1e-2 |v|² + ½ 1e-4 |u|²) dt  +  ½ 1e3 |p_goal - p(q_T)|²  +  ½ 10 |v_T|²

from 64 guesses: at rest at the start posture, plus s sin(π t / T) d with a random d. The arm can turn its base, fold
or lean back, so there are several minima. The usual guess leads to one that costs twice as much as the best; the
cheapest motion of all turns the elbow beyond its limit, which is not a constraint of this problem.

Look at: the minima and how often each was found; the last line, as solving a row again gives the same bits. Rows are
solved in chunks of 8 by processes of this machine; `executor=client.get_executor()` sends them to Dask instead.
Expected cost: 0.0740856355.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import trajopt
from trajopt import problems
from trajopt.sweeps import Sweep

TARGET = (-0.4, 0.4, 0.2)  # [m]
GUESSES, SPREAD = 64, 1.0  # [-], standard deviation of joints at the middle of a guess [rad]


def solve_all(store: Path) -> Sweep:
    """Solves from the usual guess (row 0, whose spread is 0) and from random ones."""
    spreads = np.full(GUESSES, SPREAD)
    spreads[0] = 0.0
    case = problems.load("arm-reach", "ur5", target=TARGET)
    return trajopt.sweep(case, {"seed": np.arange(GUESSES), "spread": spreads}, chunk=8, store=store)


def within_limits(sweep: Sweep) -> np.ndarray:
    """Whether all joints stay within the limits of their angles and speeds, for each row (n,)."""
    model = trajopt.load_robot("ur5").model
    lower = np.r_[model.lowerPositionLimit, -model.velocityLimit]  # [rad], [rad/s]
    upper = np.r_[model.upperPositionLimit, model.velocityLimit]
    inside = np.zeros(len(sweep), dtype=bool)
    for rows, xs, _ in sweep.trajectories():  # one file of the store after the other
        inside[rows] = ((lower <= xs) & (xs <= upper)).all(axis=(1, 2))
    return inside


def main(plot: bool = False) -> trajopt.Solution:
    """Solves, prints the minima and returns the best motion; `plot` writes sweep.png and sweep-best.png."""
    with tempfile.TemporaryDirectory() as folder:
        sweep = solve_all(Path(folder))
        print(sweep)
        inside = within_limits(sweep)
        for cost in np.unique(sweep.cost.round(4)):
            rows = sweep.cost.round(4) == cost
            print(f"cost {cost:.4f} found {rows.sum()} times, within limits {(rows & inside).sum()} times")
        best = sweep[inside].best()
        print(f"usual guess {sweep[0].cost:.4f}, best within limits {best.cost:.4f}, row {best.index}")
        solution = best.solution()  # solves the row again, with gains and records of all iterations
        print(f"same bits as in the store: {np.array_equal(solution.xs, best.xs)}")
        if plot:
            sweep.plot("sweep.png", kind="costs")
            solution.plot("sweep-best.png")
    return solution


if __name__ == "__main__":
    main(plot=True)
