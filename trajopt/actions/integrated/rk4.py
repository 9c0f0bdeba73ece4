"""The classical Runge-Kutta step of order four."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

import casadi as ca
from casadi import SX

from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.expansion import Expansion, Multipliers, Point, StageExpansion, Values
from trajopt.actions.integrated.base import IntegratedActionModelAbstract
from trajopt.actions.integrated.rk4_hessian import HessianStage, add_hessian
from trajopt.checks import check_flag
from trajopt.instant import Instant
from trajopt.kernels.derivatives import jacobian
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.functions import function_of

NODES = (0.0, 0.5, 0.5, 1.0)
WEIGHTS = (1 / 6, 1 / 3, 1 / 3, 1 / 6)


class IntegratedActionModelRK4(IntegratedActionModelAbstract):
    """Runge-Kutta step of order 4 on the manifold: stages at y = x ⊕ c dt κ, x⁺ = x ⊕ dt Σ b κ; the cost likewise.

    κ is the rate k(y) of a stage, seen in the tangent space at x: κ = ∂(y ⊖ x)/∂y k. Without that map, which is the
    identity for vectors and for joints with one axis, the order on rotations would be 2.

    One stage is compiled and called four times; the chain rule over the stages is a sequence of matrix products in
    lanes (unrolled, the derivatives of a 7-joint arm would have 100,000 instructions). Hessians of the Lagrangian go
    back over the stages in the same way, for robots on states whose ⊕ is a sum.

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
        self.transport = check_flag("transport", transport)

    def _step(self, program: Program, point: Point, u: Array) -> Values:
        x, dt, advance = point.x, self._time(program, point), self._advance_values()
        y, ys, fs, costs, rows = x, list[Array](), list[Array](), list[Array](), None
        for c, factor, following in zip(NODES, WEIGHTS, (*NODES[1:], None)):
            v = self.differential.values(program, self._stage(program, point, y, u, c, factor, at_knot=y is x))
            f, rows = v.f, rows or v.rows
            if self._is_curved:
                (f,) = program.call(self._seen_from_start_values(), x, y, f)
            ys.append(y)
            fs.append(f)
            costs.append(v.cost)
            if following is not None:
                (y,) = program.call(advance, x, y, f, dt, _constant(program, following))
        (xnext,) = program.call(self._finish_values(), x, dt, *ys, *fs)
        return Values(xnext=xnext, cost=program.call(_sum(len(costs)), *costs)[0], rows=rows)

    def _step_derivatives(self, program: Program, point: Point, u: Array, lift: int | None) -> Expansion:
        """Z (ndx + nu, ndx + nu) is the derivative of (y, u) of a stage by x and the knot's control."""
        x, dt, advance = point.x, self._time(program, point), self._advance_derivatives()
        y, stages, costs = x, list[tuple[Array, Array, Array, Array]](), list[Array]()
        start = ca.diagcat(SX.eye(self.state.ndx), self.control.derivative(NODES[0]))
        (Z,) = program.call(ca.Function("identity", [], [start]))
        first: StageExpansion | None = None
        for c, factor, following in zip(NODES, WEIGHTS, (*NODES[1:], None)):
            e = self.differential.expansion(program, self._stage(program, point, y, u, c, factor, at_knot=y is x))
            if first is None:
                first = e = self.control.chain(program, e, c)
                f, D = e.f, e.Df
            else:
                f, D = e.f, program.matmul(e.Df, Z)
                program.accumulate(first.g, Z, e.g, transpose_a=True)
                program.accumulate(first.H, Z, program.matmul(e.H, Z), transpose_a=True, symmetric=True)
            if self._is_curved:
                f, D = program.call(self._seen_from_start(), x, y, Z, f, D)
            stages.append((y, Z, f, D))
            costs.append(e.cost)
            if following is not None:
                y, Z = program.call(advance, x, y, Z, f, D, dt, _constant(program, following))
        xnext, F = program.call(self._finish_derivatives(), x, dt, *itertools.chain(*zip(*stages)))
        assert first is not None
        (cost,) = program.call(_sum(len(costs)), *costs)
        kept = tuple(stage[k] for k in (2, 3) for stage in stages) if self._goes_back_over_stages else ()
        return Expansion(xnext=xnext, F=F, cost=cost, g=first.g, H=first.H, rows=first.rows, C=first.C, kept=kept)

    def _time(self, program: Program, point: Point) -> Array:
        """The time step (1,)."""
        place = self.layout.slices["dt"]
        return program.slice(point.parameters, place.start, 1)

    @property
    def has_lagrangian_hessian(self) -> bool:
        return self.differential.exact_hessian or self._goes_back_over_stages

    @property
    def _goes_back_over_stages(self) -> bool:
        d = self.differential
        return d.implicit_hessian and not d.exact_hessian and self._is_flat

    @functools.cached_property
    def _is_flat(self) -> bool:
        """Whether ⊕ is a sum, along joints with one axis too: then it adds no second derivatives."""
        x, step = SX.sym("x", self.state.nx), SX.sym("step", self.state.ndx)
        return all(bool(each.is_eye()) for each in self.state.sx_jintegrate(x, step))

    @property
    def kept_shapes(self) -> tuple[tuple[int, int], ...]:
        """Of accelerations of the stages and of their derivatives."""
        if not self._goes_back_over_stages:
            return ()
        size, n = self._sizes()
        return (*[(size, 1)] * len(WEIGHTS), *[(size, n)] * len(WEIGHTS))

    def _lagrangian_hessian(
        self, program: Program, point: Point, multipliers: Multipliers, kept: Sequence[Array]
    ) -> Array:
        if point.u is None or not self._goes_back_over_stages:
            return super()._lagrangian_hessian(program, point, multipliers, kept)
        stages, y, dt = list[HessianStage](), point.x, self._time(program, point)
        for c, b, following, a, D in zip(NODES, WEIGHTS, (*NODES[1:], None), kept, kept[len(WEIGHTS) :]):
            stages.append(HessianStage(self._stage(program, point, y, point.u, c, b), a, D, c, b))
            if following is not None:
                (y,) = program.call(self._advance_values(), point.x, y, a, dt, _constant(program, following))
        return add_hessian(self.differential, program, self.dt, stages, multipliers)

    def _step_expression(self, instant: Instant) -> SX:
        p, (x, u) = self.layout.symbols, (instant.x, instant.u)
        stage, advance = self._stage_terms(), self._advance_values()
        y, ys, fs = x, list[SX](), list[SX]()
        for c, following in zip(NODES, (*NODES[1:], None)):
            f, _ = stage(y, self.control.expression(u, c), p)
            if self._is_curved:
                f = self._seen_from_start_values()(x, y, f)
            ys.append(y)
            fs.append(f)
            if following is not None:
                y = advance(x, y, f, self.dt, following)
        return SX(self._finish_values()(x, self.dt, *ys, *fs))

    def term_expressions(self, instant: Instant, *, terminal: bool) -> dict[str, SX]:
        if terminal:
            return super().term_expressions(instant, terminal=True)
        p, (x, u) = self.layout.symbols, (instant.x, instant.u)
        stage, advance, sums = self._stage_terms(), self._advance_values(), SX(0)
        y = x
        for c, weight, following in zip(NODES, WEIGHTS, (*NODES[1:], None)):
            f, terms = stage(y, self.control.expression(u, c), p)
            sums += weight * self.dt * terms
            if self._is_curved:
                f = self._seen_from_start_values()(x, y, f)
            if following is not None:
                y = advance(x, y, f, self.dt, following)
        return dict(zip((t.name for t in self.differential.costs.terms), ca.vertsplit(sums)))

    def _stage_terms(self) -> ca.Function:
        """f and the value of each cost term."""
        instant = self.differential.instant()
        results = [self.differential.dynamics(instant), ca.vertcat(*self.differential.term_values(instant).values())]
        symbols = [instant.x, instant.u, self.layout.symbols]
        return function_of(type(self.differential).__name__, symbols, results)

    def _sizes(self) -> tuple[int, int]:
        """Size of the dynamics, and of x and the control of a knot in the tangent space."""
        return self.differential.size, self.state.ndx + self.nu

    @functools.cached_property
    def _is_curved(self) -> bool:
        """Whether tangent spaces differ: then a stage hands on its whole rate κ in place of f."""
        x, y = SX.sym("x", self.state.nx), SX.sym("y", self.state.nx)
        return self.transport and not self.state.sx_jdifference(x, y)[1].is_eye()

    def _rate(self, y: SX, f: SX) -> SX:
        """Rate of the state, (ndx,), from what a stage at y hands on."""
        half = self.state.ndx // 2
        return f if f.numel() == self.state.ndx else ca.vertcat(y[self.state.nx - half :], f)

    def _rate_sensitivity(self, Z: SX, D: SX) -> SX:
        """Its derivative (ndx, ndx + nu), with D that of f."""
        n = self.state.ndx
        return D if D.shape[0] == n else ca.vertcat(Z[n // 2 : n, :], D)

    def _seen_from_start_values(self) -> ca.Function:
        """κ = ∂(y ⊖ x)/∂y k of a stage at y with the dynamics f."""
        x, y, f = SX.sym("x", self.state.nx), SX.sym("y", self.state.nx), SX.sym("f", self._sizes()[0])
        return ca.Function("seen", [x, y, f], [self.state.sx_jdifference(x, y)[1] @ self._rate(y, f)])

    def _seen_from_start(self) -> ca.Function:
        """κ and its derivative (ndx, ndx + nu)."""
        n, (nf, s) = self.state.ndx, self._sizes()
        x, y, Z = SX.sym("x", self.state.nx), SX.sym("y", self.state.nx), SX.sym("Z", n + self.control.nu, s)
        f, D, k = SX.sym("f", nf), SX.sym("D", nf, s), SX.sym("k", n)
        to_x = self.state.sx_jdifference(x, y)[1]
        by_x = jacobian(to_x @ k, x) @ self.state.sx_tangent_basis(x)
        by_y = jacobian(to_x @ k, y) @ self.state.sx_tangent_basis(y)
        rate = self._rate(y, f)
        by_x, by_y = ca.substitute([by_x, by_y], [k], [rate])
        change = to_x @ self._rate_sensitivity(Z, D) + by_y @ Z[:n, :] + ca.horzcat(by_x, SX(n, s - n))
        return ca.Function("seen_diff", [x, y, Z, f, D], [to_x @ rate, change])

    def _symbols_of_stage(self) -> tuple[SX, SX, SX, SX]:
        """y, Z, and what a stage hands on: f or κ, and its derivative D."""
        n, (nf, s) = self.state.ndx, self._sizes()
        size = n if self._is_curved else nf
        return SX.sym("y", self.state.nx), SX.sym("Z", n + self.control.nu, s), SX.sym("f", size), SX.sym("D", size, s)

    def _moved(self, x: SX, step: SX, change: SX) -> list[SX]:
        """x ⊕ step, and its derivative (ndx, ndx + nu), with `change` that of the step."""
        first, second = self.state.sx_jintegrate(x, step)
        return [self.state.sx_integrate(x, step), second @ change + ca.horzcat(first, SX(self.state.ndx, self.nu))]

    def _advance_values(self) -> ca.Function:
        """y = x ⊕ c dt κ of the next stage."""
        x, c = SX.sym("x", self.state.nx), SX.sym("c")
        y, _, f, _ = self._symbols_of_stage()
        return ca.Function(
            "advance", [x, y, f, self.dt, c], [self.state.sx_integrate(x, c * self.dt * self._rate(y, f))]
        )

    def _advance_derivatives(self) -> ca.Function:
        """y and Z of the next stage."""
        x, c = SX.sym("x", self.state.nx), SX.sym("c")
        y, Z, f, D = self._symbols_of_stage()
        step, change = c * self.dt * self._rate(y, f), c * self.dt * self._rate_sensitivity(Z, D)
        following, sensitivity = self._moved(x, step, change)
        by_control = self.control.derivative(c)
        whole = ca.vertcat(sensitivity, ca.horzcat(SX(by_control.shape[0], self.state.ndx), by_control))
        return ca.Function("advance_diff", [x, y, Z, f, D, self.dt, c], [following, whole])

    def _finish_values(self) -> ca.Function:
        x = SX.sym("x", self.state.nx)
        ys, _, fs, _ = zip(*(self._symbols_of_stage() for _ in WEIGHTS))
        step = self.dt * sum((b * self._rate(y, f) for b, y, f in zip(WEIGHTS, ys, fs)), SX(0))
        return ca.Function("finish", [x, self.dt, *ys, *fs], [self.state.sx_integrate(x, step)])

    def _finish_derivatives(self) -> ca.Function:
        x = SX.sym("x", self.state.nx)
        ys, Zs, fs, Ds = zip(*(self._symbols_of_stage() for _ in WEIGHTS))
        step = self.dt * sum((b * self._rate(y, f) for b, y, f in zip(WEIGHTS, ys, fs)), SX(0))
        change = self.dt * sum((b * self._rate_sensitivity(Z, D) for b, Z, D in zip(WEIGHTS, Zs, Ds)), SX(0))
        return ca.Function("finish_diff", [x, self.dt, *ys, *Zs, *fs, *Ds], self._moved(x, step, change))


def _constant(program: Program, value: float) -> Array:
    """A constant number, not 0, as an array of the program."""
    return program.call(ca.Function("constant", [], [SX(value)]))[0]


def _sum(count: int) -> ca.Function:
    """The sum of numbers."""
    numbers = [SX.sym(f"n{i}") for i in range(count)]
    return ca.Function("sum", numbers, [sum(numbers, SX(0))])
