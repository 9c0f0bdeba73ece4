"""A race: a quadrotor flies through seven gates as fast as its rotors allow.

    minimise  Σ dt_p (1 + ½ 1e-3 |u - m g / 4|²)   over the motion and the time steps dt_p of eight legs,
    0 <= u <= 6 N (1 kg),  full dynamics (problems.quadrotor), RK4, 10 knots a leg, from rest to rest.

At a gate's knot the centre is in its plane, at most .3 m off its middle, and passes with 0.5 m/s or more. The guess
flies straight at 3 m/s. Look at: thrusts, mostly at a limit. Expected cost: 3.937624.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

import trajopt
from trajopt.problems.quadrotor import BODY, GRAVITY, DifferentialActionModelQuadrotor, hovering, state_of_quadrotor
from trajopt.solvers import SolverSQP

PER_LEG, MOST, OPEN, START, END = 10, 6.0, 0.3, [0.0, 0.0, 1.0], [6.0, 8.0, 1.5]  # [-], [N], [m]
MIDDLES = [[2, 1, 1.5], [5, 0, 2], [7, 2.5, 1], [5, 5, 1.5], [2, 4, 2.5], [0, 6, 1.5], [3, 8, 1.2]]  # [m]
POINTS = np.array([START, *MIDDLES, END])
NORMALS = POINTS[2:, :2] - POINTS[:-2, :2]  # of the gates, which stand upright
NORMALS /= np.linalg.norm(NORMALS, axis=1, keepdims=True)


def place(x: ca.SX, middle: ca.SX, normal: ca.SX) -> ca.SX:
    """Distance from the plane, to the side, upwards [m], and speed through the plane [m/s]."""
    away, v = x[:3] - middle, BODY.sx_rotation(x[:7]) @ x[7:10]
    side = normal[0] * away[1] - normal[1] * away[0]
    return ca.vertcat(ca.dot(normal, away[:2]), side, away[2], ca.dot(normal, v[:2]))


def build() -> tuple[trajopt.ShootingProblem, np.ndarray]:
    """The problem, and the guess of its states."""
    state, N = state_of_quadrotor(), PER_LEG * (len(POINTS) - 1)
    costs = trajopt.CostStack(state).add("calm", trajopt.ResidualModelControl(state, [GRAVITY / 4] * 4), weight=1e-3)
    costs.add("time", trajopt.ResidualModelTime(state), weight=1.0)
    rows = trajopt.ConstraintStack(state).add("rotors", trajopt.ResidualModelControl(state), lower=0.0, upper=MOST)
    gate = trajopt.ResidualModelSymbolic(state, place, parameters={"middle": np.zeros(3), "normal": np.zeros(2)})
    rows.add("gate", gate, lower=[-np.inf] * 4, upper=[np.inf] * 4)
    knot = trajopt.IntegratedActionModelRK4(DifferentialActionModelQuadrotor(costs, constraints=rows), dt=0.05)
    rest = trajopt.ConstraintStack(state).add("end", trajopt.ResidualModelState(state, hovering(END)), equals=0.0)
    end = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=rest)
    problem, knots = trajopt.ShootingProblem(hovering(START), [knot] * N, end), range(PER_LEG, N, PER_LEG)
    low, high = [0.0, -OPEN, -OPEN, 0.5], [0.0, OPEN, OPEN, np.inf]
    for name, value in zip(("middle", "normal", "lower", "upper"), (POINTS[1:-1], NORMALS, low, high)):
        problem.set_parameter(f"gate.{name}", value, knots=knots)
    steps = np.linalg.norm(np.diff(POINTS, axis=0), axis=1) / 3.0 / PER_LEG  # [s]
    problem.free("dt", 0.002, 0.2, steps, knots=[range(t, t + PER_LEG) for t in range(0, N, PER_LEG)])
    guess = np.tile(hovering(START), (N + 1, 1))
    guess[:, :3] = np.array([np.interp(np.arange(N + 1) / PER_LEG, range(len(POINTS)), way) for way in POINTS.T]).T
    return problem, guess


def draw(solution: trajopt.Solution, name: str) -> None:
    """Draws the way and the gates from above, and the thrusts."""
    import matplotlib.pyplot as plt

    figure, (above, thrusts) = plt.subplots(2, 1, figsize=(7, 9), height_ratios=[2, 1], layout="constrained")
    plt.colorbar(above.scatter(*solution.xs[:, :2].T, 12, np.linalg.norm(solution.xs[:, 7:10], axis=1)), label="m/s")
    for (x, y, _), (c, s) in zip(MIDDLES, OPEN * NORMALS):
        above.plot([x - s, x + s], [y + c, y - c], "k", linewidth=3)
    above.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    thrusts.step(solution.times[:-1], solution.us)
    thrusts.set(xlabel="time [s]", ylabel="thrusts [N]")
    figure.savefig(name)


def main(plot: bool = False) -> trajopt.Solution:
    """Solves the problem; `plot` writes gate_race.png."""
    problem, guess = build()
    solution = SolverSQP(problem).solve(guess, np.full((problem.T, 4), GRAVITY / 4))
    print(solution, "legs [s]:", np.round(PER_LEG * solution.unknowns["dt"], 3))
    if plot:
        draw(solution, "gate_race.png")
    return solution


if __name__ == "__main__":
    main(plot=True)
