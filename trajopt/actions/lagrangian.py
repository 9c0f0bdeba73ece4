"""Second derivatives of a knot written as expressions: the Hessian of its Lagrangian.

Where r(x, u, a) = 0 defines the dynamics a(x, u), the second derivatives of a are never formed. With the Lagrangian
Φ(x, u, a), μ = (∂r/∂a)⁻ᵀ Φ_a and A = da/d(x, u), the Hessian of Φ(x, u, a(x, u)) is

    (1; A)ᵀ ∇²(Φ - μᵀ r) (1; A)      with μ held constant,

For forward dynamics this needs only the second derivatives of one number, μᵀ RNEA(q, v, a). Source: Nganga and
Wensing, "Accelerating second-order differential dynamic programming for rigid-body systems", RA-L 2021, sec. III.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca
from casadi import SX

from trajopt.actions.expansion import Implicit, Multipliers, Point
from trajopt.actions.expression import ActionModelExpression
from trajopt.instant import Instant
from trajopt.kernels.derivatives import jacobian, length
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import Bindings, computed, named_call
from trajopt.states.base import StateAbstract


def second_derivatives(state: StateAbstract, i: Instant, scalar: SX) -> tuple[SX, SX]:
    """Gradient (n,) and Hessian (n, n) of l(x, u) in tangent coordinates, at z = (0, u) of l(x ⊕ dx, u)."""
    step = SX.sym("dx", state.ndx)
    z = ca.vertcat(step, i.u)
    moved = ca.substitute(scalar, i.x, state.sx_integrate(i.x, step))
    gradient = jacobian(moved, z).T
    hessian = symmetric(jacobian(gradient, z))
    zero = SX.zeros(state.ndx)
    return ca.substitute(gradient, step, zero), ca.substitute(hessian, step, zero)


def symmetric(hessian: SX) -> SX:
    """Returns the symmetric matrix of a Hessian, from the triangle that takes fewer instructions.

    For the reach of talos_arm these are 25,351 instead of 33,492 for the full matrix; the other triangle takes 30,834.
    """
    sides = [SX(ca.tril2symm(ca.tril(hessian))), SX(ca.triu2symm(ca.triu(hessian)))]
    return min(sides, key=length)


def implicit_expansion(state: StateAbstract, i: Instant, scalar: SX, implicit: Implicit) -> tuple[SX, SX]:
    """Gradient and Hessian of Φ - μᵀ r by (x, u, a) in tangent coordinates, with μ held constant.

    The gradient by (x, u) is that of Φ(x, u, a(x, u)).

    Args:
        state: The state's manifold.
        i: Symbols x and u.
        scalar: Φ as an expression of x, u and a.
        implicit: Definition of a; its symbol remains in the results.
    """
    step, a, mu = SX.sym("dx", state.ndx), implicit.symbol, SX.sym("mu", implicit.symbol.numel())
    z = ca.vertcat(step, i.u, a)
    moved = ca.substitute(scalar - ca.dot(mu, implicit.residual), i.x, state.sx_integrate(i.x, step))
    gradient = jacobian(moved, z).T
    hessian = symmetric(jacobian(gradient, z))
    symbols, adjoint = ca.vertcat(step, mu), implicit.adjoint(jacobian(scalar, a).T)
    values = ca.vertcat(SX.zeros(state.ndx), adjoint)
    return SX(ca.substitute(gradient, symbols, values)), SX(ca.sparsify(ca.substitute(hessian, symbols, values)))


def implicit_second_derivatives(state: StateAbstract, i: Instant, scalar: SX, implicit: Implicit, derivative: SX) -> SX:
    """Hessian (n, n) of Φ(x, u, a(x, u)) from A = da/d(x, u) (na, n); other arguments as in `implicit_expansion`."""
    s = state.ndx + i.nu
    _, hessian = implicit_expansion(state, i, scalar, implicit)
    mixed = hessian[:s, s:] @ derivative
    curved = derivative.T @ (hessian[s:, s:] @ derivative)
    return SX(hessian[:s, :s] + mixed + mixed.T + curved)


def with_transpose(program: Program, H: Array, A: Array) -> Array:
    """Adds the call that computes H + A + Aᵀ, of which the lower triangle is computed and copied."""
    return computed(program, "with_transpose", lambda H, A: ca.tril2symm(ca.tril(H + A + A.T)), H, A)


def lagrangian(
    state: StateAbstract, values: Mapping[str, SX], multipliers: Multipliers
) -> tuple[SX, SX, list[tuple[SX, Array]]]:
    """Returns l + λᵀ (f ⊖ x⁺) + yᵀ c, the symbol of x⁺ in it, and the array of each multiplier's symbol.

    Args:
        state: The state's manifold.
        values: Expressions "cost" and, if there are any, "xnext" and "rows".
        multipliers: λ and y.
    """
    total, bindings = values["cost"], list[tuple[SX, Array]]()
    reached = SX.sym("reached", state.nx)
    if multipliers.dynamics is not None and "xnext" in values:
        symbol = SX.sym("lambda", state.ndx)
        total += ca.dot(symbol, state.sx_difference(reached, values["xnext"]))
        bindings.append((symbol, multipliers.dynamics))
    if multipliers.rows is not None and "rows" in values:
        symbol = SX.sym("y", values["rows"].numel())
        total += ca.dot(symbol, values["rows"])
        bindings.append((symbol, multipliers.rows))
    return total, reached, bindings


def lagrangian_hessian(
    state: StateAbstract,
    i: Instant,
    values: Mapping[str, SX],
    multipliers: Multipliers,
    implicit: tuple[Implicit, SX] | None = None,
) -> tuple[SX, list[tuple[SX, Array]]]:
    """Hessian (n, n) of l + λᵀ (f ⊖ x⁺) + yᵀ c at x⁺ = f.

    Args:
        state: The state's manifold.
        i: Symbols x and u.
        values: Expressions "cost" and, if there are any, "xnext" and "rows"; "curvature" (n, n) is a part of the
            Hessian in closed form.
        multipliers: λ and y.
        implicit: Implicit quantity on which "xnext" depends besides x and u, with its derivative; None if there is
            none.

    Returns:
        The Hessian, and the array of each multiplier's symbol in it.
    """
    total, reached, bindings = lagrangian(state, values, multipliers)
    xnext = values.get("xnext", reached)
    if implicit is None:
        _, hessian = second_derivatives(state, i, total)
    else:
        hessian = implicit_second_derivatives(state, i, total, *implicit)
    hessian += values.get("curvature", SX(*hessian.shape))
    return SX(ca.substitute(hessian, reached, xnext)), bindings


def add_lagrangian_hessian(
    model: ActionModelExpression, program: Program, point: Point, multipliers: Multipliers, kept: Sequence[Array] = ()
) -> Array:
    """Adds the step that computes the Hessian of the Lagrangian of a model with `lagrangian_expressions`.

    Args:
        model: The model.
        program: Program that gets the step.
        point: Point at which the knot is evaluated.
        multipliers: λ, y and δ.
        kept: The implicit quantity and its derivative, if there is one.
    """
    deltas, terminal = list[tuple[SX, Array]](), point.u is None
    if multipliers.residuals is not None:
        deltas.append((SX.sym("delta", multipliers.residuals.shape[0]), multipliers.residuals))
    delta = deltas[0][0] if deltas else None
    instant, values, implicit = model.lagrangian_expressions(terminal=terminal, delta=None if terminal else delta)
    if terminal and model.end_costs is not None:
        curvature, rest = model.end_costs.curvature(instant, delta)
        values |= {"cost": rest, "curvature": curvature}
    inputs: Bindings = [(instant.x, point.x), *([] if point.u is None else [(instant.u, point.u)])]
    with_derivative = None
    if implicit is not None:
        value, derivative = kept
        with_derivative = implicit, SX.sym("A", *derivative.shape)
        inputs += [(implicit.symbol, value), (with_derivative[1], derivative)]
    H, bindings = lagrangian_hessian(instant.state, instant, values, multipliers, with_derivative)
    inputs += [(model.layout, point.parameters), *bindings, *deltas]
    return named_call(program, f"{type(model).__name__}: Lagrangian", inputs, {"H": H})["H"]
