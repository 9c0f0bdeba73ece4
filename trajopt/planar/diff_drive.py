"""A robot with two driven wheels."""

from __future__ import annotations

from typing import Any

import casadi as ca
from casadi import SX

from trajopt.actions.differential import DifferentialActionModelSymbolic
from trajopt.checks import check_positive
from trajopt.costs import CostStack
from trajopt.planar.states import state_of_costs, state_of_wheels


class DifferentialActionModelDiffDrive(DifferentialActionModelSymbolic):
    """Two driven wheels: ẋ = v cos θ, ẏ = v sin θ, θ̇ = r (φ̇1 - φ̇2) / (2 L), v = r (φ̇1 + φ̇2) / 2.

    Wheel 1 is the right one. The state of the costs decides: with a pose (x, y, θ) controls are the rates of the wheels
    (φ̇1, φ̇2) [rad/s]; with `state_of_wheels()` rates are states, and controls are their derivatives [rad/s²].
    `limit_wheels` adds hard limits of rates.

    Args:
        costs: Costs of an instant, of `state_of_pose()` or `state_of_wheels()`.
        radius: r, radius of the wheels, > 0 [m]. Run-time parameter.
        half_track: L, half of the distance between the wheels, > 0 [m]. Run-time parameter.
        **options: `constraints`, `lower` and `upper` of DifferentialActionModelAbstract.

    Raises:
        InvalidArgumentError: The costs are of another state, or a length is not positive.

    Source: Siegwart, Nourbakhsh and Scaramuzza, Autonomous Mobile Robots, 2011, section 3.2.
    """

    def __init__(self, costs: CostStack, *, radius: float, half_track: float, **options: Any) -> None:
        state = state_of_costs(costs, state_of_wheels())
        unit = "rad/s" if state.nx == 3 else "rad/s²"
        names: dict[str, Any] = {"control_names": ["right", "left"], "control_units": [unit] * 2}
        super().__init__(state, 2, costs, **names, **options)
        self.radius = self.parameter("radius", check_positive("radius", radius, unit="m"), unit="m")
        self.half_track = self.parameter("half_track", check_positive("half_track", half_track, unit="m"), unit="m")

    def xdot(self, x: SX, u: SX) -> SX:
        rates = u if self.state.nx == 3 else x[3:]
        speed, turn = self.radius * (rates[0] + rates[1]) / 2, self.radius * (rates[0] - rates[1])
        pose = ca.vertcat(speed * ca.cos(x[2]), speed * ca.sin(x[2]), turn / (2 * self.half_track))
        return pose if self.state.nx == 3 else SX(ca.vertcat(pose, u))
