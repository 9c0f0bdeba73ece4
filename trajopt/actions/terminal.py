"""Terminal model that consists of a cost stack and constraints."""

from __future__ import annotations

from dataclasses import replace

from casadi import SX

from trajopt.actions.expansion import Expansion, Multipliers, Point, Values
from trajopt.actions.expression import ActionModelExpression
from trajopt.actions.lagrangian import add_lagrangian_hessian
from trajopt.actions.parts import ModelParts
from trajopt.actions.terminal_expansion import end_expansion, end_values
from trajopt.checks import check_instance
from trajopt.constraints.constraint_stack import ConstraintStack
from trajopt.costs.cost_stack import CostStack
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.model.parameters import Parameter


class ActionModelTerminal(ActionModelExpression):
    """Terminal model of a problem: costs and constraints, without dynamics, control or time step.

    Args:
        costs: Terminal costs [cost]. The model freezes them.
        constraints: Constraints of the final state; none by default. The model freezes them.

    Raises:
        InvalidArgumentError: A cost term or a constraint depends on a control.
    """

    def __init__(self, costs: CostStack, *, constraints: ConstraintStack | None = None) -> None:
        check_instance("costs", costs, CostStack, "CostStack(state) makes one").check_terminal()
        costs.freeze("a terminal model", 0)
        if isinstance(constraints, ConstraintStack):
            constraints.check_terminal()
        taken = ConstraintStack.of(constraints, "a terminal model", costs.state, 0, costs)
        super().__init__(costs.state, 0, constraints=taken)
        self.costs = costs

    @property
    def model_parts(self) -> ModelParts:
        return ModelParts(costs=self.costs)

    def parameters(self) -> dict[str, Parameter]:
        return {**super().parameters(), **self.costs.parameters(0)}

    def values(self, program: Program, point: Point) -> Values:
        self._check_end(point)
        return end_values(self, self.costs, program, point)

    def expansion(
        self, program: Program, point: Point, multipliers: Multipliers | None = None, *, lift: int | None = None
    ) -> Expansion:
        self._check_end(point)
        e = end_expansion(self, self.costs, program, point)
        if multipliers is None:
            return e
        return replace(e, H=add_lagrangian_hessian(self, program, point, multipliers))

    def knot_expressions(self, *, terminal: bool) -> tuple[Instant, dict[str, SX]]:
        i = Instant(self.state, 0)
        rows = {"rows": self.constraints.rows(i)} if self.constraints.constraints else {}
        return i, {"cost": self.costs.value(i), **rows}

    @property
    def end_costs(self) -> CostStack:
        return self.costs

    @property
    def has_lagrangian_hessian(self) -> bool:
        return True

    def _check_end(self, point: Point) -> None:
        if point.u is not None:
            raise InvalidArgumentError("u: a terminal model has no control and no dynamics; call it without u")

    def term_expressions(self, instant: Instant, *, terminal: bool) -> dict[str, SX]:
        return self.costs.values(instant)
