"""The interface of residuals: vectors r(x, u) that costs make small."""

from __future__ import annotations

from abc import abstractmethod

import casadi as ca
from casadi import SX

from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.instant import Instant
from trajopt.kernels.derivatives import jacobian
from trajopt.model.base import Model
from trajopt.model.parameters import Parameter
from trajopt.states.base import StateAbstract


class ResidualModelAbstract(Model):
    """A residual r(x, u) in R^nr.

    To write your own, give `evaluate`; its derivative follows. `ResidualModelSymbolic` makes one of a function.

    Args:
        state: The state's manifold.
        nr: Size of the residual [-]; None if it depends on the number of controls, then give `size` too.
        unit: Unit of its elements.

    Attributes:
        uses_control: Whether it needs a control; such a residual has no place at the end of a horizon.
        uses_solution: Whether it needs forces or the motion that the dynamics solve for; no place at the end either.
    """

    uses_control = False
    uses_solution = False

    def __init__(self, state: StateAbstract, nr: int | None, *, unit: str = "-") -> None:
        self.state = state
        self.nr = nr
        self.unit = unit

    def size(self, nu: int) -> int:
        """Size of the residual where there are `nu` controls [-]."""
        return nu if self.nr is None else self.nr

    @abstractmethod
    def evaluate(self, instant: Instant) -> SX:
        """The residual as an expression, shape (nr,)."""

    def derivative(self, instant: Instant) -> tuple[SX, SX]:
        """Its derivatives along the tangent space, (nr, ndx), and the control, (nr, nu)."""
        return instant.derivative(self.evaluate(instant))

    def solution_derivative(self, instant: Instant) -> SX:
        """Its derivative along `instant.solved` at fixed x and u, (nr, n)."""
        return jacobian(self.evaluate(instant), instant.solved)

    def whole_derivative(self, instant: Instant) -> SX:
        """Its derivative along (x, u, z), z = `instant.solved`, all independent, sparse, (nr, ndx + nu + nz)."""
        by_z = SX(self.size(instant.nu), instant.solved.numel())
        if self.uses_solution:
            by_z = self.solution_derivative(instant)
        return SX(ca.sparsify(ca.horzcat(*self.derivative(instant), by_z)))

    def parameters_for(self, nu: int) -> dict[str, Parameter]:
        """Run-time parameters where there are `nu` controls."""
        return self.parameters()


def check_solution(user: str, residual: ResidualModelAbstract, instant: Instant) -> None:
    """Raises if a residual needs a force or a motion that is not there at a model's instants.

    Args:
        user: What has the residual, for the message.
        residual: The residual.
        instant: An instant of the model.
    """
    if residual.uses_solution:
        try:
            residual.evaluate(instant)
        except (InvalidArgumentError, UnknownNameError) as error:
            raise type(error)(f"{user}: {error}") from error
