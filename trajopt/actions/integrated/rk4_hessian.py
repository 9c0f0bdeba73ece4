"""Hessian of the Lagrangian of a Runge-Kutta step, stage by stage from the last to the first.

With stages y = x + c dt κ of the stage before, κ = (v, f(y, u)) or f(y, u), and L = λᵀ x⁺ + Σ b dt l(y, u), the
gradient p of L along κ of a stage and m along its y are

    p = b dt λ + c⁺ dt m⁺,    m = κ_yᵀ p + b dt l_y        (⁺: the next stage; none after the last)

and the Hessian is Σ Zᵀ ∇²(pᵀ κ + b dt l) Z with p constant and Z = ∂(y, u)/∂(x, u): for forward dynamics that is one
implicit second derivative of a number a stage, see `trajopt.actions.lagrangian`. For states whose ⊕ is a sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca
from casadi import SX

from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.expansion import Multipliers
from trajopt.actions.lagrangian import implicit_second_derivatives, second_derivatives
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.functions import named_call


@dataclass(frozen=True)
class HessianStage:
    """A stage as its derivatives leave it.

    Attributes:
        y: State (nx,).
        Z: ∂(y, u)/∂(x, u) (n, n).
        f: Dynamics (nf,).
        Df: Derivative of f (nf, n).
        g: Gradient of its weighted cost (n,).
        weight: What that is weighted by, b dt (1,).
        c: Time of the stage, from 0 to 1 of the step.
        b: Weight of the stage.
    """

    y: Array
    Z: Array
    f: Array
    Df: Array
    g: Array
    weight: Array
    c: float
    b: float


def add_hessian(
    d: DifferentialActionModelAbstract,
    program: Program,
    u: Array,
    parameters: tuple[SX, Array, SX],
    stages: Sequence[HessianStage],
    multipliers: Multipliers,
) -> Array:
    """Adds the steps that give it (n, n).

    Args:
        d: The continuous-time model, with `implicit` dynamics.
        program: Where they go.
        u: Control (nu,).
        parameters: Symbols of the parameters, their array, and the symbol of dt among them.
        stages: Stages, the first at the knot.
        multipliers: λ and y.
    """
    symbols, values, dt = parameters
    lam = multipliers.dynamics
    if lam is None:
        (lam,) = program.call(ca.Function("none", [], [1e-300 * SX.ones(d.state.ndx)]))
    following: Array | None = None
    after, others = 0.0, list[tuple[Array, Array]]()
    for stage in reversed(stages):
        p = _gradient(d, program, lam, following, (symbols, values, dt), stage.b, after)
        first = stage is stages[0]
        H = _stage_hessian(d, program, stage, u, p, (symbols, values), multipliers.rows if first else None)
        if not first:
            others.append((stage.Z, program.matmul(H, stage.Z)))
            following, after = _by_state(d, program, stage, p), stage.c
    for Z, HZ in others:
        program.accumulate(H, Z, HZ, transpose_a=True, symmetric=True)
    return H


def _gradient(
    d: DifferentialActionModelAbstract,
    program: Program,
    lam: Array,
    following: Array | None,
    parameters: tuple[SX, Array, SX],
    b: float,
    c: float,
) -> Array:
    """p = b dt λ + c⁺ dt m⁺ (ndx,)."""
    symbols, values, dt = parameters
    a, m = SX.sym("lambda", d.state.ndx), SX.sym("m", d.state.ndx)
    if following is None:
        return program.call(ca.Function("p", [a, symbols], [b * dt * a]), lam, values)[0]
    function = ca.Function("p", [a, m, symbols], [b * dt * a + c * dt * m])
    return program.call(function, lam, following, values)[0]


def _by_state(d: DifferentialActionModelAbstract, program: Program, stage: HessianStage, p: Array) -> Array:
    """m = κ_yᵀ p + b dt l_y (ndx,)."""
    n, nf = d.state.ndx, d.size
    q, D, g = SX.sym("p", n), SX.sym("D", *stage.Df.shape), SX.sym("g", stage.g.shape[0])
    m = D[:, :n].T @ q[n - nf :] + g[:n]
    if d.second_order:
        m += ca.vertcat(SX(n - nf, 1), q[: n - nf])
    return program.call(ca.Function("m", [q, D, g], [m]), p, stage.Df, stage.g)[0]


def _stage_hessian(
    d: DifferentialActionModelAbstract,
    program: Program,
    stage: HessianStage,
    u: Array,
    p: Array,
    parameters: tuple[SX, Array],
    rows: Array | None,
) -> Array:
    """∇²(pᵀ κ + b dt l + yᵀ c) by (y, u), (n, n)."""
    i, n = d.instant(derivatives=True), d.state.ndx
    known = d.implicit(i)
    assert known is not None
    f, D = SX.sym("f", stage.f.shape[0]), SX.sym("D", *stage.Df.shape)
    implicit = replace(known, value=f, derivative=D)
    q, w = SX.sym("p", n), SX.sym("weight")
    dynamics = ca.dot(q[n - d.size :], implicit.symbol)
    cost = w * sum(d.term_values(i).values(), SX(0))
    inputs = [(i.x, stage.y), (i.u, u), parameters, (q, p), (w, stage.weight), (f, stage.f), (D, stage.Df)]
    if rows is not None:
        y = SX.sym("y", rows.shape[0])
        cost += ca.dot(y, d.row_values(i))
        inputs.append((y, rows))
    _, H = second_derivatives(d.state, i, cost)
    H += implicit_second_derivatives(d.state, i, dynamics, implicit)
    return named_call(program, f"{type(d).__name__}: Hessian of a stage", inputs, {"H": H})["H"]
