"""A quadruped trots: a gait schedule and its problem with all contacts.

    minimise   ∫ distances of the centre of mass and the swinging feet to their references, forces outside of their
               friction cones, distance to the posture, torques dt
    subject to M(q) dv/dt + h(q, v) = (0, u) + Σ Jᵢᵀ fᵢ; feet in contact do not move; a landing foot stops instantly

Look at: the table of the schedule; the planned and the reached motion of the feet; no force leaves its friction cone.
Expected cost: 260.36367.
"""

from __future__ import annotations

import trajopt
from trajopt import gaits
from trajopt.analysis import motion_report
from trajopt.solvers import SolverFDDP

FEET = ["lf_foot", "rf_foot", "lh_foot", "rh_foot"]


def main(plot: bool = False) -> trajopt.Solution:
    """Solves the problem; `plot` writes quadruped_trot.png."""
    robot = trajopt.load_robot("small-quadruped")
    stance = gaits.Stance.of(robot, FEET)
    trot = gaits.quadruped_trot(stance, step_length=0.1, step_height=0.05, cycles=2)  # [m]
    print(trot)

    problem = gaits.gait_problem(robot, trot, options=gaits.GaitOptions(mu=0.7))
    solver = SolverFDDP(problem, callbacks=[trajopt.CallbackVerbose()])
    solution = solver.solve(*gaits.gait_guess(problem, trot))

    for key, words in motion_report(solution, mu=0.7).items():
        print(f"{key:<11} {words}")
    if plot:
        trajopt.plotting.plot_summary(solution, "quadruped_trot.png", frame=FEET)
    return solution


if __name__ == "__main__":
    main(plot=True)
