"""Unicycle: a robot that drives along its heading, and turns."""

from __future__ import annotations

from typing import Any

import casadi as ca
from casadi import SX

from trajopt.actions.differential import DifferentialActionModelSymbolic
from trajopt.costs import CostStack
from trajopt.planar.states import state_of_costs, state_of_twist


class DifferentialActionModelUnicycle(DifferentialActionModelSymbolic):
    """Unicycle: ẋ = v cos θ, ẏ = v sin θ, θ̇ = ω.

    The state of the costs determines the controls. With a pose (x, y, θ), the controls are (v, ω) [m/s, rad/s]. With
    `state_of_twist()`, these are states, and the controls are their derivatives [m/s², rad/s²]. `ActionModelUnicycle`
    is Crocoddyl's discrete-time model with its costs.

    Args:
        costs: Running costs [cost/s], of `state_of_pose()` or `state_of_twist()`.
        **options: `constraints`, `lower` and `upper` of DifferentialActionModelAbstract.

    Raises:
        InvalidArgumentError: The costs have another state.

    Source: LaValle, Planning Algorithms, 2006, equation 13.18.
    """

    def __init__(self, costs: CostStack, **options: Any) -> None:
        state = state_of_costs(costs, state_of_twist())
        moving = state.nx == 5
        names: dict[str, Any] = {
            "control_names": ["dv", "domega"] if moving else ["v", "omega"],
            "control_units": ["m/s²", "rad/s²"] if moving else ["m/s", "rad/s"],
        }
        super().__init__(state, 2, costs, **names, **options)

    def xdot(self, x: SX, u: SX) -> SX:
        v, omega = (u[0], u[1]) if self.state.nx == 3 else (x[3], x[4])
        pose = ca.vertcat(v * ca.cos(x[2]), v * ca.sin(x[2]), omega)
        return pose if self.state.nx == 3 else SX(ca.vertcat(pose, u))
