"""Systems that a user writes as an expression."""

from __future__ import annotations

from casadi import SX

from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.model.functions import call_user


class DifferentialActionModelSymbolic(DifferentialActionModelAbstract):
    """Base class of your own system: write `acceleration` or `xdot` as a CasADi expression.

    For a second-order system with x = (q, v), write `acceleration(x, u)`, shape (ndx / 2,). The velocity v is in the
    tangent space of q: for StateProduct(StateSE3(), StateVector(6)) it is the twist in the body's frame. For a
    first-order system dx/dt = f(x, u), write `xdot(x, u)`, shape (ndx,).

    Declare constants that may change at run time in `__init__` with `self.parameter(name, value)`. For a robot,
    `trajopt.dynamics.RobotExpressions(model, q, v)` provides kinematics and dynamics as expressions. The system runs
    as fast as a built-in model.
    """

    exact_hessian = True

    def acceleration(self, x: SX, u: SX) -> SX:
        """Acceleration dv/dt (ndx / 2,) of a state (nx,) and a control (nu,)."""
        raise NotImplementedError

    def xdot(self, x: SX, u: SX) -> SX:
        """Rate dx/dt (ndx,) in the tangent space, of a state (nx,) and a control (nu,)."""
        raise NotImplementedError

    @property
    def second_order(self) -> bool:  # type: ignore[override]
        return self._writes("acceleration")

    def _writes(self, name: str) -> bool:
        return getattr(type(self), name) is not getattr(DifferentialActionModelSymbolic, name)

    def check_expression(self) -> None:
        """Raises InvalidArgumentError if the user's expression can't be built; called when the model is complete."""
        self.dynamics(self.instant())

    def dynamics(self, instant: Instant) -> SX:
        name = "acceleration" if self.second_order else "xdot"
        size = self.state.ndx // 2 if self.second_order else self.state.ndx
        if not self.second_order and not self._writes("xdot"):
            raise InvalidArgumentError(
                f"{type(self).__name__}: expected acceleration(x, u) or xdot(x, u), got neither; write one of them"
            )
        if "second_order" not in vars(type(self)) and self._writes("acceleration") and self._writes("xdot"):
            raise InvalidArgumentError(
                f"{type(self).__name__}: expected acceleration(x, u) or xdot(x, u), got both; remove one of them"
            )
        if self.second_order and not self.state.has_velocities:
            raise InvalidArgumentError(
                f"{type(self).__name__}: acceleration needs a state (q, v) with as many velocities as positions, "
                f"got {self.state!r}; use a state such as StateProduct(StateSE3(), StateVector(6)), or write xdot(x, "
                "u)"
            )
        value = call_user(f"{type(self).__name__}.{name}", getattr(self, name), instant.x, instant.u)
        if value.shape != (size, 1):
            what = f"one row for each {'velocity' if self.second_order else 'tangent coordinate'}"
            raise InvalidArgumentError(
                f"{type(self).__name__}.{name}: expected shape ({size}, 1), got {value.shape}; return {what} of "
                f"{self.state!r}"
            )
        return value
