"""Draws a walk and a climb: `python docs/gait_picture.py` writes quadruped-walk.png and go2-stairs.png to docs/."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

import trajopt
from trajopt import gaits, problems
from trajopt.plotting import plot_contact_forces, plot_strip
from trajopt.solvers import SolverFDDP

HERE = Path(__file__).parent
FEET = ["FL_foot", "FR_foot", "RL_foot", "RR_foot"]


def main() -> None:
    """Solves a walk and a climb of Go2 and draws them."""
    robot = trajopt.load_robot("go2")
    stance = gaits.Stance.of(robot, FEET)
    models = gaits.GaitModels(robot, stance)

    walk = gaits.quadruped_walk(stance, step_length=0.15, step_height=0.06, support_knots=4, profile="smooth")  # [m]
    problem = models.problem(walk)
    solution = SolverFDDP(problem).solve(*gaits.gait_guess(problem, walk))
    figure = Figure(figsize=(10.0, 7.2), layout="constrained")
    strip, forces = figure.subfigures(2, 1, height_ratios=[1.8, 5.4])
    plot_strip(solution, 7, figure=strip)
    plot_contact_forces(solution, walk, figure=forces)
    figure.savefig(HERE / "quadruped-walk.png", dpi=100)
    plot_strip(problems.load("quadruped-stairs").solve(), 6).savefig(HERE / "go2-stairs.png", dpi=100)


if __name__ == "__main__":
    main()
