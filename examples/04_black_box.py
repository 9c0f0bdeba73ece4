"""A black box: dynamics available only as a Python function, in a problem with compiled knots.

    x⁺ = x + dt (v, u - 0.3 v |v|),  cost dt (½ 1e-1 u²);  the first half of the horizon is the black box

Look at: `ActionModelNumDiff` computes the derivatives of the black box numerically; an error inside it names its knot.
Expected cost: 2.4712185.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

import trajopt
from trajopt.solvers import SolverFDDP

DT = 5e-2  # [s]


class Boat(trajopt.ActionModelAbstract):
    """A boat with quadratic drag, in numpy: x = (p, v) [m, m/s], u is the thrust per mass [m/s²]."""

    def calc(self, data: trajopt.ActionData, x: np.ndarray, u: np.ndarray | None = None) -> None:
        """Next state and cost."""
        if u is None:
            data.cost = 0.0
            return
        v = x[1] + DT * (u[0] - 0.3 * x[1] * abs(x[1]))
        data.xnext = [x[0] + DT * v, v]
        data.cost = DT * 0.5 * 0.1 * u[0] ** 2

    def calc_diff(self, data: trajopt.ActionData, x: np.ndarray, u: np.ndarray | None = None) -> None:
        """Does nothing: ActionModelNumDiff computes the derivatives."""


class CompiledBoat(trajopt.DifferentialActionModelSymbolic):
    """The same boat as an expression."""

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        """dv/dt [m/s²]."""
        return u - 0.3 * x[1] * ca.fabs(x[1])


def main(plot: bool = False) -> trajopt.Solution:
    """Solves the problem; `plot` writes boat.png."""
    state = trajopt.StateVector(2, names=["p", "v"], units=["m", "m/s"])
    costs = trajopt.CostStack(state).add("thrust", trajopt.ResidualModelControl(state), weight=0.1)
    terminal = trajopt.CostStack(state).add("berth", trajopt.ResidualModelState(state, [5.0, 0.0]), weight=1e2)
    box = trajopt.ActionModelNumDiff(Boat(state, 1))
    compiled = trajopt.IntegratedActionModelEuler(CompiledBoat(state, 1, costs), dt=DT)
    problem = trajopt.ShootingProblem([0.0, 0.0], [box] * 20 + [compiled] * 20, terminal)
    solution = SolverFDDP(problem).solve()
    print(solution.explain())
    if plot:
        trajopt.plotting.plot_summary(solution, "boat.png")
    return solution


if __name__ == "__main__":
    main(plot=True)
