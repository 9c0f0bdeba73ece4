"""A user-defined cost term: a unicycle drives round a post.

    r(x) = max(0, R - |p - post|),  weight 1e4: a penalty inside the circle around the post, a run-time parameter

Look at: the cost term is two lines of CasADi. Solving again with another post compiles nothing.
Expected cost: 1.0625663 with the post at (-0.5, -0.6).
"""

from __future__ import annotations

import casadi as ca
import numpy as np

import trajopt
from trajopt.solvers import SolverFDDP


class Unicycle(trajopt.DifferentialActionModelSymbolic):
    """dx/dt = (v cos θ, v sin θ, ω), with u = (v, ω)."""

    def xdot(self, x: ca.SX, u: ca.SX) -> ca.SX:
        """Rate of (x, y, θ) [m/s, m/s, rad/s]."""
        return ca.vertcat(u[0] * ca.cos(x[2]), u[0] * ca.sin(x[2]), u[1])


def intrusion(x: ca.SX, post: ca.SX) -> ca.SX:
    """Penetration of the robot into a circle of 0.4 m around the post [m]."""
    return ca.fmax(0.4 - ca.sqrt(ca.sumsqr(x[:2] - post) + 1e-6), 0)


def main(plot: bool = False) -> trajopt.Solution:
    """Solves the problem; `plot` writes post.png."""
    state = trajopt.StateVector(3, names=["x", "y", "theta"], units=["m", "m", "rad"])
    post = trajopt.ResidualModelSymbolic(state, intrusion, parameters={"post": [-0.5, -0.6]}, unit="m")
    running = trajopt.CostStack(state)
    running.add("post", post, weight=1e4)
    running.add("u_reg", trajopt.ResidualModelControl(state), weight=1.0)
    terminal = trajopt.CostStack(state)
    terminal.add("home", trajopt.ResidualModelState(state), weight=1e2)
    knot = trajopt.IntegratedActionModelRK4(Unicycle(state, 2, running), dt=5e-2)  # [s]
    problem = trajopt.ShootingProblem([-1.0, -1.0, 1.0], [knot] * 60, terminal)

    solver = SolverFDDP(problem)
    solution = solver.solve()
    print(solution.explain())
    problem.set_parameter("post.post", [-0.6, -0.3])  # [m]
    print(solver.solve(solution.xs, solution.us))
    if plot:
        trajopt.plotting.plot_summary(solution, "post.png")
    return solution


if __name__ == "__main__":
    np.set_printoptions(precision=4)
    main(plot=True)
