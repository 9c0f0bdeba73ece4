"""Basins of attraction: from which states does a controller swing a pendulum up to which side?

    minimise  Σ dt ½ 1e-2 u²  +  ½ |w r(x_T)|²     the ready problem `pendulum` with T = 50 knots of 0.02 s

for 60 x 60 initial angles and speeds in one call, each from the controller's cold start. All motions end upright, at an
angle of an odd number of half turns. Which number it is depends on the initial state: each colour is the basin of one.

Look at: the border through the middle, where left and right cost the same; fast starts that take another turn; single
cells along other borders, where the search ends in a dearer optimum than that of their neighbours.
Expected cost: 0.0000173565.
"""

from __future__ import annotations

import numpy as np

import trajopt
from trajopt import problems
from trajopt.solvers import SolverDDP

ANGLES, SPEEDS = np.linspace(-np.pi, np.pi, 60), np.linspace(-10.0, 10.0, 60)  # [rad], [rad/s]
CAUGHT = 0.1  # [rad]


def half_turns(solutions: trajopt.SolutionBatch) -> np.ndarray:
    """Final angle in half turns, odd for upright; NaN where the pendulum is not caught there (60, 60)."""
    angle = solutions.xs[:, -1, 0]
    turns = np.round(angle / np.pi)
    upright = (turns % 2 == 1) & (np.abs(angle - np.pi * turns) < CAUGHT)
    return np.where(upright, turns, np.nan).reshape(len(SPEEDS), len(ANGLES))


def main(plot: bool = False) -> trajopt.Solution:
    """Solves for all states and returns the cheapest motion; `plot` writes basin.png."""
    problem = problems.load("pendulum", T=50).problem
    starts = np.stack(np.meshgrid(ANGLES, SPEEDS), axis=-1).reshape(-1, 2)
    solutions = SolverDDP(problem).solve_batch(x0=starts)
    print(solutions)
    turns = half_turns(solutions)
    for number in np.unique(turns[np.isfinite(turns)]):
        print(f"{number:+.0f} half turns from {np.mean(turns == number):.1%} of the states")
    if plot:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(7.0, 5.5), layout="constrained")
        drawn = axes.pcolormesh(ANGLES, SPEEDS, turns, cmap="coolwarm", shading="nearest")
        figure.colorbar(drawn, label="final angle [half turns]")
        axes.set(xlabel="initial angle [rad]", ylabel="initial speed [rad/s]")
        figure.savefig("basin.png")
    return solutions.best()


if __name__ == "__main__":
    main(plot=True)
