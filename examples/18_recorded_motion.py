"""Inverse dynamics with contact: which forces and torques caused a recorded motion, and is it feasible for this robot?

    minimise   Σ_i Σ_j ‖moment_ij‖² + 0.01 ‖force_ij‖² + ‖w_{i+1} - w_i‖²   over the wrenches w_ij of the feet j
    subject to Σ_j (J_jᵀ w_ij)_base = (M a + C v + g)_base, forces within friction cones

The recording is a trot computed by a solver, with 0.1 mm of added noise; splines remove the noise, and feet that are
low and slow count as standing.

Look at: the missing force at the base, 1 % of the weight, and the friction that the forces need.
Expected cost: 260.3636681.
"""

from __future__ import annotations

import numpy as np

from trajopt import FrictionCone, problems
from trajopt.inverse_dynamics import ContactFrame, Motion, find_contacts, multiple_contact_inverse_dynamics_over_time
from trajopt.solution import Solution

FEET = ["lf_foot", "rf_foot", "lh_foot", "rh_foot"]


def main(plot: bool = False) -> Solution:
    """Solves the trot, keeps only its configurations, recovers the forces, and returns the trot's solution."""
    case = problems.load("quadruped-trot", robot="small-quadruped", cycles=2)
    solution = case.solve()
    times, robot = solution.times, solution.robot
    distinct = np.append(np.diff(times) > 0, True)  # impulses take no time
    noise = 1e-4 * np.random.default_rng(0).standard_normal((distinct.sum(), robot.nq))  # [m, rad]
    motion = Motion.of(robot, solution.xs[distinct, : robot.nq] + noise, times[distinct], smoothing="auto")

    feet = [ContactFrame(foot, "point", FrictionCone(0.8)) for foot in FEET]
    stands = find_contacts(motion, feet)
    dynamics = multiple_contact_inverse_dynamics_over_time(motion, feet, stands=stands, torque_limits=True)
    print(dynamics.explain())
    if plot:
        dynamics.plot().savefig("recorded.png")
    return solution


if __name__ == "__main__":
    main(plot=True)
