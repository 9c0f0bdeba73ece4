"""Hessian of the Lagrangian of a Runge-Kutta step, computed stage by stage from the last to the first.

The stages are y_i = x ⊕ s_i with s_i = dt Σ_j a_ij κ_j, the end is x⁺ = x ⊕ s with s = dt Σ b_i κ_i. A rate k(y, u) is
seen from x as κ = J₂⁻¹ k, with J₁ = ∂y/∂x and J₂ = ∂y/∂s. The Lagrangian is λᵀ (x⁺' ⊖ x⁺) + Σ b dt l(y, u) +
ηᵀ c(y, u), with multipliers η of the rows of a stage. Its gradients by κ of a stage, by k, by y and by s are

    p_i = dt (b_i m + Σ_l a_li m_l),    q = J₂⁻ᵀ p,    g = k_yᵀ q + b dt l_y + c_yᵀ η,    m_i = J₂ᵀ g + (∂κ/∂s)ᵀ p,

with m = J₂ᵀ λ at the end. With z = (x, u), Z = ∂(y, u)/∂z and V = ∂(x, s)/∂z, each stage adds to the Hessian

    Zᵀ N Z + Vᵀ Γ V + k_zᵀ Q V + Vᵀ Qᵀ k_z,

where N is the Hessian of qᵀ k + b dt l + ηᵀ c by (y, u) with q constant, Γ that of gᵀ y(x, s) + pᵀ κ by (x, s) with
g, p and k constant, and Q = ∂q/∂(x, s); see `trajopt.actions.integrated.curvature`. Where r(y, u, a) = 0 defines the
acceleration a, N is that of the same sum minus μᵀ r, and Zᵀ M D + Dᵀ Mᵀ Z joins it, with M the mixed derivatives by
(y, u) and a, and D = da/dz; see `trajopt.actions.lagrangian`.

Half of that, X with X + Xᵀ the Hessian, goes back like the gradients, with a column for each of z: the matrices P by κ,
R by k, T by (y, u) and A by s are

    P_i = dt (b_i A + Σ_l a_li A_l),    R = J₂⁻ᵀ P + Q V,    T = ½ N Z + M D,    A_i = J₂ᵀ T + ½ Γ_s V + (∂κ/∂s)ᵀ P.

Rates of second-order systems are k = (v, a): the rows of v in R join T, those of a leave to X as Dᵀ R. What depends on
x at constant s leaves as J₁ᵀ T + ½ Γ_x V + (∂κ/∂x)ᵀ P. Where ⊕ is a sum, J₁ = J₂ = 1, Γ = Q = 0 and A = T.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.expansion import Stage
from trajopt.actions.integrated import curvature
from trajopt.actions.integrated.runge_kutta import RungeKutta
from trajopt.actions.lagrangian import implicit_expansion, second_derivatives
from trajopt.errors import UnsupportedOperationError
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import Bindings, call_formula, computed, named_call


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
    move: tuple[Array, ...]
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
    (x, dt), tableau = start, method.tableau
    half, later = _Half(program), dict[int, tuple[Array, Array | None]]()
    end: tuple[Array, Array | None] = (lam, None)
    if not method.flat:
        paid = [(b, stage.rate) for b, stage in zip(tableau.b, stages) if b]
        (s,), (S,) = (_scaled(program, dt, [(b, rate[k]) for b, rate in paid]) for k in range(2))
        bend = _bend(method, program, x, (s, S), lam)
        half.add(bend["Gx"], bend["V"])
        end = bend["m"], program.matmul(bend["Gs"], bend["V"])
    for i, stage in reversed(list(enumerate(stages))):
        ahead = [(tableau.b[i], end), *((row[i], later[j]) for j, row in enumerate(tableau.A) if j > i and row[i])]
        later[i] = _add_stage(d, half, method, start, stage, tableau.c[i], ahead)
    return half.whole


class _Half:
    """Sum X of products Aᵀ B, half of a Hessian."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._sum: Array | None = None

    def add(self, A: Array, B: Array, *, transpose: bool = False) -> None:
        """Adds A B, or Aᵀ B."""
        if not self.program.pattern(A).any():
            return
        if self._sum is None:
            self._sum = self.program.matmul(A, B, transpose_a=transpose)
        else:
            self.program.accumulate(self._sum, A, B, transpose_a=transpose)

    @property
    def whole(self) -> Array:
        """X + Xᵀ (n, n)."""
        assert self._sum is not None
        return computed(self.program, "with_transpose", lambda X: ca.tril2symm(ca.tril(X + X.T)), self._sum)


def _add_stage(
    d: DifferentialActionModelAbstract,
    half: _Half,
    method: RungeKutta,
    start: tuple[Array, Array],
    stage: HessianStage,
    c: float,
    ahead: Sequence[tuple[float, tuple[Array, Array | None]]],
) -> tuple[Array, Array]:
    """Adds what leaves at a stage of time c, and returns its m and A; `ahead` holds pairs of a factor and (m, A)."""
    program, (x, dt), n, size = half.program, start, d.state.ndx, d.size

    def parted(R: SX) -> list[SX]:
        """Rows of R that leave, and those that join T."""
        below = SX(stage.Z.shape[0] - n, R.shape[1])
        return [R[n - size : n, :], ca.vertcat(SX(n - size, R.shape[1]), R[: n - size, :], below)]

    (p,) = _scaled(program, dt, [(a, m) for a, (m, _) in ahead])
    after = [(a, A) for a, (_, A) in ahead if A is not None]
    q, turned = p, bool(stage.move) and method.curved
    P, parts = None, tuple[Array, ...]()
    if turned:
        inverse = method.state.sx_jintegrate_inverse
        (seen,) = call_formula(program, "inverse", lambda x, s: [inverse(x, s)], x, stage.move[0])
        (P,) = _scaled(program, dt, after)
        q, R = (program.matmul(seen, each, transpose_a=True) for each in (p, P))
    elif after:
        parts = _scaled(program, dt, after, parted)
    own = _derivatives(d, program, stage, q)
    T = program.matmul(own["N"], stage.Z)
    if "M" in own:
        program.accumulate(T, own["M"], stage.D)
    bend = _bend(method, program, x, stage.move, own["g"], (p, stage, c)) if stage.move else {}
    if turned:
        program.accumulate(R, bend["Q"], bend["V"])
        parts = call_formula(program, "parted", parted, R)
    if parts:
        half.add(stage.D, parts[0], transpose=True)
        if size < n:
            program.add(T, parts[1])
    if not bend:
        half.add(program.call(method.still(c))[0], T, transpose=True)
        return own["g"], T
    half.add(bend["J1"], T, transpose=True)
    half.add(bend["Gx"], bend["V"])
    A = program.matmul(bend["J2"], T, transpose_a=True)
    program.accumulate(A, bend["Gs"], bend["V"])
    if P is not None:
        half.add(bend["Kx"], P, transpose=True)
        program.accumulate(A, bend["Ks"], P, transpose_a=True)
    return bend["m"], A


def _scaled(
    program: Program,
    dt: Array,
    terms: Sequence[tuple[float, Array]],
    parts: Callable[[SX], list[SX]] = lambda total: [total],
) -> tuple[Array, ...]:
    """Parts of dt Σ a m, from pairs (a, m)."""
    factors, arrays = zip(*terms)

    def results(dt: SX, *each: SX) -> list[SX]:
        total = sum(((a * dt) * m for a, m in zip(factors, each) if a), SX(*each[0].shape))
        return parts(total)

    return call_formula(program, "scaled", results, dt, *arrays)


def _bend(
    method: RungeKutta,
    program: Program,
    x: Array,
    move: tuple[Array, ...],
    g: Array,
    seen: tuple[Array, HessianStage, float] | None = None,
) -> dict[str, Array]:
    """Curvature at x ⊕ s, by the names above: "m", "V", and halves "Gx" and "Gs" of the rows of Γ.

    At a stage also Z at constant s as "J1", J₂ as "J2", and, if rates are seen from x, "Q" and ∂κ/∂(x, s) as "Kx" and
    "Ks". Results are padded with zeros to the sizes of the products that read them.

    Args:
        method: The Runge-Kutta method.
        program: Program that gets the steps.
        x: State of the knot (nx,).
        move: s and its derivative.
        g: Gradient by x ⊕ s (ndx,).
        seen: p, the stage and its time; none at the end.
    """
    state, n, width = method.state, method.state.ndx, move[1].shape[1]
    at, s, gradient = SX.sym("x", state.nx), SX.sym("s", n), SX.sym("g", n)
    inputs: Bindings = [(at, x), (s, move[0]), (gradient, g)]
    m, Gamma = curvature.of_move(state, at, s, gradient)
    results = dict[str, SX]()
    if seen is not None:
        pulled, stage, c = seen
        J1, J2 = state.sx_jintegrate(at, s)
        results |= {"J1": method.sensitivity(J1, c), "J2": ca.vertcat(J2, SX(stage.Z.shape[0] - n, n))}
        if method.curved:
            p, y, f = SX.sym("p", n), SX.sym("y", state.nx), SX.sym("f", stage.f.size)
            inputs += [(p, pulled), (y, stage.at.x), (f, stage.f)]
            bent = curvature.of_rate(state, at, s, p, method.rate(y, f))
            m, Gamma = m + bent.K[:, n:].T @ p, Gamma + bent.hessian
            results |= {"Q": bent.Q, "Kx": ca.horzcat(bent.K[:, :n], SX(n, width - n)), "Ks": bent.K[:, n:]}
    results |= {"m": m, "Gx": ca.vertcat(Gamma[:n, :], SX(width - n, 2 * n)) / 2, "Gs": Gamma[n:, :] / 2}
    still = ca.horzcat(SX.eye(n), SX(n, width - n))
    (V,) = call_formula(program, "V", lambda S: [ca.vertcat(still, S)], move[1])
    return {"V": V, **named_call(program, "bend of a step", inputs, results)}


def _derivatives(
    d: DifferentialActionModelAbstract, program: Program, stage: HessianStage, q: Array
) -> Mapping[str, Array]:
    """Gradient "g" by y, half of the matrix N as "N" and, of implicit dynamics, "M"."""
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
    if d.second_order:
        held[n - d.size :] += symbol[: d.size]
    slope, H = _of_dynamics(d, i, symbol[n - d.size :], inputs, stage.f)
    N = second_derivatives(d.state, i, rest)[1] + curvature + H[:s, :s]
    results = {"g": slope[:n] + w * d.costs.quadratic(i).Ly[:n] + held, "N": ca.tril2symm(ca.tril(N)) / 2}
    results |= {"M": H[:s, s:]} if H.shape[0] > s else {}
    arrays = named_call(program, f"{type(d).__name__}: Hessian of a stage", inputs, results)
    if stage.y is not None:
        rows = _of_rows(d, program, stage, stage.y)
        for name in ("g", "N"):
            program.add(arrays[name], rows[name])
    return arrays


def _of_rows(d: DifferentialActionModelAbstract, program: Program, stage: HessianStage, y: Array) -> dict[str, Array]:
    """Part of the constraint rows in "g" and "N"; called apart, so that stages with and without rows share code."""
    i, eta = d.instant(derivatives=True), SX.sym("eta", y.shape[0])
    slope, H = second_derivatives(d.state, i, ca.dot(eta, d.row_values(i)))
    inputs: Bindings = [(i.x, stage.at.x), (i.u, stage.at.u), (eta, y)]
    inputs += [(stage.at.parameters.layout, stage.at.parameters.array)]
    results = {"g": slope[: d.state.ndx], "N": ca.tril2symm(ca.tril(H)) / 2}
    return named_call(program, f"{type(d).__name__}: Hessian of the rows of a stage", inputs, results)


def _of_dynamics(d: DifferentialActionModelAbstract, i: Instant, q: SX, inputs: Bindings, f: Array) -> tuple[SX, SX]:
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
