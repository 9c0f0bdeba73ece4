"""Riccati recursion with one problem a lane: programs of the expansion and the backward step of a knot.

The formulas are those of `trajopt.solvers.riccati.riccati`, without constraint rows. A step follows the expansion of
its knot in the same program, so that F, g and H of no other knot are in memory, and structural zeros of F cost nothing.

    f = gap before the next knot,  w = v' + V' f
    q = g + Fᵀ w,  Q = H + Fᵀ V' F
    K = (Quu + ρ I)⁻¹ Qux,  k = (Quu + ρ I)⁻¹ Qu
    V = Qxx - Quxᵀ K + ρ I,  v = Qx - Quxᵀ k                              ρ I on V is optional

In a lane where Quu + ρ I is not positive definite, all that follows is NaN.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
from casadi import SX

from trajopt.actions.expansion import Expansion, Multipliers, Point
from trajopt.actions.expression import ActionModelExpression
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import Bindings, call_formula, computed, named_call
from trajopt.model.programs import kept
from trajopt.shooting.programs import padded_expansion, residuals_of_end

SUMS = ("cost", "scale", "decrease", "slope", "bend", "gap")
"""Sums over the knots from one on: l_t, |l_t|, Qu · k, w · f, f · V' f; and the largest |f|."""


def backward_step(model: ActionModelExpression, nu: int) -> Program:
    """(x, u, parameters, x of the next knot, V', v', sums', ρ, ρ on V, with gaps) -> (V, v, sums, K, k, f, V' f).

    Gaps count in lanes where the last input is not 0; f is 0 elsewhere. Sums are those of `SUMS`.
    """
    return kept(model, ("backward step", nu), lambda: _backward_step(model, nu))


def backward_end(model: ActionModelExpression) -> Program:
    """(x, parameters, ρ on V) -> (V, v, sums) of the end of the horizon."""
    return kept(model, ("backward end",), lambda: _backward_end(model))


def backward_begin(model: ActionModelExpression) -> Program:
    """(x0, x, V, v, sums', with gaps) -> (sums, f, V' f) of the gap f = x0 ⊖ x before the first knot."""
    return kept(model, ("backward begin",), lambda: _backward_begin(model))


def scale_step(model: ActionModelExpression, nu: int) -> Program:
    """(x, u, parameters, x of the next knot) -> (max(diagonal of H, 0), largest |g|, a sum of all results)."""
    return kept(model, ("scale step", nu), lambda: _scale_step(model, nu))


def scale_end(model: ActionModelExpression) -> Program:
    """(x, parameters) -> the same of the end of the horizon."""
    return kept(model, ("scale end",), lambda: _scale_end(model))


def start(model: ActionModelExpression) -> Program:
    """(x0, gap before the first knot, step length α) -> x0 ⊕ (α - 1) gap, which is x0 without a gap."""
    return kept(model, ("start of a rollout",), lambda: _start(model))


def _backward_step(model: ActionModelExpression, nu: int, *, exact: bool = False) -> Program:
    program, n = Program(f"{type(model).__name__}: {'exact ' * exact}backward step"), model.state.ndx
    x, u, p, following = (program.input(size) for size in (model.state.nx, model.nu, model.layout.size, model.state.nx))
    V, v, sums = program.input(n, n), program.input(n), program.input(len(SUMS))
    rho, on_value, with_gaps = program.input(1), program.input(1), program.input(1)
    point = Point(x=x, u=u, parameters=p, following=following)
    _, gap, e = padded_expansion(program, model, point, nu, lift=model.lift_size)
    if exact:
        multipliers, part = Multipliers(dynamics=program.input(n)), program.input(1)
        H = model.lagrangian_hessian(program, point, multipliers, e.kept)
        if model.nu < nu:
            H = computed(program, "pad", lambda H: ca.diagcat(H, SX.eye(nu - model.nu)), H)
        e = replace(e, H=_blended(program, H, e.H, part))
    f = computed(program, "counted_gap", lambda gap, count: SX(ca.if_else(count != 0, gap, 0)), gap, with_gaps)
    outputs = _riccati_step(program, e, (V, v, rho, on_value), f, nu)
    own = _sums(program, sums, e.cost, outputs, f)
    V, v, K, k, Vf = outputs[:5]
    program.output(V, v, own, K, k, f, Vf)
    return program


def _riccati_step(
    program: Program, e: Expansion, value: tuple[Array, Array, Array, Array], f: Array, nu: int
) -> tuple[Array, ...]:
    """(V, v, K, k, V' f, w, Qu) by one expression; the matrix of controls is eliminated column by column.

    Products of matrices in loops, as in the recursion of one problem, take three times as long for an arm: in lanes,
    matrices of eight problems leave the nearest cache between two loops.
    """

    def step(Fv: SX, g: SX, H: SX, V: SX, v: SX, rho: SX, on_value: SX, f: SX, *lift: SX) -> list[SX]:
        n = V.shape[0]
        V = ca.tril2symm(ca.tril(V))
        Vf = V @ f
        w = v + Vf
        before, base = _gathered(V, n + nu, *lift)
        N, Q = _folded(base + before @ Fv, H, *lift)
        Q = ca.triu2symm(ca.triu(Q + Fv.T @ N))
        mixed, q = _folded(w, g, *lift)
        q = q + Fv.T @ mixed
        Qux, Qu = Q[n:, :n], q[n:]
        gains = _eliminated(Q[n:, n:] + rho * SX.eye(nu), ca.horzcat(Qux, Qu))
        K, k = gains[:, :n], gains[:, n]
        V = ca.tril2symm(ca.tril(Q[:n, :n] - Qux.T @ K)) + on_value * SX.eye(n)
        return [V, q[:n] - Qux.T @ k, K, k, Vf, w, Qu]

    return call_formula(program, "riccati", step, _rows_of(e), e.g, e.H, *value, f, *_lift_of(e))


def _rows_of(e: Expansion) -> Array:
    """F, or its velocity rows."""
    rows = e.F if e.lift is None else e.lift.Fv
    assert rows is not None
    return rows


def _lift_of(e: Expansion) -> tuple[Array, ...]:
    """(dt, J0, dt J1) of a lift: F = A Fv + B with A = (D, I), D = (dt J1, dt I), B = (J0, I) in the rows of q."""
    return () if e.lift is None else (e.lift.dt, e.lift.J0, e.lift.J1)


def _gathered(V: SX, s: int, *lift: SX) -> list[SX]:
    """V A, and V B (n, s): V F = (V A) Fv + V B; without a lift V and 0."""
    n = V.shape[0]
    if not lift:
        return [V, SX(n, s)]
    (dt, J0, J1), h = lift, n // 2
    nb = J0.shape[0]
    before = ca.horzcat(V[:, :nb] @ J1, dt * V[:, nb:h]) + V[:, h:]
    return [before, ca.horzcat(V[:, :nb] @ J0, V[:, nb:h], SX(n, s - h))]


def _folded(M: SX, H: SX, *lift: SX) -> list[SX]:
    """Aᵀ M, and H + Bᵀ M in the upper triangle: H + Fᵀ M = (H + Bᵀ M) + Fvᵀ (Aᵀ M); without a lift M and H."""
    if not lift:
        return [M, ca.densify(H) if H.shape[1] == 1 else ca.densify(ca.tril2symm(ca.tril(H)))]
    (dt, J0, J1), h = lift, M.shape[0] // 2
    nb = J0.shape[0]
    N = ca.vertcat(J1.T @ M[:nb, :], dt * M[nb:h, :]) + M[h:, :]
    lifted = ca.vertcat(J0.T @ M[:nb, :], M[nb:h, :], SX(H.shape[0] - h, M.shape[1]))
    H = H if H.shape[1] == 1 else ca.tril2symm(ca.tril(H))
    return [N, ca.densify(H + lifted)]


def _eliminated(A: SX, B: SX) -> SX:
    """A⁻¹ B of a symmetric A by A = L D Lᵀ without pivoting; NaN unless all pivots are positive."""
    m = A.shape[0]
    A, B = SX(A), SX(B)
    inverse, L = [], SX.eye(m)
    for j in range(m):
        pivot = A[j, j]
        inverse.append(1 / ca.if_else(pivot > 0, pivot, float("nan")))
        for i in range(j + 1, m):
            L[i, j] = A[i, j] * inverse[j]
            B[i, :] = B[i, :] - L[i, j] * B[j, :]
            for c in range(j + 1, i + 1):
                A[i, c] = A[i, c] - L[i, j] * A[c, j]
    for j in reversed(range(m)):
        B[j, :] = B[j, :] * inverse[j]
        for i in range(j + 1, m):
            B[j, :] = B[j, :] - L[i, j] * B[i, :]
    return B


def _sums(program: Program, sums: Array, cost: Array, outputs: tuple[Array, ...], f: Array) -> Array:
    """Sums with those of the knot."""
    _, _, _, k, Vf, w, Qu = outputs

    def add(sums: SX, cost: SX, k: SX, Vf: SX, w: SX, Qu: SX, f: SX) -> SX:
        largest = sums[5]
        for i in range(f.shape[0]):
            largest = ca.fmax(largest, ca.fabs(f[i]))
        more = ca.vertcat(cost, ca.fabs(cost), ca.dot(Qu, k), ca.dot(w, f), ca.dot(f, Vf))
        return SX(ca.vertcat(sums[:5] + more, largest))

    return computed(program, "sums", add, sums, cost, k, Vf, w, Qu, f)


def _blended(program: Program, exact: Array, gauss_newton: Array, part: Array) -> Array:
    """Hessian θ H + (1 - θ) H_GN."""

    def blend(H: SX, G: SX, part: SX) -> SX:
        return SX(ca.densify(part * H + (1 - part) * G))

    return computed(program, "blend", blend, exact, gauss_newton, part)


def exact_step(model: ActionModelExpression, nu: int) -> Program:
    """As `backward_step`, with further inputs λ' and θ: H is θ that of the Lagrangian and 1 - θ Gauss-Newton's."""
    return kept(model, ("exact backward step", nu), lambda: _backward_step(model, nu, exact=True))


def exact_end(model: ActionModelExpression) -> Program:
    """(x, parameters, ρ on V, dx of the step, θ) -> (V, v, sums) of the end, as `ExactDirection`."""
    return kept(model, ("exact backward end",), lambda: _backward_end(model, exact=True))


def forward_step(model: ActionModelExpression, nu: int) -> Program:
    """(x, u, parameters, x of the next knot, K, k, dx, V', v') -> (dx', λ') of the step without gaps."""
    return kept(model, ("forward step", nu), lambda: _forward_step(model, nu))


def _forward_step(model: ActionModelExpression, nu: int) -> Program:
    program, n = Program(f"{type(model).__name__}: forward step"), model.state.ndx
    x, u, p, following = (program.input(size) for size in (model.state.nx, model.nu, model.layout.size, model.state.nx))
    K, k, dx = program.input(nu, n), program.input(nu), program.input(n)
    V, v = program.input(n, n), program.input(n)
    _, _, e = padded_expansion(program, model, Point(x=x, u=u, parameters=p, following=following), nu)
    assert e.F is not None

    def step(F: SX, K: SX, k: SX, dx: SX, V: SX, v: SX) -> list[SX]:
        after = ca.densify(F @ ca.vertcat(dx, -k - K @ dx))
        return [after, v + V @ after]

    program.output(*call_formula(program, "forward", step, e.F, K, k, dx, V, v))
    return program


def _ahead(program: Program, model: ActionModelExpression, x: Array, p: Array, dx: Array) -> Array | None:
    """Change of the gradient of the end's cost by its residuals after a step dx; None without residuals."""
    if model.end_costs is None or not residuals_of_end(model):
        return None
    i, step = Instant(model.state, 0), SX.sym("dx", model.state.ndx)
    results = dict(zip(("p", "change"), model.end_costs.gradient_ahead(i, step)))
    inputs: Bindings = [(i.x, x), (model.layout, p), (step, dx)]
    return named_call(program, "gradient", inputs, results)["change"]


def _backward_end(model: ActionModelExpression, *, exact: bool = False) -> Program:
    program = Program(f"{type(model).__name__}: backward end")
    x, p, on_value = program.input(model.state.nx), program.input(model.layout.size), program.input(1)
    e = model.expansion(program, Point(x=x, u=None, parameters=p))
    if exact:
        dx, part = program.input(model.state.ndx), program.input(1)
        multipliers = Multipliers(residuals=_ahead(program, model, x, p, dx))
        H = model.lagrangian_hessian(program, Point(x=x, u=None, parameters=p), multipliers)
        e = replace(e, H=_blended(program, H, e.H, part))

    def end(H: SX, g: SX, cost: SX, rho: SX) -> list[SX]:
        V = ca.densify(ca.tril2symm(ca.tril(H))) + rho * SX.eye(H.shape[0])
        return [V, ca.densify(g) + 0.0, ca.vertcat(cost, ca.fabs(cost), SX.zeros(4))]

    program.output(*call_formula(program, "end", end, e.H, e.g, e.cost, on_value))
    return program


def _backward_begin(model: ActionModelExpression) -> Program:
    program, state = Program(f"{type(model).__name__}: backward begin"), model.state
    x0, x, V = program.input(state.nx), program.input(state.nx), program.input(state.ndx, state.ndx)
    v, sums, with_gaps = program.input(state.ndx), program.input(len(SUMS)), program.input(1)

    def begin(x0: SX, x: SX, V: SX, v: SX, sums: SX, with_gaps: SX) -> list[SX]:
        f = ca.if_else(with_gaps != 0, ca.densify(state.sx_difference(x, x0)), SX.zeros(state.ndx))
        Vf, largest = V @ f, sums[5]
        for i in range(state.ndx):
            largest = ca.fmax(largest, ca.fabs(f[i]))
        more = ca.vertcat(0.0, 0.0, 0.0, ca.dot(v + Vf, f), ca.dot(f, Vf))
        return [ca.vertcat(sums[:5] + more, largest), SX(f), Vf]

    program.output(*call_formula(program, "begin", begin, x0, x, V, v, sums, with_gaps))
    return program


def _scale_step(model: ActionModelExpression, nu: int) -> Program:
    program = Program(f"{type(model).__name__}: scale of a step")
    x, u, p, following = (program.input(size) for size in (model.state.nx, model.nu, model.layout.size, model.state.nx))
    xnext, gap, e = padded_expansion(program, model, Point(x=x, u=u, parameters=p, following=following), nu)
    assert e.F is not None
    program.output(*call_formula(program, "scale", _scales, e.H, e.g, e.cost, e.F, xnext, gap))
    return program


def _scale_end(model: ActionModelExpression) -> Program:
    program = Program(f"{type(model).__name__}: scale of the end")
    x, p = program.input(model.state.nx), program.input(model.layout.size)
    e = model.expansion(program, Point(x=x, u=None, parameters=p))
    program.output(*call_formula(program, "scale", _scales, e.H, e.g, e.cost))
    return program


def _scales(H: SX, g: SX, *others: SX) -> list[SX]:
    """Diagonal of H without negative numbers, largest |g|, and a sum that is finite only if all numbers are."""
    diagonal = ca.densify(ca.fmax(ca.diag(H), 0))
    largest, total = SX(0), ca.sum1(ca.sum2(H)) + ca.sum1(g)
    for i in range(g.shape[0]):
        largest = ca.fmax(largest, ca.fabs(g[i]))
    for other in others:
        total += ca.sum1(ca.sum2(other))
    return [diagonal, SX(largest), SX(ca.densify(total))]


def _start(model: ActionModelExpression) -> Program:
    program, state = Program(f"{type(model.state).__name__}: start"), model.state
    arrays = program.input(state.nx), program.input(state.ndx), program.input(1)

    def move(x0: SX, gap: SX, alpha: SX) -> list[SX]:
        moved = ca.densify(state.sx_integrate(x0, (alpha - 1) * gap))
        return [ca.if_else(ca.sumsqr(gap) == 0, x0, moved)]

    program.output(*call_formula(program, "move", move, *arrays))
    return program
