"""Hessian of the Lagrangian of a Runge-Kutta step, stage by stage from the last to the first.

Of a second-order system on a state whose ⊕ is a sum. With stages y = (q, v) = x + c dt κ of the stage before,
κ = (v, a), a = f(y, u), and L = λᵀ x⁺ + Σ b dt l(y, u), the gradient p of L along κ of a stage and m along its y are

    p = b dt λ + c⁺ dt m⁺,    m = κ_yᵀ p + b dt l_y        (⁺: the next stage; none after the last)

and the Hessian is Σ (Z; D)ᵀ ∇²(pᵀ κ + b dt l - μᵀ r) (Z; D) with p and μ constant, Z = ∂(y, u)/∂(x, u),
D = ∂a/∂(x, u), and r(y, u, a) = 0 what defines a: second derivatives of one number a stage, see
`trajopt.actions.lagrangian`. As

    Z = Z̄ + (α D⁻⁻; β D⁻; 0),   Z̄ = (1 c dt 0; 0 1 0; 0 0 1),   α = c c⁻ dt²,   β = c dt        (⁻: the stage before),

only products with D remain: with blocks N of that Hessian by (y, u) and M by (q, a), those of the first column of

    Σ Z̄ᵀ N Z̄ + Σ (X + Xᵀ),   X = D⁻⁻ᵀ (α N_q Z̄ + α²/2 N_qq D⁻⁻ + α β N_qv D⁻ + α M D) + D⁻ᵀ (β N_v Z̄ + β²/2 N_vv D⁻)
                                  + Dᵀ (Mᵀ Z̄_q).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.expansion import Multipliers, Stage
from trajopt.actions.lagrangian import implicit_expansion, second_derivatives, with_transpose
from trajopt.errors import UnsupportedOperationError
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import Given, named_call


@dataclass(frozen=True)
class HessianStage:
    """A stage with what its expansion has found.

    Attributes:
        at: Where it is.
        a: Acceleration (nv,).
        D: Its derivative by the x and u of the knot (nv, n).
        c: Time of the stage, from 0 to 1 of the step.
        b: Weight of the stage.
    """

    at: Stage
    a: Array
    D: Array
    c: float
    b: float


def add_hessian(
    d: DifferentialActionModelAbstract,
    program: Program,
    dt: SX,
    stages: Sequence[HessianStage],
    multipliers: Multipliers,
) -> Array:
    """Adds the steps that give it (n, n).

    Args:
        d: The continuous-time model, with `implicit` dynamics.
        program: Where they go.
        dt: Symbol of the time step, one of the parameters.
        stages: Stages, the first at the knot.
        multipliers: λ and y.
    """
    lam = multipliers.dynamics
    if lam is None:
        (lam,) = program.call(ca.Function("none", [], [1e-300 * SX.ones(d.state.ndx)]))
    following: Array | None = None
    after, found = 0.0, list[Mapping[str, Array]]()
    for number, stage in reversed(list(enumerate(stages))):
        p = _gradient(d, program, lam, following, dt, stage, after)
        before = stages[number - 1].c if number else 0.0
        found.insert(0, _blocks(d, program, stage, p, dt, before, None if number else multipliers.rows))
        following, after = found[0]["m"], stage.c
    return _contracted(program, [stage.D for stage in stages], found)


def _gradient(
    d: DifferentialActionModelAbstract,
    program: Program,
    lam: Array,
    following: Array | None,
    dt: SX,
    stage: HessianStage,
    c: float,
) -> Array:
    """p = b dt λ + c⁺ dt m⁺ (ndx,)."""
    a, m = SX.sym("lambda", d.state.ndx), SX.sym("m", d.state.ndx)
    inputs: Given = [
        (a, lam),
        (stage.at.parameters.layout, stage.at.parameters.array),
    ]
    if following is None:
        return named_call(program, "p", inputs, {"p": stage.b * dt * a})["p"]
    return named_call(program, "p", [(m, following), *inputs], {"p": stage.b * dt * a + c * dt * m})["p"]


def _blocks(
    d: DifferentialActionModelAbstract,
    program: Program,
    stage: HessianStage,
    p: Array,
    dt: SX,
    before: float,
    rows: Array | None,
) -> Mapping[str, Array]:
    """The gradient "m", and what a stage has of the sum above, by the names of `_parts`; `before` is c⁻."""
    i, n, nv = d.instant(derivatives=True), d.state.ndx, d.size
    implicit = d.implicit(i)
    assert implicit is not None
    q, w, given = SX.sym("p", n), SX.sym("weight"), (stage.at.parameters.layout, stage.at.parameters.array)
    times = SX.sym("times", 3)
    scales = ca.densify(ca.vertcat(stage.c * dt, stage.c * before * dt**2, stage.c * dt))
    scaled = named_call(program, "times", [given], {"times": scales})["times"]
    inputs: Given = [(i.x, stage.at.x), (i.u, stage.at.u), given, (q, p), (w, stage.at.weight)]
    inputs += [(implicit.symbol, stage.a), (times, scaled)]
    curvature, cost = (w * part for part in d.costs.curvature(i))
    if rows is not None:
        y = SX.sym("y", rows.shape[0])
        cost += ca.dot(y, d.row_values(i))
        inputs.append((y, rows))
    _, N = second_derivatives(d.state, i, cost)
    slope, H = implicit_expansion(d.state, i, ca.dot(q[n - nv :], implicit.symbol), implicit)
    s = n + i.nu
    if H[n - nv : s, s:].nnz() or H[s:, s:].nnz():
        raise UnsupportedOperationError(f"{type(d).__name__}: expected dynamics M(q) a + h(q, v) = τ of a robot")
    m = slope[:n] + w * d.costs.quadratic(i).Ly[:n] + ca.vertcat(SX(n - nv, 1), q[:nv])
    results = {"m": m, **_parts(N + curvature + H[:s, :s], H[:nv, s:], nv, times)}
    return named_call(program, f"{type(d).__name__}: Hessian of a stage", inputs, results)


def _parts(N: SX, M: SX, nv: int, times: SX) -> dict[str, SX]:
    """Z̄ᵀ N Z̄ as "still", and parts of X by what they are multiplied with, see above."""
    tau, alpha, beta = (times[k] for k in range(3))
    still = SX(ca.sparsify(ca.DM(np.eye(N.shape[0]))))
    still[:nv, nv : 2 * nv] = tau * SX.eye(nv)
    moved = N @ still
    half = ca.tril2symm(ca.tril(still.T @ moved))
    q, v = slice(0, nv), slice(nv, 2 * nv)
    return {
        "still": half,
        "q still": alpha * moved[q, :],
        "v still": beta * moved[v, :],
        "qq": alpha**2 / 2 * N[q, q],
        "qv": alpha * beta * N[q, v],
        "vv": beta**2 / 2 * N[v, v],
        "a still": M.T @ still[q, :],
        "qa": alpha * M,
    }


def _contracted(program: Program, Ds: Sequence[Array], found: Sequence[Mapping[str, Array]]) -> Array:
    """The Hessian (n, n), of D and the parts of all stages."""
    H, left = found[0]["still"], [parts["a still"] for parts in found]
    for number, parts in enumerate(found[1:], 1):
        program.add(H, parts["still"])
        one = left[number - 1] = _added(program, left[number - 1], parts["v still"])
        program.accumulate(one, parts["vv"], Ds[number - 1])
        if number > 1:
            two = left[number - 2] = _added(program, left[number - 2], parts["q still"])
            for block, of in (("qq", number - 2), ("qv", number - 1), ("qa", number)):
                program.accumulate(two, parts[block], Ds[of])
    X = program.matmul(Ds[0], left[0], transpose_a=True)
    for D, V in zip(Ds[1:], left[1:]):
        program.accumulate(X, D, V, transpose_a=True)
    return program.call(with_transpose(*H.shape), H, X)[0]


def _added(program: Program, a: Array, b: Array) -> Array:
    """a + b, in place of one of them."""
    fuller, other = (a, b) if program.pattern(a).sum() >= program.pattern(b).sum() else (b, a)
    program.add(fuller, other)
    return fuller
