"""A car that drives forwards and backwards, and turns on the spot."""

from __future__ import annotations

from typing import Any

import casadi as ca
from casadi import SX

from trajopt.constraints import ConstraintStack
from trajopt.problems.runge_kutta import ActionModelRungeKutta


class ActionModelCar(ActionModelRungeKutta):
    """Differential drive: ẋ = v cos θ, ẏ = v sin θ, dθ/dt = ω, with the state (x, y, θ) and u = (v, ω).

    Args:
        constraints: Constraints of the knot.
        **others: As in ActionModelRungeKutta.
    """

    def __init__(self, constraints: ConstraintStack, **others: Any) -> None:
        super().__init__(2, constraints, control_names=["v", "w"], control_units=["m/s", "rad/s"], **others)

    def rate(self, x: SX, u: SX) -> SX:
        return SX(ca.vertcat(u[0] * ca.cos(x[2]), u[0] * ca.sin(x[2]), u[1]))
