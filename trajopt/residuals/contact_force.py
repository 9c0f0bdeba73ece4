"""Residuals of contact forces: interface, and distance to a reference."""

from __future__ import annotations

import numpy.typing as npt
from casadi import SX

from trajopt.checks import check_text, check_vector
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.residuals.base import ResidualModelAbstract
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import check_robot_state


class ResidualModelForce(ResidualModelAbstract):
    """A residual of the force of one contact, or of one impulse.

    Args:
        state: State of the robot.
        contact: Name of the contact in its stack.
        nr: Size of the residual [-].
        unit: Unit of the elements.
    """

    uses_solution = True

    def __init__(self, state: StateAbstract, contact: str, nr: int, *, unit: str) -> None:
        super().__init__(check_robot_state(type(self).__name__, state), nr, unit=unit)
        self.contact = check_text("contact", contact, such_as="left_foot")

    def force(self, instant: Instant, size: int) -> SX:
        """Force of the contact (size,) [N, N m]."""
        force = instant.force(self.contact)
        if force.numel() != size:
            raise InvalidArgumentError(
                f"contact: {type(self).__name__} needs a force of {size} elements, got {self.contact!r} with "
                f"{force.numel()}"
            )
        return force

    def derivative(self, instant: Instant) -> tuple[SX, SX]:
        return SX(self.size(instant.nu), self.state.ndx), SX(self.size(instant.nu), instant.nu)


class ResidualModelContactForce(ResidualModelForce):
    """Force minus reference: r = f - f_ref, of one contact or impulse, in its reference frame [N, N m; N s, N m s].

    Args:
        state: State of the robot.
        contact: Name of the contact in its stack.
        reference: f_ref (nc,), of the same size as the force of the contact. Run-time parameter `reference`.
    """

    def __init__(self, state: StateAbstract, contact: str, reference: npt.ArrayLike) -> None:
        value = check_vector("reference", reference)
        super().__init__(state, contact, value.size, unit="N, N m")
        self.reference = self.parameter("reference", value, unit=self.unit)

    def evaluate(self, instant: Instant) -> SX:
        return self.force(instant, self.size(instant.nu)) - self.reference
