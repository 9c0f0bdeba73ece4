"""Residual of an impulse: change of the centre of mass velocity."""

from __future__ import annotations

import casadi as ca
from casadi import SX

from trajopt.instant import Instant
from trajopt.residuals.multibody import ResidualModelMultibody
from trajopt.states.base import StateAbstract


class ResidualModelImpulseCoM(ResidualModelMultibody):
    """Change of the centre of mass velocity by an impulse, r = J_com(q) (v⁺ - v), shape (3,) [m/s].

    Args:
        state: State of the robot.
    """

    uses_solution = True

    def __init__(self, state: StateAbstract) -> None:
        super().__init__(state, 3, unit="m/s")

    def evaluate(self, instant: Instant) -> SX:
        change = instant.velocity_after - instant.x[self.state.nq :]
        return SX(ca.mtimes(instant.robot.com_jacobian(), change))
