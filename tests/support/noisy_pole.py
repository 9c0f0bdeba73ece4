"""Window of a cart-pole, whose states are measured with noise."""

from __future__ import annotations

import casadi as ca
import numpy as np

import trajopt

NOISY = np.array([2e-3, 5e-3, 2e-2, 5e-2])  # deviations [m, rad, m/s, rad/s]


def own_pole() -> trajopt.ShootingProblem:
    """Window of a cart-pole's swing-up, its mass and length run-time parameters."""

    class CartPole(trajopt.DifferentialActionModelSymbolic):
        def __init__(self, costs: trajopt.CostStack) -> None:
            super().__init__(costs.state, nu=1, costs=costs)
            self.mass, self.length = self.parameter("mass", 0.3), self.parameter("length", 0.5)

        def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
            m, length, s, c = self.mass, self.length, ca.sin(x[1]), ca.cos(x[1])
            a = (u[0] + m * s * (length * x[3] ** 2 + 9.81 * c)) / (1.0 + m * s**2)
            return ca.vertcat(a, -(a * c + 9.81 * s) / length)

    state = trajopt.StateVector(4)
    weights = trajopt.ActivationModelWeightedQuad([1.0, 1.0, 0.1, 0.1])
    upright = trajopt.ResidualModelState(state, [0.0, np.pi, 0.0, 0.0])
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), weight=1e-2)
    costs.add("upright", upright, weight=1.0, activation=weights)
    end = trajopt.CostStack(state).add("upright", upright, weight=100.0)
    knot = trajopt.IntegratedActionModelRK4(CartPole(costs), dt=0.04)
    return trajopt.ShootingProblem(np.zeros(4), [knot] * 40, end)
