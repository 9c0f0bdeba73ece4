"""Residual of the centre of mass: distance to a reference point."""

from __future__ import annotations

import numpy.typing as npt
from casadi import SX

from trajopt.checks import check_array
from trajopt.instant import Instant
from trajopt.residuals.multibody import ResidualModelMultibody
from trajopt.states.base import StateAbstract


class ResidualModelCoMPosition(ResidualModelMultibody):
    """Position error of the centre of mass in the world: r = c(q) - c_ref, shape (3,) [m].

    Args:
        state: State of the robot.
        reference: Reference point (3,) [m], the origin by default. Run-time parameter `reference`.
    """

    def __init__(self, state: StateAbstract, reference: npt.ArrayLike = (0.0, 0.0, 0.0)) -> None:
        super().__init__(state, 3, unit="m")
        point = check_array("reference", reference, (3,), cure="pass a point (x, y, z) in the world [m]")
        self.reference = self.parameter("reference", point, unit="m")

    def evaluate(self, instant: Instant) -> SX:
        return instant.robot.com_position() - self.reference

    def derivative(self, instant: Instant) -> tuple[SX, SX]:
        return self.pad(instant.robot.com_jacobian()), SX(3, instant.nu)
