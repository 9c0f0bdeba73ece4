"""Identification from parameters that are far from those of the log."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import trajopt
from trajopt.identification import Log, identify

TRUTH = {"cart": 1.3, "pole": 0.35, "length": 0.42}  # [kg, kg, m]
NOISE = {"x": [1e-3, 2e-3, 1e-2, 2e-2], "u": 0.02}


class Cart(trajopt.DifferentialActionModelSymbolic):
    """Cart with a pole that hangs, x = (place, angle, and their rates)."""

    def __init__(self, factor: float = 1.0) -> None:
        costs = trajopt.CostStack(trajopt.StateVector(4))
        super().__init__(costs.state, nu=1, costs=costs)
        self.cart, self.pole, self.length = (self.parameter(name, factor * value) for name, value in TRUTH.items())

    def acceleration(self, x: SX, u: SX) -> SX:
        inertia, coupling = self.pole * self.length**2, self.pole * self.length * ca.cos(x[1])
        swing = self.pole * self.length * ca.sin(x[1])
        M = ca.vertcat(ca.horzcat(self.cart + self.pole, coupling), ca.horzcat(coupling, inertia))
        return ca.solve(M, ca.vertcat(u + swing * x[3] ** 2, -9.81 * swing))


def knot(factor: float = 1.0) -> trajopt.IntegratedActionModelRK4:
    return trajopt.IntegratedActionModelRK4(Cart(factor), dt=0.02)


@pytest.mark.parametrize("factor", [0.3, 3.0, 5.0])
def test_masses_and_lengths_that_are_several_times_wrong(factor: float) -> None:
    t, rng = 0.02 * np.arange(200), np.random.default_rng(0)
    us = (3.0 * np.sin(2.0 * t) + 2.0 * np.sin(5.3 * t + 1.0))[:, None]
    end = trajopt.CostStack(trajopt.StateVector(4))
    xs = trajopt.ShootingProblem([0.0, 0.3, 0.0, 0.0], [knot()] * 200, end).rollout(us)
    log = Log(xs + np.array(NOISE["x"]) * rng.normal(size=xs.shape), us + 0.02 * rng.normal(size=us.shape), 0.02)
    near, far = (identify(knot(f), log, list(TRUTH), noise=NOISE) for f in (1.0, factor))
    assert far.converged
    for name, value in TRUTH.items():
        assert far.values[name] == pytest.approx(float(near.values[name]), rel=1e-4)
        assert abs(far.values[name] - value) < 4.0 * far.deviations[name]
