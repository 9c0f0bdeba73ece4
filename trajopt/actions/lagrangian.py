"""Second derivatives of a knot written as expressions: the Hessian of its Lagrangian."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
from casadi import SX

from trajopt.actions.expansion import Multipliers, Point
from trajopt.actions.expression import ActionModelExpression
from trajopt.instant import Instant
from trajopt.kernels.derivatives import jacobian
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.functions import named_call
from trajopt.states.base import StateAbstract


def second_derivatives(state: StateAbstract, i: Instant, scalar: SX) -> tuple[SX, SX]:
    """Gradient (n,) and Hessian (n, n) of l(x, u) in tangent coordinates, at z = (0, u) of l(x ⊕ dx, u)."""
    step = SX.sym("dx", state.ndx)
    z = ca.vertcat(step, i.u)
    moved = ca.substitute(scalar, i.x, state.sx_integrate(i.x, step))
    gradient = jacobian(moved, z).T
    hessian = jacobian(gradient, z)
    zero = SX.zeros(state.ndx)
    return ca.substitute(gradient, step, zero), ca.substitute(hessian, step, zero)


def lagrangian_hessian(
    state: StateAbstract, i: Instant, values: Mapping[str, SX], multipliers: Multipliers
) -> tuple[SX, list[tuple[SX, Array]]]:
    """Hessian (n, n) of l + λᵀ (f ⊖ x⁺) + yᵀ c at x⁺ = f.

    Args:
        state: The state's manifold.
        i: Symbols x and u.
        values: Expressions "cost", and where there are any "xnext" and "rows".
        multipliers: λ and y.

    Returns:
        The Hessian, and what the symbols of multipliers in it stand for.
    """
    total, known = values["cost"], list[tuple[SX, Array]]()
    reached = SX.sym("reached", state.nx)
    if multipliers.dynamics is not None and "xnext" in values:
        symbol = SX.sym("lambda", state.ndx)
        total += ca.dot(symbol, state.sx_difference(reached, values["xnext"]))
        known.append((symbol, multipliers.dynamics))
    if multipliers.rows is not None and "rows" in values:
        symbol = SX.sym("y", values["rows"].numel())
        total += ca.dot(symbol, values["rows"])
        known.append((symbol, multipliers.rows))
    _, hessian = second_derivatives(state, i, total)
    return SX(ca.substitute(hessian, reached, values.get("xnext", reached))), known


def add_lagrangian_hessian(
    model: ActionModelExpression, program: Program, point: Point, multipliers: Multipliers
) -> Array:
    """Adds the step that gives the Hessian of the Lagrangian of a model with `knot_expressions`.

    Args:
        model: The model.
        program: Where the step goes.
        point: Where the knot is.
        multipliers: λ and y.
    """
    instant, values = model.knot_expressions(terminal=point.u is None)
    H, known = lagrangian_hessian(instant.state, instant, values, multipliers)
    inputs = [(instant.x, point.x), *([] if point.u is None else [(instant.u, point.u)])]
    inputs += [(model.layout.symbols, point.parameters), *known]
    return named_call(program, f"{type(model).__name__}: Lagrangian", inputs, {"H": H})["H"]
