"""A quadruped trots: a gait as data, one problem for all its contacts.

    minimise   ∫ centre of mass and swinging feet where the schedule wants them, forces inside of their friction cones,
               posture, torques dt
    subject to M(q) dv/dt + h(q, v) = (0, u) + Σ Jᵢᵀ fᵢ, feet that stand do not move; a foot that lands stops at once

Look at: the table of the schedule; the feet slip by less than a millimetre. Expected cost: 0.0.
"""

from __future__ import annotations

import numpy as np

import trajopt
from trajopt import gaits
from trajopt.solvers import SolverFDDP

FEET = ["lf_foot", "rf_foot", "lh_foot", "rh_foot"]


def main(plot: bool = False) -> trajopt.Solution:
    """Solves it; with `plot`, writes quadruped_trot.png."""
    robot = trajopt.load_robot("small-quadruped")
    stance = gaits.Stance.of(robot, FEET)
    trot = gaits.quadruped_trot(stance, step_length=0.1, step_height=0.05, cycles=2)  # [m]
    print(trot)

    problem = gaits.gait_problem(robot, trot)
    solver = SolverFDDP(problem, callbacks=[trajopt.CallbackVerbose()])
    solution = solver.solve(*gaits.gait_guess(problem, trot))

    forward = solution.xs[-1, 0] - solution.xs[0, 0]  # [m]
    forces = solution.contact_forces()
    push = max(float(np.nanmax(force[:, 2])) for force in forces.values())  # [N]
    print(f"{forward:.3f} m in {trot.duration:.2f} s, at most {push:.0f} N on one foot")
    if plot:
        trajopt.plotting.plot_summary(solution, "quadruped_trot.png", frame=FEET, targets=())
    return solution


if __name__ == "__main__":
    main(plot=True)
