"""Discrete-time models that are a single expression."""

from __future__ import annotations

from abc import abstractmethod

import casadi as ca
from casadi import SX

from trajopt.actions.expansion import Expansion, Multipliers, Point, Values
from trajopt.actions.expression import ActionModelExpression
from trajopt.actions.lagrangian import lagrangian_hessian, second_derivatives
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.functions import call_user
from trajopt.model.parts import Bindings, named_call


class ActionModelDiscrete(ActionModelExpression):
    """Base class of your own discrete-time system x⁺ = f(x, u) with cost l(x, u): write three methods.

    `next_state`, `running_cost` and `terminal_cost` are CasADi expressions; derivatives and Hessians are exact. Solvers
    call all other methods; none of them needs to be written.

    ```python
    class Unicycle(trajopt.ActionModelDiscrete):
        def __init__(self):
            super().__init__(trajopt.StateVector(3), nu=2)  # x, y, heading; speed and turn rate

        def next_state(self, x, u):
            rate = casadi.vertcat(u[0] * casadi.cos(x[2]), u[0] * casadi.sin(x[2]), u[1])
            return x + 0.1 * rate

        def running_cost(self, x, u):
            return casadi.sumsqr(x) + casadi.sumsqr(u)

        def terminal_cost(self, x):
            return casadi.sumsqr(x)
    ```

    A knot has no duration, so its problem has no `times`. If x jumps at an instant between other knots, such as where a
    stage drops, write `instantaneous = True` in the class: the knot takes 0 s.

    Arguments are those of ActionModelAbstract.
    """

    @abstractmethod
    def next_state(self, x: SX, u: SX) -> SX:
        """Next state (nx,) of a state (nx,) and a control (nu,)."""

    @abstractmethod
    def running_cost(self, x: SX, u: SX) -> SX:
        """Cost of a knot, a scalar [cost]."""

    @abstractmethod
    def terminal_cost(self, x: SX) -> SX:
        """Cost at the end of the horizon, a scalar [cost]."""

    @property
    def has_lagrangian_hessian(self) -> bool:
        return True

    def values(self, program: Program, point: Point) -> Values:
        i = self._instant(point)
        return Values.of(self._call(program, i, point, self._values(i, terminal=point.u is None)))

    def expansion(
        self, program: Program, point: Point, multipliers: Multipliers | None = None, *, lift: int | None = None
    ) -> Expansion:
        self.check_lift(lift)
        i = self._instant(point)
        results = self._values(i, terminal=point.u is None)
        if "xnext" in results:
            results["F"] = self._next_state_derivative(i, results["xnext"])
        results["g"], results["H"] = second_derivatives(self.state, i, results["cost"])
        if "rows" in results:
            results["C"] = self.constraints.derivative(i)
        bindings: list[tuple[SX, Array]] = []
        if multipliers is not None:
            results["H"], bindings = lagrangian_hessian(self.state, i, results, multipliers)
        return Expansion.of(self._call(program, i, point, results, bindings))

    def knot_expressions(self, *, terminal: bool) -> tuple[Instant, dict[str, SX]]:
        i = Instant(self.state, 0 if terminal else self.nu)
        return i, self._values(i, terminal=terminal)

    def term_expressions(self, instant: Instant, *, terminal: bool) -> dict[str, SX]:
        return {"cost": self._cost(instant, terminal=terminal)}

    def _cost(self, i: Instant, *, terminal: bool) -> SX:
        """Cost as the user wrote it, a scalar."""
        if terminal:
            return self._written("terminal_cost", 1, i.x)
        return self._written("running_cost", 1, i.x, i.u)

    def _written(self, method: str, size: int, *symbols: SX) -> SX:
        """Expression (size,) that a user's method returns."""
        name = f"{type(self).__name__}.{method}"
        value = call_user(name, getattr(self, method), *symbols)
        if value.shape != (size, 1):
            raise InvalidArgumentError(f"{name}: expected an expression of shape ({size}, 1), got {value.shape}")
        return value

    def _instant(self, point: Point) -> Instant:
        return Instant(self.state, 0 if point.u is None else self.nu)

    def _values(self, i: Instant, *, terminal: bool) -> dict[str, SX]:
        if terminal:
            self.constraints.check_terminal()
            return {"cost": self._cost(i, terminal=True)} | self.constraints.named_rows(i)
        xnext = self._written("next_state", self.state.nx, i.x, i.u)
        return {"xnext": xnext, "cost": self._cost(i, terminal=False)} | self.constraints.named_rows(i)

    def _next_state_derivative(self, i: Instant, xnext: SX) -> SX:
        """Derivative F of the next state (ndx, ndx + nu)."""
        to_tangent = self.state.sx_tangent_projection(xnext)
        by_x, by_u = i.derivative(xnext)
        return SX(ca.horzcat(to_tangent @ by_x, to_tangent @ by_u))

    def _call(
        self,
        program: Program,
        i: Instant,
        point: Point,
        results: dict[str, SX],
        more: list[tuple[SX, Array]] | None = None,
    ) -> dict[str, Array]:
        inputs: Bindings = [(i.x, point.x), *([] if point.u is None else [(i.u, point.u)])]
        inputs += [(self.layout, point.parameters), *(more or [])]
        return named_call(program, type(self).__name__, inputs, results)
