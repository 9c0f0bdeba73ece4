"""Differential drive: a robot with two driven wheels."""

from __future__ import annotations

from typing import Any

import casadi as ca
from casadi import SX

from trajopt.actions.differential import DifferentialActionModelSymbolic
from trajopt.checks import check_positive
from trajopt.costs import CostStack
from trajopt.planar.states import state_of_costs, state_of_wheels


class DifferentialActionModelDiffDrive(DifferentialActionModelSymbolic):
    """Differential drive: ẋ = v cos θ, ẏ = v sin θ, θ̇ = r (φ̇1 - φ̇2) / (2 L), v = r (φ̇1 + φ̇2) / 2.

    Wheel 1 is the right one. The state of the costs determines the controls. With a pose (x, y, θ), the controls are
    the wheel rates (φ̇1, φ̇2) [rad/s]. With `state_of_wheels()`, the wheel rates are states, and the controls are
    their derivatives [rad/s²]. `limit_wheels` adds hard limits on the rates.

    Args:
        costs: Running costs [cost/s], of `state_of_pose()` or `state_of_wheels()`.
        radius: Radius r of the wheels, > 0 [m]. Run-time parameter `radius`.
        half_track: Half of the distance between the wheels, L > 0 [m]. Run-time parameter `half_track`.
        **options: `constraints`, `lower` and `upper` of DifferentialActionModelAbstract.

    Raises:
        InvalidArgumentError: The costs have another state, or a length is not positive.

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
