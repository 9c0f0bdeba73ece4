"""The classical Runge-Kutta step of order four."""

from __future__ import annotations

import functools
import itertools

import casadi as ca
from casadi import SX

from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.integrated.base import IntegratedActionModelAbstract, stacked
from trajopt.expressions import Instant, function_of
from trajopt.kernels.derivatives import jacobian
from trajopt.kernels.program import Array, Program
from trajopt.model import parameter_vector

NODES = (0.0, 0.5, 0.5, 1.0)
WEIGHTS = (1 / 6, 1 / 3, 1 / 3, 1 / 6)


class IntegratedActionModelRK4(IntegratedActionModelAbstract):
    """Runge-Kutta step of order 4 on the manifold: stages at y = x ⊕ c dt κ, x⁺ = x ⊕ dt Σ b κ; the cost likewise.

    κ is the rate k(y) of a stage, seen in the tangent space at x: κ = ∂(y ⊖ x)/∂y k. Without that map, which is the
    identity for vectors and for joints with one axis, the order on rotations would be 2.

    One stage is compiled and called four times; the chain rule over the stages is a sequence of matrix products in
    lanes (unrolled, the derivatives of a 7-joint arm would have 100,000 instructions). Hessians are Gauss-Newton.

    Args:
        differential: The continuous-time model.
        dt: Time step [s]. Run-time parameter `dt`.
        transport: Whether rates are seen from x; False adds them as they are, as Crocoddyl does.

    Source: Hairer, Nørsett, Wanner, Solving Ordinary Differential Equations I, II.1, table 1.2; on manifolds Hairer,
    Lubich, Wanner, Geometric Numerical Integration, IV.8.2 (Munthe-Kaas methods).
    """

    def __init__(
        self, differential: DifferentialActionModelAbstract, dt: float = 1e-3, *, transport: bool = True
    ) -> None:
        super().__init__(differential, dt)
        self.transport = bool(transport)

    def calc_steps(self, program: Program, x: Array, u: Array, parameters: Array) -> tuple[Array, Array]:
        stage, advance, finish = self._stage_values(), self._advance_values(), self._finish_values()
        y, ys, fs, cost = x, [], [], _constants(program, 0.0)
        for weight, following in zip(WEIGHTS, (*NODES[1:], None)):
            f, cost = program.call(stage, y, u, parameters, _constants(program, weight), cost)
            if self._is_curved:
                (f,) = program.call(self._seen_from_start_values(), x, y, f)
            ys.append(y)
            fs.append(f)
            if following is not None:
                (y,) = program.call(advance, x, y, f, parameters, _constants(program, following))
        (xnext,) = program.call(finish, x, parameters, *ys, *fs)
        return xnext, cost

    def calc_diff_steps(self, program: Program, x: Array, u: Array, parameters: Array) -> tuple[Array, ...]:
        stage, advance = self._stage_derivatives(), self._advance_derivatives()
        (Y,) = program.call(self._first_sensitivity())
        y, stages = x, list[tuple[Array, Array, Array, Array]]()
        cost = _constants(program, 0.0)
        gradient = hessian = None
        for weight, following in zip(WEIGHTS, (*NODES[1:], None)):
            b = _constants(program, weight)
            f, cost, fx, fu, lx, lu, lxx, lxu, luu = program.call(stage, y, u, parameters, b, cost)
            if gradient is None or hessian is None:
                D, gradient, hessian = program.call(self._assemble(), fx, fu, lx, lu, lxx, lxu, luu)
            else:
                D = program.matmul(fx, Y, initial=fu)
                gradient, hessian = self._chain_cost(program, Y, (gradient, hessian), (lx, lu, lxx, lxu, luu))
            if self._is_curved:
                f, D = program.call(self._seen_from_start(), x, y, Y, f, D)
            stages.append((y, Y, f, D))
            if following is not None:
                c = _constants(program, following)
                y, Y = program.call(advance, x, y, Y, f, D, parameters, c)
        xnext, jacobian = program.call(self._finish_derivatives(), x, parameters, *itertools.chain(*zip(*stages)))
        assert gradient is not None
        assert hessian is not None
        return xnext, cost, jacobian, gradient, hessian

    def term_expressions(self, instant: Instant, *, terminal: bool) -> dict[str, SX]:
        if terminal:
            return super().term_expressions(instant, terminal=True)
        p, (x, u) = parameter_vector(self.parameters()), (instant.x, instant.u)
        stage, advance, sums = self._stage_terms(), self._advance_values(), SX(0)
        y = x
        for weight, following in zip(WEIGHTS, (*NODES[1:], None)):
            f, terms = stage(y, u, p)
            sums += weight * self.dt * terms
            if self._is_curved:
                f = self._seen_from_start_values()(x, y, f)
            if following is not None:
                y = advance(x, y, f, p, following)
        return dict(zip((t.name for t in self.differential.costs.terms), ca.vertsplit(sums)))

    def _stage_terms(self) -> ca.Function:
        """f and the value of each cost term."""
        instant, costs = Instant(self.state, self.nu), self.differential.costs
        results = [self.differential.dynamics(instant), ca.vertcat(*costs.values(instant).values())]
        return function_of(type(self.differential).__name__, self.symbols(instant), results)

    def _chain_cost(
        self, program: Program, Y: Array, sums: tuple[Array, Array], parts: tuple[Array, ...]
    ) -> tuple[Array, Array]:
        """Adds a stage's cost, seen through y(x, u) with dy/d(x, u) = Y, to the gradient and the Hessian.

        With z = (y, u): gᵀ = (lxᵀ Y) + (0, lu), H = Yᵀ (lxx Y + (0, lxu)) + (0; lux Y + (0, luu)).
        """
        lx, lu, lxx, lxu, luu = parts
        gradient = program.matmul(Y, lx, transpose_a=True, initial=sums[0])
        middle = program.matmul(lxx, Y, initial=lxu)
        hessian = program.matmul(Y, middle, transpose_a=True, initial=sums[1])
        if self._has_mixed_terms():
            (lux,) = program.call(self._mixed_rows(), lxu)
            hessian = program.matmul(lux, Y, initial=hessian)
        gradient, hessian = program.call(self._add_control(), gradient, hessian, lu, luu)
        return gradient, hessian

    def _sizes(self) -> tuple[int, int]:
        """Size of the dynamics and of (x, u) in the tangent space."""
        d = self.differential
        return (d.state.ndx // 2 if d.second_order else d.state.ndx), d.state.ndx + d.nu

    @functools.cached_property
    def _is_curved(self) -> bool:
        """Whether tangent spaces differ: then a stage hands on its whole rate κ in place of f."""
        x, y = SX.sym("x", self.state.nx), SX.sym("y", self.state.nx)
        return self.transport and not self.state.sx_jdifference(x, y)[1].is_eye()

    def _rate(self, y: SX, f: SX) -> SX:
        """Rate of the state, (ndx,), from what a stage at y hands on."""
        half = self.state.ndx // 2
        return f if f.numel() == self.state.ndx else ca.vertcat(y[self.state.nx - half :], f)

    def _rate_sensitivity(self, Y: SX, D: SX) -> SX:
        """Its derivative (ndx, ndx + nu), with Y that of y and D that of f."""
        return D if D.shape[0] == self.state.ndx else ca.vertcat(Y[self.state.ndx // 2 :, :], D)

    def _seen_from_start_values(self) -> ca.Function:
        """κ = ∂(y ⊖ x)/∂y k of a stage at y with the dynamics f."""
        x, y, f = SX.sym("x", self.state.nx), SX.sym("y", self.state.nx), SX.sym("f", self._sizes()[0])
        return ca.Function("seen", [x, y, f], [self.state.sx_jdifference(x, y)[1] @ self._rate(y, f)])

    def _seen_from_start(self) -> ca.Function:
        """κ and its derivative (ndx, ndx + nu)."""
        n, (nf, s) = self.state.ndx, self._sizes()
        x, y, Y = SX.sym("x", self.state.nx), SX.sym("y", self.state.nx), SX.sym("Y", n, s)
        f, D, k = SX.sym("f", nf), SX.sym("D", nf, s), SX.sym("k", n)
        to_x = self.state.sx_jdifference(x, y)[1]
        by_x = jacobian(to_x @ k, x) @ self.state.sx_tangent_basis(x)
        by_y = jacobian(to_x @ k, y) @ self.state.sx_tangent_basis(y)
        rate = self._rate(y, f)
        by_x, by_y = ca.substitute([by_x, by_y], [k], [rate])
        change = to_x @ self._rate_sensitivity(Y, D) + by_y @ Y + ca.horzcat(by_x, SX(n, s - n))
        return ca.Function("seen_diff", [x, y, Y, f, D], [to_x @ rate, change])

    def _stage_values(self) -> ca.Function:
        instant, b, cost = Instant(self.state, self.nu), SX.sym("b"), SX.sym("cost")
        f = self.differential.dynamics(instant)
        value = cost + b * self.dt * self.differential.costs.value(instant)
        return function_of(type(self.differential).__name__, [*self.symbols(instant), b, cost], [f, value])

    def _stage_derivatives(self) -> ca.Function:
        """f, cost so far, fx, (0, fu), lx, lu, lxx, (0, lxu), luu, the costs weighted by b dt."""
        instant, b, cost = Instant(self.state, self.nu, derivatives=True), SX.sym("b"), SX.sym("cost")
        fx, fu = self.differential.dynamics_derivative(instant)
        q, w = self.differential.costs.quadratic(instant), b * self.dt
        n, (nf, _) = self.state.ndx, self._sizes()
        results = [self.differential.dynamics(instant), cost + w * q.cost, fx, ca.horzcat(SX(nf, n), fu)]
        results += [w * q.Lx, w * q.Lu, w * q.Lxx, ca.horzcat(SX(n, n), w * q.Lxu), w * q.Luu]
        return function_of(type(self.differential).__name__, [*self.symbols(instant), b, cost], results)

    def _has_mixed_terms(self) -> bool:
        return bool(self.differential.costs.quadratic(Instant(self.state, self.nu)).Lxu.nnz())

    def _assemble(self) -> ca.Function:
        """D, gradient and Hessian of the first stage, where y = x."""
        n, m, (nf, s) = self.state.ndx, self.nu, self._sizes()
        fx, fu, lx, lu = SX.sym("fx", nf, n), SX.sym("fu", nf, s), SX.sym("lx", n), SX.sym("lu", m)
        lxx, lxu, luu = SX.sym("lxx", n, n), SX.sym("lxu", n, s), SX.sym("luu", m, m)
        gradient, hessian = stacked(lx, lu, lxx, lxu[:, n:], luu)
        D = ca.horzcat(fx, fu[:, n:])
        return ca.Function("assemble", [fx, fu, lx, lu, lxx, lxu, luu], [D, gradient, hessian])

    def _mixed_rows(self) -> ca.Function:
        """(0; lxuᵀ), shape (s, n)."""
        n, (_, s) = self.state.ndx, self._sizes()
        lxu = SX.sym("lxu", n, s)
        return ca.Function("mixed", [lxu], [ca.vertcat(SX(n, n), lxu[:, n:].T)])

    def _add_control(self) -> ca.Function:
        """Adds lu and luu to the control part of gradient and Hessian."""
        n, m, (_, s) = self.state.ndx, self.nu, self._sizes()
        g, h, lu, luu = SX.sym("g", s), SX.sym("h", s, s), SX.sym("lu", m), SX.sym("luu", m, m)
        results = [g + ca.vertcat(SX(n, 1), lu), h + ca.diagcat(SX(n, n), luu)]
        return ca.Function("add_control", [g, h, lu, luu], results)

    def _first_sensitivity(self) -> ca.Function:
        n, (_, s) = self.state.ndx, self._sizes()
        return ca.Function("identity", [], [ca.horzcat(SX.eye(n), SX(n, s - n))])

    def _symbols_of_stage(self) -> tuple[SX, SX, SX, SX]:
        """y, Y, and what a stage hands on: f or κ, and its derivative D."""
        n, (nf, s) = self.state.ndx, self._sizes()
        size = n if self._is_curved else nf
        return SX.sym("y", self.state.nx), SX.sym("Y", n, s), SX.sym("f", size), SX.sym("D", size, s)

    def _moved(self, x: SX, step: SX, change: SX) -> list[SX]:
        """x ⊕ step, and its derivative (ndx, ndx + nu), with `change` that of the step."""
        first, second = self.state.sx_jintegrate(x, step)
        return [self.state.sx_integrate(x, step), second @ change + ca.horzcat(first, SX(self.state.ndx, self.nu))]

    def _advance_values(self) -> ca.Function:
        """y = x ⊕ c dt κ of the next stage."""
        x, p, c = SX.sym("x", self.state.nx), parameter_vector(self.parameters()), SX.sym("c")
        y, _, f, _ = self._symbols_of_stage()
        return ca.Function("advance", [x, y, f, p, c], [self.state.sx_integrate(x, c * self.dt * self._rate(y, f))])

    def _advance_derivatives(self) -> ca.Function:
        """y and Y of the next stage."""
        x, p, c = SX.sym("x", self.state.nx), parameter_vector(self.parameters()), SX.sym("c")
        y, Y, f, D = self._symbols_of_stage()
        step, change = c * self.dt * self._rate(y, f), c * self.dt * self._rate_sensitivity(Y, D)
        return ca.Function("advance_diff", [x, y, Y, f, D, p, c], self._moved(x, step, change))

    def _finish_values(self) -> ca.Function:
        x, p = SX.sym("x", self.state.nx), parameter_vector(self.parameters())
        ys, _, fs, _ = zip(*(self._symbols_of_stage() for _ in WEIGHTS))
        step = self.dt * sum((b * self._rate(y, f) for b, y, f in zip(WEIGHTS, ys, fs)), SX(0))
        return ca.Function("finish", [x, p, *ys, *fs], [self.state.sx_integrate(x, step)])

    def _finish_derivatives(self) -> ca.Function:
        x, p = SX.sym("x", self.state.nx), parameter_vector(self.parameters())
        ys, Ys, fs, Ds = zip(*(self._symbols_of_stage() for _ in WEIGHTS))
        step = self.dt * sum((b * self._rate(y, f) for b, y, f in zip(WEIGHTS, ys, fs)), SX(0))
        change = self.dt * sum((b * self._rate_sensitivity(Y, D) for b, Y, D in zip(WEIGHTS, Ys, Ds)), SX(0))
        return ca.Function("finish_diff", [x, p, *ys, *Ys, *fs, *Ds], self._moved(x, step, change))


def _constants(program: Program, value: float) -> Array:
    """A constant number as an array of the program."""
    return program.call(ca.Function("constant", [], [SX(value) if value else ca.densify(SX(1, 1))]))[0]
