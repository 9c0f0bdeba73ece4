"""Interface of residuals: vectors r(x, u) that cost terms penalize and constraints bound."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import casadi as ca
from casadi import SX

from trajopt.actuation import ActuationModelAbstract
from trajopt.checks import check_texts
from trajopt.errors import InvalidArgumentError, UnknownNameError, shown
from trajopt.instant import Instant
from trajopt.kernels.derivatives import jacobian
from trajopt.model.base import Model
from trajopt.model.functions import call_user, is_of_user
from trajopt.model.parameters import Parameter
from trajopt.states.base import StateAbstract, check_state
from trajopt.types import Reals


class ResidualModelAbstract(Model):
    """Residual: a vector r(x, u) of size nr.

    A subclass implements `evaluate`; the derivative comes from automatic differentiation. `ResidualModelSymbolic`
    turns a function into a residual.

    Args:
        state: Manifold of the state.
        nr: Size of the residual [-]; None if it depends on the number of controls. Then implement `size` as well.
        unit: Unit of the elements.
        names: Name of each element (nr,), for reports, tables and pictures; numbers by default.

    Attributes:
        row_names: The names; empty without names.
        uses_control: Whether the residual depends on the control. If so, terminal costs reject it.
        uses_solution: Whether it depends on forces or accelerations that the dynamics solve for. If so, terminal costs
            reject it.
    """

    example = "goal.{}"
    set_by_base = ("state", "nr")
    not_content: tuple[str, ...] = ("row_names",)  # no expression depends on them
    uses_control = False
    uses_solution = False

    def __init__(
        self, state: StateAbstract, nr: int | None, *, unit: str = "-", names: Sequence[str] | None = None
    ) -> None:
        self.state = check_state(state)
        self.nr = nr
        self.unit = unit
        self.row_names = () if names is None else check_texts("names", names)
        if nr is not None:
            check_row_names(self.row_names, nr)

    def size(self, nu: int) -> int:
        """Size of the residual for a model with `nu` controls [-]."""
        return nu if self.nr is None else self.nr

    @property
    def own_bounds(self) -> tuple[Reals, Reals] | None:
        """Default bounds (nr,) of a constraint on this residual; None, the default, if the user must set bounds."""
        return None

    @abstractmethod
    def evaluate(self, instant: Instant) -> SX:
        """The residual as an expression (nr,)."""

    def expression(self, instant: Instant) -> SX:
        """Returns what `evaluate` returns; of a class of the user's it is checked.

        Raises:
            InvalidArgumentError: `evaluate` raised, or its result is no expression of size nr; the message says where.
        """
        if not is_of_user(self):
            return self.evaluate(instant)
        name, size = f"{type(self).__name__}.evaluate", self.size(instant.nu)
        value = call_user(name, self.evaluate, instant)
        if value.shape != (size, 1):
            raise InvalidArgumentError(
                f"{name}: expected shape ({size}, 1), as nr = {size} was given to the constructor, got {value.shape}"
            )
        return value

    def derivative(self, instant: Instant) -> tuple[SX, SX]:
        """Derivatives by the tangent of x (nr, ndx) and by u (nr, nu)."""
        return instant.derivative(self.expression(instant))

    def solution_derivative(self, instant: Instant) -> SX:
        """Derivative by `instant.solved` at fixed x and u (nr, n)."""
        return jacobian(self.expression(instant), instant.solved)

    def whole_derivative(self, instant: Instant) -> SX:
        """Sparse derivative by x, u and z = `instant.solved`, all independent (nr, ndx + nu + nz)."""
        by_z = SX(self.size(instant.nu), instant.solved.numel())
        if self.uses_solution:
            by_z = self.solution_derivative(instant)
        return SX(ca.sparsify(ca.horzcat(*self.derivative(instant), by_z)))

    def curvature(self, instant: Instant, slope: SX, bend: SX) -> SX | None:
        """Hessian of a(r(x, u)) in tangent coordinates (ndx + nu, ndx + nu), in closed form; None if there is none.

        Args:
            instant: Symbols x and u.
            slope: Gradient a'(r) (nr,) at the residual.
            bend: Diagonal of the Hessian a''(r) (nr,).
        """
        return None

    def parameters_for(self, nu: int) -> dict[str, Parameter]:
        """Run-time parameters for a model with `nu` controls."""
        return self.parameters()


def check_row_names(names: tuple[str, ...], nr: int) -> None:
    """Raises InvalidArgumentError if a residual of `nr` elements has names, but not one for each."""
    if names and len(names) != nr:
        raise InvalidArgumentError(f"names: expected {nr}, one per element, got {shown(names)}")


def check_solution(user: str, residual: ResidualModelAbstract, instant: Instant) -> None:
    """Raises if a residual needs a force or an acceleration that a model does not provide.

    Args:
        user: Owner of the residual, for the message.
        residual: The residual.
        instant: Instant of the model.
    """
    if residual.uses_solution:
        try:
            residual.evaluate(instant)
        except (InvalidArgumentError, UnknownNameError) as error:
            raise type(error)(f"{user}: {error}") from error


def check_controls(actuation: ActuationModelAbstract, nu: int) -> None:
    """Raises InvalidArgumentError if an actuation and its model differ in their number of controls."""
    if nu != actuation.nu:
        raise InvalidArgumentError(
            f"actuation: expected one with {nu} controls, got one with {actuation.nu}; pass the "
            "actuation of the action model to the residual"
        )
