"""Estimates of a constant force whose effect in one measurement is less than noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from casadi import SX

import trajopt
from trajopt import mpc


class Mass(trajopt.DifferentialActionModelSymbolic):
    """dv/dt = u + push."""

    def __init__(self, costs: trajopt.CostStack) -> None:
        super().__init__(costs.state, nu=1, costs=costs)
        self.push = self.parameter("push", 0.0, unit="N")

    def acceleration(self, x: SX, u: SX) -> Any:
        return u + self.push


@pytest.mark.parametrize("push", [0.0, 0.3])
@pytest.mark.parametrize("deviation", [0.1, 0.25])
def test_a_force_is_learned_whatever_first_deviation_it_has(push: float, deviation: float) -> None:
    """It stayed at .46 N for 20 s, where there was none, after noise had moved it in the first .2 s."""
    state = trajopt.StateVector(2, names=["q", "v"], units=["m", "m/s"])
    running, costs = (
        trajopt.CostStack(state).add("home", trajopt.ResidualModelState(state), weight=10.0) for _ in range(2)
    )
    running.add("force", trajopt.ResidualModelControl(state), weight=0.1)
    knots = [trajopt.IntegratedActionModelRK4(Mass(running), dt=0.05)] * 20
    controller = mpc.MPCController(
        trajopt.ShootingProblem(np.zeros(2), knots, costs),
        options=mpc.MPCOptions(dt=0.02, estimate={"push": deviation}),
    )

    def plant(x: Any, u: Any, dt: float) -> Any:
        force = u[0] + push
        return np.array([x[0] + x[1] * dt + force * dt**2 / 2, x[1] + force * dt])

    log = mpc.simulate(controller, plant, np.zeros(2), 20.0, noise=[0.005, 0.02], seed=3)
    assert log.estimated["push"][-1, 0] == pytest.approx(min(push, 3.0 * deviation), abs=0.04)
