"""Discrete-time models whose costs are one stack, at running knots and at the end of a horizon."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from casadi import SX

from trajopt.actions.expansion import Expansion, Multipliers, Point, Values
from trajopt.actions.expression import ActionModelExpression
from trajopt.actions.lagrangian import add_lagrangian_hessian
from trajopt.actions.terminal_expansion import end_expansion, end_values
from trajopt.costs.cost_stack import CostStack
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array


class ActionModelCostedAbstract(ActionModelExpression):
    """Model with a stack of costs; at the end of a horizon it evaluates costs and constraints of the state alone."""

    @property
    def _stack(self) -> CostStack:
        costs = self.model_parts.costs
        assert costs is not None
        return costs

    def values(self, program: Program, point: Point) -> Values:
        if point.u is None:
            return end_values(self, self._stack, program, point)
        return self.running_values(program, point, point.u)

    def expansion(
        self, program: Program, point: Point, multipliers: Multipliers | None = None, *, lift: int | None = None
    ) -> Expansion:
        self.check_multipliers(multipliers)
        self.check_lift(lift)
        if point.u is None:
            e = end_expansion(self, self._stack, program, point)
        else:
            e = self.running_expansion(program, point, point.u, lift)
        if multipliers is None:
            return e
        return replace(e, H=self._lagrangian_hessian(program, point, multipliers, e.kept))

    def lagrangian_hessian(
        self, program: Program, point: Point, multipliers: Multipliers, kept: Sequence[Array] = ()
    ) -> Array:
        self.check_multipliers(multipliers)
        return self._lagrangian_hessian(program, point, multipliers, kept)

    def knot_expressions(self, *, terminal: bool) -> tuple[Instant, dict[str, SX]]:
        if not terminal:
            return self._running_expressions()
        i = Instant(self.state, 0)
        return i, {"cost": self._stack.value(i), **self.constraints.named_rows(i)}

    def _running_expressions(self) -> tuple[Instant, dict[str, SX]]:
        """Symbols and expressions of a running knot, as `knot_expressions`."""
        return super().knot_expressions(terminal=False)

    @abstractmethod
    def running_values(self, program: Program, point: Point, u: Array) -> Values:
        """Adds the steps that compute one time step."""

    @abstractmethod
    def running_expansion(self, program: Program, point: Point, u: Array, lift: int | None) -> Expansion:
        """Adds the steps that compute one time step and its derivatives."""

    def _lagrangian_hessian(
        self, program: Program, point: Point, multipliers: Multipliers, kept: Sequence[Array]
    ) -> Array:
        """Adds the steps that compute the Hessian of the Lagrangian."""
        return add_lagrangian_hessian(self, program, point, multipliers, kept)
