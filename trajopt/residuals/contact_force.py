"""Residuals of contact forces: the interface, and the difference to a reference."""

from __future__ import annotations

import numpy.typing as npt
from casadi import SX

from trajopt.checks import check_text, check_vector
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.residuals.base import ResidualModelAbstract
from trajopt.states.base import StateAbstract


class ResidualModelForce(ResidualModelAbstract):
    """Base of residuals of the force of one contact or the impulse of one impact.

    Args:
        state: State of the robot.
        contact: Name of the contact in the model's stack.
        nr: Size of the residual [-].
        unit: Unit of the elements.
    """

    uses_solution = True

    def __init__(self, state: StateAbstract, contact: str, nr: int, *, unit: str) -> None:
        super().__init__(state, nr, unit=unit)
        self.contact = check_text("contact", contact, such_as="left_foot")

    def force(self, instant: Instant, size: int) -> SX:
        """Force of the contact (size,) [N, N m]; raises InvalidArgumentError if it has another size."""
        force = instant.force(self.contact)
        if force.numel() != size:
            raise InvalidArgumentError(
                f"contact: {type(self).__name__} needs a force of {size} elements, but contact {self.contact!r} has "
                f"{force.numel()}; choose another contact"
            )
        return force

    def derivative(self, instant: Instant) -> tuple[SX, SX]:
        if instant.is_applied(self.contact):
            return super().derivative(instant)
        return SX(self.size(instant.nu), self.state.ndx), SX(self.size(instant.nu), instant.nu)


class ResidualModelContactForce(ResidualModelForce):
    """Contact force error r = f - f_ref, in the contact's reference frame [N, N m; of an impulse N s, N m s].

    Args:
        state: State of the robot.
        contact: Name of the contact or impulse in the model's stack.
        reference: f_ref (nc,), of the size of the contact's force, in the same units. Run-time parameter `reference`.
    """

    def __init__(self, state: StateAbstract, contact: str, reference: npt.ArrayLike) -> None:
        value = check_vector("reference", reference)
        super().__init__(state, contact, value.size, unit="N, N m")
        self.reference = self.parameter("reference", value, unit=self.unit)

    def evaluate(self, instant: Instant) -> SX:
        return self.force(instant, self.size(instant.nu)) - self.reference
