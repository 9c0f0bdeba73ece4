"""Discrete-time models that are one expression each."""

from __future__ import annotations

from abc import abstractmethod

import casadi as ca
from casadi import SX

from trajopt.actions.expansion import Expansion, Multipliers, Point, Values
from trajopt.actions.expression import ActionModelExpression
from trajopt.actions.lagrangian import lagrangian_hessian, second_derivatives
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.functions import named_call


class ActionModelDiscrete(ActionModelExpression):
    """x⁺ = f(x, u) and the cost l(x, u), written as expressions; derivatives follow, with exact Hessians.

    Arguments are those of ActionModelExpression.
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
        self._check_lift(lift)
        i = self._instant(point)
        results = self._values(i, terminal=point.u is None)
        if "xnext" in results:
            results["F"] = self._next_state_derivative(i, results["xnext"])
        results["g"], results["H"] = second_derivatives(self.state, i, results["cost"])
        if "rows" in results:
            results["C"] = self.constraints.derivative(i)
        known: list[tuple[SX, Array]] = []
        if multipliers is not None:
            results["H"], known = lagrangian_hessian(self.state, i, results, multipliers)
        return Expansion.of(self._call(program, i, point, results, known))

    def knot_expressions(self, *, terminal: bool) -> tuple[Instant, dict[str, SX]]:
        i = Instant(self.state, 0 if terminal else self.nu)
        return i, self._values(i, terminal=terminal)

    def term_expressions(self, instant: Instant, *, terminal: bool) -> dict[str, SX]:
        cost = self.terminal_cost(instant.x) if terminal else self.running_cost(instant.x, instant.u)
        return {"cost": cost}

    def _instant(self, point: Point) -> Instant:
        return Instant(self.state, 0 if point.u is None else self.nu)

    def _values(self, i: Instant, *, terminal: bool) -> dict[str, SX]:
        if terminal:
            self.constraints.check_terminal()
            return {"cost": self.terminal_cost(i.x)} | self._rows(i)
        return {"xnext": self.next_state(i.x, i.u), "cost": self.running_cost(i.x, i.u)} | self._rows(i)

    def _rows(self, i: Instant) -> dict[str, SX]:
        return {"rows": self.constraints.rows(i)} if self.constraints.constraints else {}

    def _next_state_derivative(self, i: Instant, xnext: SX) -> SX:
        """F (ndx, ndx + nu)."""
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
        inputs = [(i.x, point.x), *([] if point.u is None else [(i.u, point.u)])]
        inputs += [(self.layout.symbols, point.parameters), *(more or [])]
        return named_call(program, type(self).__name__, inputs, results)
