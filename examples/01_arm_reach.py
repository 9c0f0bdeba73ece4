"""A UR5 moves its tool to a point within its limits.

    minimise  Σ dt (½ 1e-2 |v|² + ½ 1e-4 |u|²)  +  ½ 1e3 |p_goal - p(q_T)|²  +  ½ 10 |v_T|²
    subject to  M(q) dv/dt + h(q, v) = u,  symplectic Euler, dt = 10 ms, 100 knots

Look at: the table of iterations; the tool ends at rest, within a tenth of a millimetre of its goal. Only the end is
compared with the goal, so the motion is slow: it uses a fifth of the torques and velocities that the robot can reach.
Expected cost: 0.024954831.
"""

from __future__ import annotations

import numpy as np

import trajopt
from trajopt.analysis import limits_report
from trajopt.solvers import SolverFDDP


def main(plot: bool = False) -> trajopt.Solution:
    """Solves the problem; `plot` writes arm_reach.png."""
    robot = trajopt.load_robot("ur5")
    state = trajopt.StateMultibody(robot)
    x0 = np.r_[0.0, -1.5, 1.0, -1.0, -1.5, 0.0, np.zeros(6)]  # [rad], [rad/s]
    goal = trajopt.ResidualModelFrameTranslation(state, "tool0", [0.4, 0.3, 0.5])  # [m]
    motion = trajopt.ResidualModelState(state)
    velocities = trajopt.ActivationModelWeightedQuad(np.repeat([0.0, 1.0], 6))  # without the angles

    running = trajopt.CostStack(state)
    running.add("velocity", motion, weight=1e-2, activation=velocities)  # [cost s/rad²]
    running.add("torque", trajopt.ResidualModelControl(state), weight=1e-4)  # [cost/((N m)² s)]
    terminal = trajopt.CostStack(state)
    terminal.add("goal", goal, weight=1e3)  # [cost/m²]
    terminal.add("stop", motion, weight=10.0, activation=velocities)  # [cost s²/rad²]

    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(state, trajopt.ActuationModelFull(state), running)
    knot = trajopt.IntegratedActionModelEuler(dynamics, dt=1e-2)  # [s]
    problem = trajopt.ShootingProblem(x0, [knot] * 100, terminal)

    solution = SolverFDDP(problem, callbacks=[trajopt.CallbackVerbose()]).solve()
    print(solution.explain())
    print(limits_report(solution)["limits"])  # as fractions of the limits
    if plot:
        trajopt.plotting.plot_summary(solution, "arm_reach.png")
    return solution


if __name__ == "__main__":
    main(plot=True)
