"""Hessian of the Lagrangian of a Runge-Kutta step, computed stage by stage from the last to the first.

The stages are y_i = x ⊕ s_i with s_i = dt Σ_j a_ij κ_j, the end is x⁺ = x ⊕ s with s = dt Σ b_i κ_i. The rate k(y, u) of
a stage is seen from x as κ = J⁻¹ k, with J = ∂(x ⊕ s)/∂s; J is 1 on vectors, and without transport. The Lagrangian is
L = λᵀ (x⁺' ⊖ x⁺) + Σ b dt l(y, u) + ηᵀ c(y, u), with multipliers η of the rows of a stage. Its gradients by κ of a
stage, by k, by y and by s are

    p_i = dt (b_i m + Σ_l a_li m_l),    q = J⁻ᵀ p,    g = k_yᵀ q + b dt l_y + c_yᵀ η,    m_i = Jᵀ g + (∂κ/∂s)ᵀ p,

with m = Jᵀ λ at the end. Each stage adds to the Hessian

    Zᵀ N Z + Vᵀ Γ V + X + Xᵀ,    X = k_zᵀ Q V,

where Z = ∂(y, u)/∂(x, u), V = ∂(x, s)/∂(x, u), k_z the derivative of the rate by (x, u), N the Hessian of
qᵀ k + b dt l + ηᵀ c by (y, u) with q constant, Γ that of gᵀ y(x, s) + pᵀ J⁻¹ k by (x, s) with g, p and k constant, and
Q = ∂q/∂(x, s). Γ and Q are zero on vectors, see `trajopt.actions.integrated.curvature`. Where r(y, u, a) = 0 defines the
acceleration a, N is that of the same sum minus μᵀ r, with mixed derivatives M by (y, u) and a, and X has Zᵀ M D besides,
with D = ∂a/∂(x, u); see `trajopt.actions.lagrangian`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.expansion import Stage
from trajopt.actions.integrated import curvature
from trajopt.actions.integrated.runge_kutta import RungeKutta
from trajopt.actions.lagrangian import implicit_expansion, second_derivatives, with_transpose
from trajopt.errors import UnsupportedOperationError
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import Bindings, call_formula, named_call


@dataclass(frozen=True, kw_only=True)
class HessianStage:
    """Stage of a Runge-Kutta step, with the results of its expansion.

    Attributes:
        at: The stage itself: state, control, parameters and weight.
        f: Result of the model (size,), the acceleration or the rate.
        D: Derivative of f by x and u of the knot (size, n).
        Z: Derivative of the stage's (y, u) by those of the knot.
        rate: κ and its derivative.
        move: s and its derivative; none at the knot, and where ⊕ is a sum.
        y: Multipliers of the model's constraint rows at the stage (nc,); None if the stage has no rows.
        delta: Multipliers δ of the bent residuals of the costs at the stage; None counts as zero.
    """

    at: Stage
    f: Array
    D: Array
    Z: Array
    rate: tuple[Array, Array]
    move: tuple[Array, Array] | tuple[()]
    y: Array | None
    delta: Array | None = None


def add_hessian(
    d: DifferentialActionModelAbstract,
    program: Program,
    method: RungeKutta,
    start: tuple[Array, Array],
    stages: Sequence[HessianStage],
    lam: Array | None,
) -> Array:
    """Adds the steps that compute the Hessian of the Lagrangian (n, n) of a Runge-Kutta step.

    Args:
        d: Continuous-time model with `implicit` or short dynamics.
        program: Program that gets the steps.
        method: The Runge-Kutta method.
        start: State of the knot (nx,) and time step (1,) [s].
        stages: The stages; the first is at the knot.
        lam: λ (ndx,); None counts as zero.
    """
    if lam is None:
        (lam,) = program.call(ca.Function("none", [], [1e-300 * SX.ones(d.state.ndx)]))
    x, dt, A, b = *start, method.tableau.A, method.tableau.b
    total, ms = _Total(program), dict[int, Array]()
    end = _move_of_end(method, program, dt, stages)
    m = lam if end is None else _add_bend(total, method, x, end, lam)
    for i, stage in reversed(list(enumerate(stages))):
        later = [(row[i], ms[j]) for j, row in enumerate(A) if j > i and row[i]]
        p = _sum(program, dt, [*((weight, m) for weight in b[i : i + 1] if weight), *later])
        q = _pulled(method, program, x, stage.move[0], p) if method.curved and stage.move else p
        own = _derivatives(d, program, stage, q)
        total.add(stage.Z, own["N"], stage.Z, symmetric=True)
        if "M" in own:
            total.add(stage.Z, own["M"], stage.D)
        ms[i] = _add_bend(total, method, x, stage.move, own["g"], (p, stage)) if stage.move else own["g"]
    return total.result


class _Total:
    """Sum of the terms Aᵀ B C of a Hessian."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._symmetric = self._mixed = None

    def add(self, A: Array, B: Array, C: Array, *, symmetric: bool = False) -> None:
        """Adds Aᵀ B C if it is symmetric, otherwise Aᵀ B C + Cᵀ Bᵀ A."""
        name, right = "_symmetric" if symmetric else "_mixed", self.program.matmul(B, C)
        if (before := getattr(self, name)) is None:
            setattr(self, name, self.program.matmul(A, right, transpose_a=True))
        else:
            self.program.accumulate(before, A, right, transpose_a=True, symmetric=symmetric)

    @property
    def result(self) -> Array:
        """The sum (n, n)."""
        mixed = self._mixed
        return self._symmetric if mixed is None else with_transpose(self.program, self._symmetric, mixed)


def _sum(program: Program, dt: Array, terms: Sequence[tuple[float, Array]]) -> Array:
    """dt Σ a m, from pairs (a, m)."""
    factors, arrays = zip(*terms)

    def total(dt: SX, *each: SX) -> list[SX]:
        return [dt * sum((a * m for a, m in zip(factors, each)), SX(0))]

    return call_formula(program, "sum", total, dt, *arrays)[0]


def _pulled(method: RungeKutta, program: Program, x: Array, s: Array, p: Array) -> Array:
    """q = J⁻ᵀ p (ndx,)."""
    return call_formula(program, "q", lambda x, s, p: [method.state.sx_jintegrate_inverse(x, s).T @ p], x, s, p)[0]


def _derivatives(
    d: DifferentialActionModelAbstract, program: Program, stage: HessianStage, q: Array
) -> Mapping[str, Array]:
    """Gradient "g" by y, the matrix "N" and, of implicit dynamics, "M"."""
    i, n, s, held = d.instant(derivatives=True), d.state.ndx, d.state.ndx + d.nu, SX(d.state.ndx, 1)
    symbol, w = SX.sym("q", n), SX.sym("weight")
    inputs: Bindings = [(i.x, stage.at.x), (i.u, stage.at.u), (symbol, q), (w, stage.at.weight)]
    inputs += [(stage.at.parameters.layout, stage.at.parameters.array)]
    delta = None
    if stage.delta is not None:
        delta = SX.sym("delta", stage.delta.shape[0])
        inputs.append((delta, stage.delta))
        held += w * d.costs.bent_residuals(i)[1].T @ delta
    curvature, rest = (w * part for part in d.costs.curvature(i, delta))
    if stage.y is not None:
        y = SX.sym("y", stage.y.shape[0])
        rows = ca.dot(y, d.row_values(i))
        rest += rows
        inputs.append((y, stage.y))
        held += second_derivatives(d.state, i, rows)[0][:n]
    if d.second_order:
        held[n - d.size :] += symbol[: d.size]
    slope, H = _of_dynamics(d, i, symbol[n - d.size :], inputs, stage.f)
    N = second_derivatives(d.state, i, rest)[1] + curvature + H[:s, :s]
    results = {"g": slope[:n] + w * d.costs.quadratic(i).Ly[:n] + held, "N": ca.tril2symm(ca.tril(N))}
    results |= {"M": H[:s, s:]} if H.shape[0] > s else {}
    return named_call(program, f"{type(d).__name__}: Hessian of a stage", inputs, results)


def _of_dynamics(
    d: DifferentialActionModelAbstract, i: Instant, q: SX, inputs: Bindings, f: Array
) -> tuple[SX, SX]:
    """Gradient and Hessian of qᵀ f(y, u) by (y, u), or by (y, u, a) of implicit dynamics, whose a joins the inputs."""
    implicit = None if d.exact_hessian else d.implicit(i)
    if implicit is None:
        return second_derivatives(d.state, i, ca.dot(q, d.dynamics(i)))
    inputs.append((implicit.symbol, f))
    slope, H = implicit_expansion(d.state, i, ca.dot(q, implicit.symbol), implicit)
    s = d.state.ndx + i.nu
    if H[s:, s:].nnz():
        raise UnsupportedOperationError(f"{type(d).__name__}: expected dynamics M(q) a + h(q, v) = τ of a robot")
    return slope, H


def _move_of_end(
    method: RungeKutta, program: Program, dt: Array, stages: Sequence[HessianStage]
) -> tuple[Array, Array] | None:
    """s of the end and its derivative; None where ⊕ is a sum."""
    if method.flat:
        return None
    paid = [(b, stage.rate) for b, stage in zip(method.tableau.b, stages) if b]
    s, S = (_sum(program, dt, [(b, rate[k]) for b, rate in paid]) for k in range(2))
    return s, S


def _add_bend(
    total: _Total,
    method: RungeKutta,
    x: Array,
    move: tuple[Array, Array],
    g: Array,
    seen: tuple[Array, HessianStage] | None = None,
) -> Array:
    """Adds the terms of Γ and Q, and returns the gradient m (ndx,) by s.

    Args:
        total: Sum of the Hessian.
        method: The Runge-Kutta method.
        x: State of the knot (nx,).
        move: s and its derivative.
        g: Gradient by x ⊕ s (ndx,).
        seen: p and the stage; none at the end.
    """
    state, n, program = method.state, method.state.ndx, total.program
    at, s, gradient = SX.sym("x", state.nx), SX.sym("s", n), SX.sym("g", n)
    inputs: Bindings = [(at, x), (s, move[0]), (gradient, g)]
    m, Gamma = curvature.of_move(state, at, s, gradient)
    Q = SX(n, 2 * n)
    if seen is not None and method.curved:
        p, y, f = SX.sym("p", n), SX.sym("y", state.nx), SX.sym("f", seen[1].f.size)
        inputs += [(p, seen[0]), (y, seen[1].at.x), (f, seen[1].f)]
        more, bent, Q = curvature.of_rate(state, at, s, p, method.rate(y, f))
        m, Gamma = m + more, Gamma + bent
    columns = sorted({*Gamma.sparsity().get_col(), *Q.sparsity().get_col()})
    rows = sorted(set(Q.sparsity().row()))
    found = named_call(
        program, "bend of a step", inputs, {"m": m, "Gamma": Gamma[columns, columns], "Q": Q[rows, columns]}
    )
    still = ca.horzcat(SX.eye(n), SX(n, move[1].shape[1] - n))
    (V,) = call_formula(program, "V", lambda S: [ca.vertcat(still, S)[columns, :]], move[1])
    total.add(V, found["Gamma"], V, symmetric=True)
    if rows:
        assert seen is not None
        stage = seen[1]
        (kz,) = call_formula(program, "k_z", lambda Z, D: [method.rate_derivative(Z, D)[rows, :]], stage.Z, stage.D)
        total.add(kz, found["Q"], V)
    return found["m"]
