"""Minimum time: a cart swings its pole up and stops 1 m aside, as fast as 10 N allow.

    minimise  N dt   over dt and the forces,  |f| <= 10 N,  x_0 = 0,  x_N = (1 m, π, 0, 0),  RK4, N = 60 knots

`problem.free("dt", lower, upper)` makes the time step unknown, the same for all knots. The cost is the time itself:
`ResidualModelTime` with weight 1 costs 1 per second.

Look at: the force, which is at a limit at most knots. The end is an equation, so the first guess, no force for 2 s,
need not reach it. Expected cost: 1.427490 s.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

import trajopt
from trajopt.solvers import SolverSQP

GRAVITY, N = 9.81, 60  # [m/s²], [-]
CART, BOB, LENGTH, FORCE = 1.0, 0.3, 0.5, 10.0  # [kg], [kg], [m], [N]


class CartPole(trajopt.DifferentialActionModelSymbolic):
    """Cart with a point mass on a rod: x = (y, θ, dy/dt, dθ/dt), θ = 0 hanging (Kelly 2017, eqs. 6.1 and 6.2)."""

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        """Accelerations [m/s², rad/s²] under a force u [N]."""
        s, c = ca.sin(x[1]), ca.cos(x[1])
        swing = BOB * LENGTH * s * x[3] ** 2  # [N]
        cart = (swing + u + BOB * GRAVITY * c * s) / (CART + BOB * s**2)
        return ca.vertcat(cart, -(cart * c + GRAVITY * s) / LENGTH)


def build() -> trajopt.ShootingProblem:
    """The problem, with 2 s as the first guess of its duration."""
    state = trajopt.StateVector(4, names=["y", "angle", "dy", "dangle"], units=["m", "rad", "m/s", "rad/s"])
    costs = trajopt.CostStack(state)
    costs.add("time", trajopt.ResidualModelTime(state), weight=1.0)
    limits = trajopt.ConstraintStack(state)
    limits.add("force", trajopt.ResidualModelControl(state), lower=-FORCE, upper=FORCE)
    model = CartPole(state, nu=1, costs=costs, constraints=limits, control_names=["force"], control_units=["N"])
    goal = trajopt.ConstraintStack(state)
    goal.add("upright", trajopt.ResidualModelState(state, [1.0, np.pi, 0.0, 0.0]), equals=0.0)
    end = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=goal)
    problem = trajopt.ShootingProblem([0.0] * 4, [trajopt.IntegratedActionModelRK4(model, dt=2.0 / N)] * N, end)
    problem.free("dt", 0.1 / N, 5.0 / N)  # [s]
    return problem


def main(plot: bool = False) -> trajopt.Solution:
    """Solves the problem; `plot` writes free_time.png."""
    solution = SolverSQP(build()).solve()
    limit = np.mean(np.abs(solution.us) > FORCE - 1e-3)
    print(solution)
    print(f"upright after {solution.times[-1]:.4f} s; the force is at its limit at {limit:.0%} of the knots")
    if plot:
        solution.plot("free_time.png")
    return solution


if __name__ == "__main__":
    main(plot=True)
