"""A 7-joint arm reaches a placement.

    minimise  Σ dt (½ |log6(M_ref⁻¹ M(q))|² + ½ 1e-4 |x|² + ½ 1e-4 |u|²)  +  ½ 1e3 |log6(M_ref⁻¹ M(q_T))|²
    subject to  M(q) dv/dt + h(q, v) = u,  symplectic Euler, dt = 10 ms, 100 knots

Look at: the table of iterations; the gripper ends within a tenth of a millimetre of its goal. Expected cost: 0.3038669.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

import trajopt
from trajopt.solvers import SolverFDDP


def main(plot: bool = False) -> trajopt.Solution:
    """Solves the problem; `plot` writes arm_reach.png."""
    robot = trajopt.load_robot("talos_arm")
    state = trajopt.StateMultibody(robot)
    x0 = np.r_[0.173046, 1.0, -0.52366, 0.0, 0.0, 0.1, -0.005, np.zeros(state.nv)]  # [rad], [rad/s]
    target = pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.4]))  # [m]
    goal = trajopt.ResidualModelFramePlacement(state, "gripper_left_joint", target)

    running = trajopt.CostStack(state)
    running.add("goal", goal, weight=1.0)  # [cost/(m² s)]
    running.add("x_reg", trajopt.ResidualModelState(state), weight=1e-4)
    running.add("u_reg", trajopt.ResidualModelControl(state), weight=1e-4)  # [cost/((N m)² s)]
    terminal = trajopt.CostStack(state)
    terminal.add("goal", goal, weight=1e3)  # [cost/m²]

    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(state, trajopt.ActuationModelFull(state), running)
    node = trajopt.IntegratedActionModelEuler(dynamics, dt=1e-2)  # [s]
    problem = trajopt.ShootingProblem(x0, [node] * 100, terminal)

    solution = SolverFDDP(problem, callbacks=[trajopt.CallbackVerbose()]).solve()
    print(solution.explain())
    if plot:
        trajopt.plotting.plot_summary(solution, "arm_reach.png")
    return solution


if __name__ == "__main__":
    main(plot=True)
