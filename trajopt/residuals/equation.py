"""Residual of an equation of inverse dynamics."""

from __future__ import annotations

from casadi import SX

from trajopt.checks import check_count, check_text
from trajopt.instant import Instant
from trajopt.residuals.base import ResidualModelAbstract
from trajopt.states.base import StateAbstract


class ResidualModelEquation(ResidualModelAbstract):
    """Left-hand side (nr,) of an equation of inverse dynamics; the model constrains it to zero.

    Args:
        state: Manifold of the state.
        equation: Name of the equation: "unactuated" for generalized forces that no motor provides [N m, N], or
            "NAME_contact" for a contact [m/s², rad/s²; N, N m if it is not active].
        nr: Number of rows [-].
    """

    uses_solution = True

    def __init__(self, state: StateAbstract, equation: str, nr: int) -> None:
        name = check_text("equation", equation, such_as="unactuated")
        unit = "N m, N" if name == "unactuated" else "m/s², rad/s²"
        super().__init__(state, check_count("nr", nr, least=1), unit=unit)
        self.equation = name

    def evaluate(self, instant: Instant) -> SX:
        return instant.equation(self.equation)

    def derivative(self, instant: Instant) -> tuple[SX, SX]:
        return SX(self.size(instant.nu), self.state.ndx), SX(self.size(instant.nu), instant.nu)
