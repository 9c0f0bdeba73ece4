"""Hessian of the Lagrangian of a Runge-Kutta step, computed stage by stage from the last to the first.

It applies to second-order systems on a state whose ⊕ is a sum. The stages are y_i = (q, v) = x + dt Σ_j a_ij κ_j with
κ = (v, a) and a = f(y, u). The Lagrangian is L = λᵀ x⁺ + Σ b dt l(y, u) + ηᵀ c(y, u), with multipliers η of the rows of
a stage. Its gradient p by κ of a stage and m by y are

    p_i = b_i dt λ + dt Σ_l a_li m_l,    m = κ_yᵀ p + b dt l_y + c_yᵀ η

and the Hessian is Σ (Z; D)ᵀ ∇²(pᵀ κ + b dt l + ηᵀ c - μᵀ r) (Z; D) with p and μ constant, Z = ∂(y, u)/∂(x, u) and D =
∂a/∂(x, u). The equation r(y, u, a) = 0 defines a, so each stage needs second derivatives of one number; see
`trajopt.actions.lagrangian`. Because

    Z_i = Z̄_i + Σ_j E_ij D_j,   Z̄ = (1 c dt 0; 0 1 0; 0 0 1),   E_ij = (α_ij; β_ij; 0),   α = dt² A²,   β = dt A,

only products with D remain. With blocks N of that Hessian by (y, u) and M by (q, a), the Hessian is

    Σ Z̄ᵀ N Z̄ + Σ (X + Xᵀ),
    X_i = Σ_j D_jᵀ (E_ijᵀ N Z̄ + ½ E_ijᵀ N E_ij D_j + Σ_{k > j} E_ijᵀ N E_ik D_k + α_ij M D_i) + D_iᵀ (Mᵀ Z̄_q).

α and β depend on i and j alone. Which of them are zero for all stages depends on i - j, how far back stage j is.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.expansion import Stage
from trajopt.actions.integrated.tableau import Tableau
from trajopt.actions.lagrangian import implicit_expansion, second_derivatives, with_transpose
from trajopt.errors import UnsupportedOperationError
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import Bindings, named_call


@dataclass(frozen=True)
class HessianStage:
    """Stage of a Runge-Kutta step, with the results of its expansion.

    Attributes:
        at: The stage itself: state, control, parameters and weight.
        a: Acceleration (nv,).
        D: Derivative of a by x and u of the knot (nv, n).
        c: Time of the stage, from 0 to 1 of the step.
        b: Weight of the stage.
        y: Multipliers of the model's constraint rows at the stage (nc,); None if the stage has no rows.
        delta: Multipliers δ of the bent residuals of the costs at the stage; None counts as zero.
    """

    at: Stage
    a: Array
    D: Array
    c: float
    b: float
    y: Array | None
    delta: Array | None = None


Back = Mapping[int, Mapping[str, Sequence[float]]]
"""α / dt² and β / dt of each stage i, by i - j and name, without those that are zero for all stages."""


def _stages_back(tableau: Tableau) -> Back:
    count, result = len(tableau.b), dict[int, dict[str, list[float]]]()
    A = np.array([[*row, *[0.0] * (count - len(row))] for row in tableau.A])
    for far, (name, power) in itertools.product(range(1, count), (("alpha", A @ A), ("beta", A))):
        values = [0.0] * far + [float(value) for value in power.diagonal(-far)]
        if any(values):
            result.setdefault(far, {})[name] = values
    return result


def add_hessian(
    d: DifferentialActionModelAbstract,
    program: Program,
    dt: SX,
    tableau: Tableau,
    stages: Sequence[HessianStage],
    lam: Array | None,
) -> Array:
    """Adds the steps that compute the Hessian of the Lagrangian (n, n) of a Runge-Kutta step.

    Args:
        d: Continuous-time model with `implicit` dynamics.
        program: Program that gets the steps.
        dt: Symbol of the time step, one of the parameters.
        tableau: Runge-Kutta method.
        stages: The stages; the first is at the knot.
        lam: λ (ndx,); None counts as zero.
    """
    if lam is None:
        (lam,) = program.call(ca.Function("none", [], [1e-300 * SX.ones(d.state.ndx)]))
    back, parts, powers = _stages_back(tableau), dict[int, Mapping[str, Array]](), {"alpha": dt**2, "beta": dt}
    for i, stage in reversed(list(enumerate(stages))):
        later = [(row[i], parts[k]["m"]) for k, row in enumerate(tableau.A) if k > i and row[i]]
        scales = [values[i] * powers[name] for own in back.values() for name, values in own.items()]
        p, scales = _gradient(d, program, lam, later, dt, stage), [stage.c * dt, *scales]
        parts[i] = _blocks(d, program, stage, p, scales, back)
    return _contracted(program, [stage.D for stage in stages], [parts[i] for i in range(len(stages))], back)


def _gradient(
    d: DifferentialActionModelAbstract,
    program: Program,
    lam: Array,
    later: Sequence[tuple[float, Array]],
    dt: SX,
    stage: HessianStage,
) -> Array:
    """Gradient p (ndx,), from a_li and m of the later stages."""
    a, ms = SX.sym("lambda", d.state.ndx), [SX.sym("m", d.state.ndx) for _ in later]
    inputs: Bindings = [
        *((m, array) for m, (_, array) in zip(ms, later)),
        (a, lam),
        (stage.at.parameters.layout, stage.at.parameters.array),
    ]
    p = sum((factor * dt * m for m, (factor, _) in zip(ms, later)), stage.b * dt * a)
    return named_call(program, "p", inputs, {"p": p})["p"]


def _blocks(
    d: DifferentialActionModelAbstract,
    program: Program,
    stage: HessianStage,
    p: Array,
    scales: list[SX],
    back: Back,
) -> Mapping[str, Array]:
    """Gradient "m", and the terms of a stage in the sum above, by the names of `_parts`.

    `scales` holds c dt, then α and β of the earlier stages.
    """
    i, n, nv = d.instant(derivatives=True), d.state.ndx, d.size
    implicit = d.implicit(i)
    assert implicit is not None
    q, w, parameters = SX.sym("p", n), SX.sym("weight"), (stage.at.parameters.layout, stage.at.parameters.array)
    times = SX.sym("times", len(scales))
    each = iter(ca.vertsplit(times))
    time, named = next(each), {far: {name: next(each) for name in own} for far, own in back.items()}
    scaled = named_call(program, "times", [parameters], {"times": ca.densify(ca.vertcat(*scales))})["times"]
    inputs: Bindings = [(i.x, stage.at.x), (i.u, stage.at.u), parameters, (q, p), (w, stage.at.weight)]
    inputs += [(implicit.symbol, stage.a), (times, scaled)]
    delta, held = None, SX(n, 1)
    if stage.delta is not None:
        delta = SX.sym("delta", stage.delta.shape[0])
        inputs.append((delta, stage.delta))
        held = w * d.costs.bent_residuals(i)[1].T @ delta
    curvature, cost = (w * part for part in d.costs.curvature(i, delta))
    if stage.y is not None:
        y = SX.sym("y", stage.y.shape[0])
        rows = ca.dot(y, d.row_values(i))
        cost += rows
        inputs.append((y, stage.y))
        if stage.c:  # m of the knot is not used
            held += second_derivatives(d.state, i, rows)[0][:n]
    _, N = second_derivatives(d.state, i, cost)
    slope, H = implicit_expansion(d.state, i, ca.dot(q[n - nv :], implicit.symbol), implicit)
    s = n + i.nu
    if H[n - nv : s, s:].nnz() or H[s:, s:].nnz():
        raise UnsupportedOperationError(f"{type(d).__name__}: expected dynamics M(q) a + h(q, v) = τ of a robot")
    m = slope[:n] + w * d.costs.quadratic(i).Ly[:n] + ca.vertcat(SX(n - nv, 1), q[:nv]) + held
    results = {"m": m, **_parts(N + curvature + H[:s, :s], H[:nv, s:], nv, time, named)}
    return named_call(program, f"{type(d).__name__}: Hessian of a stage", inputs, results)


def _parts(N: SX, M: SX, nv: int, time: SX, back: Mapping[int, Mapping[str, SX]]) -> dict[str, SX]:
    """Terms of a stage: Z̄ᵀ N Z̄ as "still", and the factors in X, named by how far back the stages are.

    "1 still" is E_ijᵀ N Z̄ for j = i - 1. "2, 1" is E_ijᵀ N E_ik for j = i - 2 and k = i - 1; for j = k it is half of
    it. "2, a" is α M, and "a still" is Mᵀ Z̄_q.
    """
    still = SX(ca.sparsify(ca.DM(np.eye(N.shape[0]))))
    still[:nv, nv : 2 * nv] = time * SX.eye(nv)
    moved = N @ still
    places = {"alpha": slice(0, nv), "beta": slice(nv, 2 * nv)}
    result = {"still": ca.tril2symm(ca.tril(still.T @ moved)), "a still": M.T @ still[:nv, :]}
    for far, own in back.items():
        result[f"{far} still"] = _total(scale * moved[places[name], :] for name, scale in own.items())
        for near in (near for near in back if near <= far):
            result[f"{far}, {near}"] = _total(
                (one * other / (2 if near == far else 1)) * N[places[name], places[other_name]]
                for (name, one), (other_name, other) in itertools.product(own.items(), back[near].items())
            )
        if "alpha" in own:
            result[f"{far}, a"] = own["alpha"] * M
    return result


def _total(parts: Iterable[SX]) -> SX:
    first, *others = parts
    return sum(others, first)


def _contracted(program: Program, Ds: Sequence[Array], stages: Sequence[Mapping[str, Array]], back: Back) -> Array:
    """Hessian (n, n), from D and the terms of all stages."""
    H, left = stages[0]["still"], [parts["a still"] for parts in stages]
    for i, parts in enumerate(stages[1:], 1):
        program.add(H, parts["still"])
        linked = [far for far, own in back.items() if any(values[i] for values in own.values())]
        for far in linked:
            total = left[i - far] = _added(program, left[i - far], parts[f"{far} still"])
            for near in (near for near in reversed(linked) if near <= far):
                program.accumulate(total, parts[f"{far}, {near}"], Ds[i - near])
            if f"{far}, a" in parts:
                program.accumulate(total, parts[f"{far}, a"], Ds[i])
    X = program.matmul(Ds[0], left[0], transpose_a=True)
    for D, V in zip(Ds[1:], left[1:]):
        program.accumulate(X, D, V, transpose_a=True)
    return with_transpose(program, H, X)


def _added(program: Program, a: Array, b: Array) -> Array:
    """Sum a + b, which may overwrite one of them."""
    fuller, other = (a, b) if program.pattern(a).sum() >= program.pattern(b).sum() else (b, a)
    program.add(fuller, other)
    return fuller
