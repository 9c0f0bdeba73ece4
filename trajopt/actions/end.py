"""The end of a horizon: a cost stack at a state, without a control."""

from __future__ import annotations

from casadi import SX

from trajopt.actions.expansion import Expansion, Point, Values
from trajopt.actions.expression import ActionModelExpression
from trajopt.costs.cost_stack import CostStack
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.functions import named_call


def end_values(model: ActionModelExpression, costs: CostStack, program: Program, point: Point) -> Values:
    """Adds the step that gives a stack's cost.

    Args:
        model: Whose run-time parameters the point has.
        costs: Its costs.
        program: Where the step goes.
        point: The end of a horizon.

    Raises:
        InvalidArgumentError: A term needs a control.
    """
    costs.check_terminal()
    instant = Instant(costs.state, 0)
    return Values.of(_call(model, program, point, instant, {"cost": costs.value(instant)}))


def end_expansion(model: ActionModelExpression, costs: CostStack, program: Program, point: Point) -> Expansion:
    """Adds the step that gives a stack's cost and its derivatives; arguments as in `end_values`."""
    costs.check_terminal()
    instant = Instant(costs.state, 0)
    q = costs.quadratic(instant)
    return Expansion.of(_call(model, program, point, instant, {"cost": q.cost, "g": q.Ly, "H": q.Lyy}))


def _call(
    model: ActionModelExpression, program: Program, point: Point, instant: Instant, results: dict[str, SX]
) -> dict[str, Array]:
    inputs = [(instant.x, point.x), (model.layout.symbols, point.parameters)]
    return named_call(program, "terminal", inputs, results)
