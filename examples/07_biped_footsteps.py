"""A biped walks around a bend: footsteps along a path.

    minimise   ∫ distances of the centre of mass and the swinging soles to their references, wrenches outside of their
               cones (slipping, tipping or turning of a sole), distance to the posture, torques dt
    subject to M(q) dv/dt + h(q, v) = (0, u) + Σ Jᵢᵀ wᵢ; soles in contact do not move; a landing sole stops instantly

Look at: the footsteps and the body turn with the path. Expected cost: 1423.1104.
"""

from __future__ import annotations

import numpy as np

import trajopt
from trajopt import gaits
from trajopt.analysis import motion_report
from trajopt.solvers import SolverFDDP

SOLE = (0.14, 0.06)  # length and width of the area that carries load, 1 cm inside the edges [m]
RADIUS = 0.8  # [m]


def bend(s: float) -> tuple[float, float]:
    """A quarter of a circle to the left, for s from 0 to 1 [m]."""
    angle = s * np.pi / 2  # [rad]
    return RADIUS * np.sin(angle), RADIUS * (1 - np.cos(angle))


def main(plot: bool = False) -> trajopt.Solution:
    """Solves the problem; `plot` writes biped_footsteps.png."""
    robot = trajopt.load_robot("small-biped")
    stance = gaits.Stance.of(robot, ["right_sole", "left_sole"], soles=True)
    footsteps = gaits.footsteps_along(stance, bend, step_length=0.2)  # [m]
    walk = gaits.biped_footsteps(stance, footsteps, step_height=0.05)  # [m]
    print(walk)

    options = gaits.GaitOptions(sole=SOLE, mu=0.7)
    problem = gaits.gait_problem(robot, walk, options=options)  # the body turns with the feet
    solver = SolverFDDP(problem, callbacks=[trajopt.CallbackVerbose()])
    solution = solver.solve(*gaits.gait_guess(problem, walk))

    for key, words in motion_report(solution, mu=0.7).items():
        print(f"{key:<11} {words}")
    if plot:
        trajopt.plotting.plot_summary(solution, "biped_footsteps.png", frame=list(stance.names))
    return solution


if __name__ == "__main__":
    main(plot=True)
