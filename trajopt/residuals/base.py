"""Interface of residuals: vectors r(x, u) that the cost terms penalise."""

from __future__ import annotations

from abc import abstractmethod

import casadi as ca
from casadi import SX

from trajopt.actuation import ActuationModelAbstract
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.instant import Instant
from trajopt.kernels.derivatives import jacobian
from trajopt.model.base import Model
from trajopt.model.parameters import Parameter
from trajopt.states.base import StateAbstract, check_state
from trajopt.types import Reals


class ResidualModelAbstract(Model):
    """A residual r(x, u) in R^nr.

    A subclass implements `evaluate`; the derivative follows by automatic differentiation. `ResidualModelSymbolic` makes
    a residual from a function.

    Args:
        state: Manifold of the state.
        nr: Size of the residual [-]; None if it depends on the number of controls, then implement `size` too.
        unit: Unit of the elements.

    Attributes:
        uses_control: Whether the residual depends on the control; terminal costs refuse it then.
        uses_solution: Whether it depends on forces or on the motion that the dynamics solve for; terminal costs refuse
            it then.
    """

    example = "goal.{}"
    set_by_base = ("state", "nr")
    uses_control = False
    uses_solution = False

    def __init__(self, state: StateAbstract, nr: int | None, *, unit: str = "-") -> None:
        self.state = check_state(state)
        self.nr = nr
        self.unit = unit

    def size(self, nu: int) -> int:
        """Size of the residual for a model with `nu` controls [-]."""
        return nu if self.nr is None else self.nr

    @property
    def own_bounds(self) -> tuple[Reals, Reals] | None:
        """Bounds (nr,) of a constraint for which none are given; None, the default, if it needs some."""
        return None

    @abstractmethod
    def evaluate(self, instant: Instant) -> SX:
        """The residual as an expression, shape (nr,)."""

    def derivative(self, instant: Instant) -> tuple[SX, SX]:
        """Derivatives with respect to the state's tangent, (nr, ndx), and the control, (nr, nu)."""
        return instant.derivative(self.evaluate(instant))

    def solution_derivative(self, instant: Instant) -> SX:
        """Derivative with respect to `instant.solved` at fixed x and u, (nr, n)."""
        return jacobian(self.evaluate(instant), instant.solved)

    def whole_derivative(self, instant: Instant) -> SX:
        """Its derivative along (x, u, z), z = `instant.solved`, all independent, sparse, (nr, ndx + nu + nz)."""
        by_z = SX(self.size(instant.nu), instant.solved.numel())
        if self.uses_solution:
            by_z = self.solution_derivative(instant)
        return SX(ca.sparsify(ca.horzcat(*self.derivative(instant), by_z)))

    def curvature(self, instant: Instant, slope: SX, bend: SX) -> SX | None:
        """Hessian of a(r(x, u)) in tangent coordinates (ndx + nu, ndx + nu), where a formula gives it; else None.

        Args:
            instant: Symbols x and u.
            slope: a'(r) at the residual (nr,).
            bend: Diagonal of a''(r) (nr,).
        """
        return None

    def parameters_for(self, nu: int) -> dict[str, Parameter]:
        """Run-time parameters for a model with `nu` controls."""
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


def check_controls(actuation: ActuationModelAbstract, nu: int) -> None:
    """Raises InvalidArgumentError if an actuation has another number of controls than the model that asks."""
    if nu != actuation.nu:
        raise InvalidArgumentError(
            f"actuation: expected that of the model, with {nu} controls, got one with {actuation.nu}"
        )
