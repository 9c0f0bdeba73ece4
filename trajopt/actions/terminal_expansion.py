"""Costs and constraints at the end of a horizon, where a knot has a state only."""

from __future__ import annotations

from trajopt.actions.expansion import Expansion, Point, Values
from trajopt.actions.expression import ActionModelExpression
from trajopt.actions.terms import Terms, name_of
from trajopt.costs.cost_stack import CostStack
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import ParameterArray


def end_values(model: ActionModelExpression, costs: CostStack, program: Program, point: Point) -> Values:
    """Adds the step that computes the cost of a stack and the constraint rows of a model.

    Args:
        model: Model with the constraints and run-time parameters.
        costs: Terminal costs.
        program: Program that gets the step.
        point: End of a horizon.

    Raises:
        InvalidArgumentError: A cost term or a constraint depends on a control.
    """
    return Values.of(_called(model, costs, program, point, derivatives=False))


def end_expansion(model: ActionModelExpression, costs: CostStack, program: Program, point: Point) -> Expansion:
    """Adds the step that computes the derivatives too; arguments as in `end_values`."""
    return Expansion.of(_called(model, costs, program, point, derivatives=True))


def _called(
    model: ActionModelExpression, costs: CostStack, program: Program, point: Point, *, derivatives: bool
) -> dict[str, Array]:
    costs.check_terminal()
    model.constraints.check_terminal()
    name = f"the end of {name_of(costs.state, type(model))}"
    parts = Terms(model, costs, model.constraints, lambda _: Instant(costs.state, 0), name, weighted=False)
    parameters = ParameterArray(point.parameters, model.layout)
    results, rows = parts.call(program, {"x": point.x}, parameters, derivatives=derivatives)
    return results | rows
