"""Terminal model that consists of a cost stack and constraints."""

from __future__ import annotations

from typing import NoReturn

from casadi import SX

from trajopt.actions.costed import ActionModelCostedAbstract
from trajopt.actions.expansion import Point
from trajopt.actions.parts import ModelParts
from trajopt.checks import check_instance
from trajopt.constraints.constraint_stack import ConstraintStack
from trajopt.costs.cost_stack import CostStack
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parameters import Parameter


class ActionModelTerminal(ActionModelCostedAbstract):
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

    def running_values(self, program: Program, point: Point, u: Array) -> NoReturn:
        raise InvalidArgumentError("u: a terminal model has no control and no dynamics; call it without u")

    def running_expansion(self, program: Program, point: Point, u: Array, lift: int | None) -> NoReturn:
        self.running_values(program, point, u)

    @property
    def end_costs(self) -> CostStack:
        return self.costs

    @property
    def has_lagrangian_hessian(self) -> bool:
        return True

    def term_expressions(self, instant: Instant, *, terminal: bool) -> dict[str, SX]:
        return self.costs.values(instant)
