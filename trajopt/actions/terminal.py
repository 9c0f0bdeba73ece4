"""The end of a horizon that is a cost stack alone."""

from __future__ import annotations

from casadi import SX

from trajopt.actions.expression import ActionModelExpression, steps_of
from trajopt.costs.cost_stack import CostStack
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parameters import Parameter, ParameterLayout


class ActionModelTerminal(ActionModelExpression):
    """A cost stack as the terminal model of a problem: no dynamics, no control, no time step.

    Args:
        costs: The terminal costs; frozen from here on.

    Raises:
        InvalidArgumentError: A term needs a control.
    """

    def __init__(self, costs: CostStack) -> None:
        super().__init__(costs.state, 0)
        costs.check_terminal()
        costs.freeze("a terminal model", 0)
        self.costs = costs

    def parameters(self) -> dict[str, Parameter]:
        return self.costs.parameters(0)

    def calc_steps(self, program: Program, x: Array, u: Array, parameters: Array) -> tuple[Array, Array]:
        raise InvalidArgumentError("a terminal cost stack has no dynamics: call it without u")

    def calc_diff_steps(self, program: Program, x: Array, u: Array, parameters: Array) -> tuple[Array, ...]:
        raise InvalidArgumentError("a terminal cost stack has no dynamics: call it without u")

    def terminal_steps(self, program: Program, x: Array, parameters: Array) -> tuple[Array, Array, Array]:
        return terminal_stack_steps(self.costs, self.layout, program, x, parameters)

    def terminal_value_step(self, program: Program, x: Array, parameters: Array) -> Array:
        return terminal_stack_value(self.costs, self.layout, program, x, parameters)

    def term_expressions(self, instant: Instant, *, terminal: bool) -> dict[str, SX]:
        return self.costs.values(instant)


def terminal_stack_steps(
    costs: CostStack, layout: ParameterLayout, program: Program, x: Array, parameters: Array
) -> tuple[Array, Array, Array]:
    """Adds the step that gives a stack's cost without a control, (1,), its gradient (ndx,) and Hessian (ndx, ndx)."""
    costs.check_terminal()
    instant = Instant(costs.state, 0)
    q, symbols = costs.quadratic(instant), [instant.x, layout.symbols]
    cost, gradient, hessian = steps_of(program, "terminal", symbols, [q.cost, q.Ly, q.Lyy], [x, parameters])
    return cost, gradient, hessian


def terminal_stack_value(
    costs: CostStack, layout: ParameterLayout, program: Program, x: Array, parameters: Array
) -> Array:
    """Adds the step that gives a stack's cost without a control, (1,)."""
    costs.check_terminal()
    instant = Instant(costs.state, 0)
    symbols = [instant.x, layout.symbols]
    return steps_of(program, "terminal", symbols, [costs.value(instant)], [x, parameters])[0]
