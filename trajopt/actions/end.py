"""The end of a horizon: costs and constraints at a state, without a control."""

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
    """Adds the step that gives a stack's cost and the model's constraint rows.

    Args:
        model: Whose constraints, and run-time parameters, they are.
        costs: Its costs.
        program: Where the step goes.
        point: The end of a horizon.

    Raises:
        InvalidArgumentError: A term, or a constraint, needs a control.
    """
    instant = _instant(model, costs)
    results = {"cost": costs.value(instant)}
    if model.constraints.constraints:
        results["rows"] = model.constraints.rows(instant)
    return Values.of(_call(model, program, point, instant, results))


def end_expansion(model: ActionModelExpression, costs: CostStack, program: Program, point: Point) -> Expansion:
    """Adds the step that gives their derivatives too; arguments as in `end_values`."""
    instant = _instant(model, costs)
    q = costs.quadratic(instant)
    results = {"cost": q.cost, "g": q.Ly, "H": q.Lyy}
    if model.constraints.constraints:
        results |= {"rows": model.constraints.rows(instant), "C": model.constraints.derivative(instant)}
    return Expansion.of(_call(model, program, point, instant, results))


def _instant(model: ActionModelExpression, costs: CostStack) -> Instant:
    costs.check_terminal()
    model.constraints.check_terminal()
    return Instant(costs.state, 0)


def _call(
    model: ActionModelExpression, program: Program, point: Point, instant: Instant, results: dict[str, SX]
) -> dict[str, Array]:
    inputs = [(instant.x, point.x), (model.layout.symbols, point.parameters)]
    return named_call(program, "terminal", inputs, results)
