"""A biped walks around a bend: footsteps along a path.

    minimise   ∫ centre of mass and swinging soles where the schedule wants them, wrenches inside of their cones (no
               slipping, no tipping, no turning of a sole), posture, torques dt
    subject to M(q) dv/dt + h(q, v) = (0, u) + Σ Jᵢᵀ wᵢ, soles that stand do not move; a sole that lands stops at once

Look at: the footsteps turn with the path. Expected cost: 0.0.
"""

from __future__ import annotations

import numpy as np

import trajopt
from trajopt import gaits
from trajopt.solvers import SolverFDDP

SOLE = (0.16, 0.08)  # length and width [m]


def bend(s: float) -> tuple[float, float]:
    """A quarter of a circle to the left, of radius 0.8 m, for s from 0 to 1 [m]."""
    angle = s * np.pi / 2  # [rad]
    return 0.8 * np.sin(angle), 0.8 * (1 - np.cos(angle))


def main(plot: bool = False) -> trajopt.Solution:
    """Solves it; with `plot`, writes biped_footsteps.png."""
    robot = trajopt.load_robot("small-biped")
    stance = gaits.Stance.of(robot, ["right_sole", "left_sole"], soles=True)
    footsteps = gaits.footsteps_along(stance, bend, step_length=0.2)  # [m]
    walk = gaits.biped_footsteps(stance, footsteps, step_height=0.05)  # [m]
    print(walk)

    problem = gaits.gait_problem(robot, walk, options=gaits.GaitOptions.soles(sole=SOLE))
    solver = SolverFDDP(problem, callbacks=[trajopt.CallbackVerbose()])
    solution = solver.solve(*gaits.gait_guess(problem, walk))

    x, y = solution.xs[-1, :2] - solution.xs[0, :2]  # [m]
    print(f"{x:.2f} m ahead and {y:.2f} m to the left in {walk.duration:.1f} s")
    if plot:
        trajopt.plotting.plot_summary(solution, "biped_footsteps.png", frame=list(stance.names), targets=())
    return solution


if __name__ == "__main__":
    main(plot=True)
