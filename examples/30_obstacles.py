"""A robot with two driven wheels drives around circles: the distance from each is a constraint.

    minimise  ∫ ½ r² (|φ̈|² + 0.1 |φ̇|²) dt    subject to    |p - c_i| - ρ_i - 0.2 m >= 0.05 m at each knot

with x = (x, y, θ, φ̇1, φ̇2), wheels of r = 0.1 m, from rest at the origin to rest at (4 m, 0) in 8 s; p = (x, y), and
c_i, ρ_i are run-time parameters. Between knots the clearance is up to 2 mm less than the margin of 5 cm, as the
picture's title shows: use more knots, or more margin, where that matters. Then a circle moves, and the same compiled
code solves the problem again.

Look at: `ResidualModelObstacleDistance` and `clearance`. Expected cost: 1.0008638.
"""

from __future__ import annotations

import numpy as np

import trajopt
from trajopt.analysis import clearance
from trajopt.planar import DifferentialActionModelDiffDrive, state_of_wheels
from trajopt.plotting import plot_path
from trajopt.solvers import SolverSQP

CIRCLES = np.array([[1.2, 0.1, 0.4], [2.6, -0.5, 0.5], [3.2, 0.9, 0.3]])  # x, y, radius [m]
BODY, MARGIN, RADIUS = 0.2, 0.05, 0.1  # radius of the body, required clearance, radius of a wheel [m]
GOAL = np.array([4.0, 0.0, 0.0, 0.0, 0.0])  # [m, m, rad, rad/s, rad/s]


def build(T: int = 60, duration: float = 8.0) -> trajopt.ShootingProblem:
    """The problem with `T` knots over a duration [s]."""
    state = state_of_wheels()
    costs = trajopt.CostStack(state).add("acceleration", trajopt.ResidualModelControl(state), weight=RADIUS**2)
    speeds = trajopt.ResidualModelState(state, elements=state.coordinate_names[3:])
    costs.add("speed", speeds, weight=0.1 * RADIUS**2)
    apart = trajopt.ResidualModelObstacleDistance(state, CIRCLES, BODY)
    rows = trajopt.ConstraintStack(state).add("obstacles", apart, lower=MARGIN)
    wheels = DifferentialActionModelDiffDrive(costs, constraints=rows, radius=RADIUS, half_track=0.2)
    end = trajopt.ConstraintStack(state).add("goal", trajopt.ResidualModelState(state, GOAL), equals=0.0)
    terminal = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=end)
    return trajopt.ShootingProblem(np.zeros(5), [trajopt.IntegratedActionModelRK4(wheels, duration / T)] * T, terminal)


def main(plot: bool = False) -> trajopt.Solution:
    """Solves with the circles above and returns the solution; `plot` writes obstacles.png."""
    problem = build()
    xs = np.linspace(np.zeros(5), GOAL, problem.T + 1)  # a guess through the circles
    solution = SolverSQP(problem).solve(xs)
    at_knots = min(np.hypot(*(solution.xs[:, :2] - c[:2]).T).min() - c[2] - BODY for c in CIRCLES)
    between = clearance(solution.xs, CIRCLES, BODY)
    words = f"clearance {1e3 * at_knots:.1f} mm at the knots, {1e3 * between:.1f} mm between them"
    print(f"{solution.iterations} iterations, {words}")

    moved = CIRCLES.copy()
    moved[0, 1] -= 0.2
    problem.set_parameter("obstacles.circles", moved)  # compiles nothing
    again = SolverSQP(problem).solve(solution.xs, solution.us)
    print(f"after a circle has moved: {again.iterations} iterations, {1e3 * clearance(again.xs, moved, BODY):.1f} mm")
    if plot:
        figure = plot_path(solution, obstacles=CIRCLES)
        figure.axes[0].set_title(words)
        figure.savefig("obstacles.png")
    return solution


if __name__ == "__main__":
    main(plot=True)
