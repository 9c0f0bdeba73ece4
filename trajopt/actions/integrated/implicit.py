"""Implicit steps with one stage: the midpoint rule and backward Euler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import casadi as ca
from casadi import SX

from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.expansion import Expansion, Multipliers, Point, Stage, Values
from trajopt.actions.expression import Named
from trajopt.actions.integrated.base import IntegratedActionModelAbstract
from trajopt.actions.integrated.implicit_hessian import ImplicitStage, add_hessian
from trajopt.actions.integrated.stage_rows import stacked
from trajopt.checks import check_known
from trajopt.errors import UnsupportedOperationError
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.newton import Linearised, add_quotient, add_root
from trajopt.model.parts import Bindings, named_call, symbol_of

_PLACES = {"midpoint": 0.5, "euler": 1.0}
_TOLERANCE = 1e-9  # last step that is computed, one more is added; Newton's method squares it


class IntegratedActionModelImplicit(IntegratedActionModelAbstract):
    """Implicit step on the manifold: x⁺ = x ⊕ dt k with the rate k = f(y, u) at y = x ⊕ c dt k.

    The midpoint rule has c = 1/2 and order 2. It is symmetric, so that energy neither grows nor decays on average.
    Backward Euler has c = 1, where y = x⁺, and order 1; it damps fast motions of stiff systems. The rate of a robot is
    (v + c dt a, a). Newton's method solves for a, and halves steps that do not lower the residual.

    The cost is dt l(y, u). Constraint rows hold at x, with `rows="stages"` also at y. For backward Euler, these are the
    rows that read states and controls; others hold at x⁺ by the rows of the next knot.

    Args:
        differential: The continuous-time model.
        dt: Time step [s]. Run-time parameter `dt`.
        method: "midpoint" or "euler".
        rows: Where constraint rows hold, "knot" or "stages".

    Raises:
        InvalidArgumentError: `rows` is "stages" for inverse dynamics.

    Source: Hairer, Lubich, Wanner, Geometric Numerical Integration, I.1.1 (1.5), (1.6) and V.1.
    """

    def __init__(
        self,
        differential: DifferentialActionModelAbstract,
        dt: float = 1e-3,
        *,
        method: str = "midpoint",
        rows: str = "knot",
    ) -> None:
        super().__init__(differential, dt, rows=rows)
        self.method = check_known("method", method, tuple(_PLACES))
        self.cost_time = self.c

    @property
    def c(self) -> float:
        """Time of the stage as a fraction of the step, 1/2 or 1 [-]."""
        return _PLACES[self.method]

    def running_values(self, program: Program, point: Point, u: Array) -> Values:
        k, stage = self._solved(program, point, u)
        v = self.differential.values(program, stage)
        knot = self.differential.values(program, self._knot(program, point, u)).rows if self.nc else None
        rows = stacked(program, [knot, self._chosen_rows(program, 1, v.rows)])
        return Values(xnext=self._next_state(program, point, k), cost=v.cost, rows=rows)

    def running_expansion(self, program: Program, point: Point, u: Array, lift: int | None) -> Expansion:
        k, stage = self._solved(program, point, u)
        e = self.differential.expansion(program, stage)
        x, rate, Df = SX.sym("x", self.state.nx), SX.sym("k", self._size), symbol_of(program, e.Df)
        by_x, by_k = self._sensitivity(x, rate, self.c)
        results = {"M": self._newton_matrix(Df, by_k), "right": self._right(Df, by_x)}
        inputs: Bindings = [(x, point.x), (rate, k), (Df, e.Df), (self.layout, point.parameters)]
        r = named_call(program, "linear", inputs, results)
        quotient = add_quotient(program, r["M"], r["right"])
        dk = symbol_of(program, quotient)
        end_x, end_k = self._sensitivity(x, rate, 1.0)
        chain = {"F": self._wide(end_x) + end_k @ dk, "Z": self._of_stage(by_x, by_k, dk)}
        inputs = [(x, point.x), (rate, k), (dk, quotient), (self.layout, point.parameters)]
        by = named_call(program, "derivatives of a step", inputs, chain)
        g = program.matmul(by["Z"], e.g, transpose_a=True)
        H = program.matmul(by["Z"], program.matmul(e.H, by["Z"]), transpose_a=True)
        knot = self.differential.expansion(program, self._knot(program, point, u)) if self.nc else None
        rows, C = (None, None) if knot is None else (knot.rows, knot.C)
        if e.C is not None:
            later = program.matmul(self.rows_of_stages[1].added(program, e.C), by["Z"])
            rows, C = stacked(program, [rows, self._chosen_rows(program, 1, e.rows)]), stacked(program, [C, later])
        xnext = self._next_state(program, point, k)
        return Expansion(xnext=xnext, F=by["F"], cost=e.cost, g=g, H=H, rows=rows, C=C, kept=(k, quotient))

    # The stage

    @property
    def _size(self) -> int:
        """Size of the unknown: the acceleration (ndx / 2,), or the rate (ndx,) of a first-order system."""
        return self.differential.size

    def _tangent(self, x: SX, k: SX, c: float) -> SX:
        """Tangent vector from x to the state at time c (ndx,)."""
        if not self.differential.second_order:
            return c * self.dt * k
        v = x[self.state.nx - self._size :]
        return c * self.dt * SX(ca.vertcat(v + self.c * self.dt * k, k))

    def _moved(self, x: SX, k: SX, c: float) -> SX:
        """State at time c of the step (nx,)."""
        return SX(ca.densify(self.state.sx_integrate(x, self._tangent(x, k, c))))

    def _sensitivity(self, x: SX, k: SX, c: float) -> tuple[SX, SX]:
        """Derivatives of the state at time c by x (ndx, ndx) and by the unknown (ndx, size)."""
        first, second = self.state.sx_jintegrate(x, self._tangent(x, k, c))
        n, step = self._size, c * self.dt
        if not self.differential.second_order:
            return first, step * second
        by_v = ca.vertcat(ca.horzcat(SX(n, n), step * SX.eye(n)), SX(n, 2 * n))
        return first + second @ by_v, second @ ca.vertcat(step * self.c * self.dt * SX.eye(n), step * SX.eye(n))

    def _newton_matrix(self, Df: SX, by_k: SX) -> SX:
        """Derivative of k - f(y(k), u) by k; Df (size, ndx + nu) is that of f."""
        return SX(ca.sparsify(SX.eye(self._size) - Df[:, : self.state.ndx] @ by_k))

    def _right(self, Df: SX, by_x: SX) -> SX:
        """Derivative of f(y(k), u) by (x, u)."""
        n = self.state.ndx
        return SX(ca.sparsify(ca.horzcat(Df[:, :n] @ by_x, Df[:, n:])))

    def _wide(self, by_x: SX) -> SX:
        return SX(ca.horzcat(by_x, SX(self.state.ndx, self.nu)))

    def _knot(self, program: Program, point: Point, u: Array) -> Stage:
        """The knot itself, where constraint rows are computed."""
        return self._stage(program, point, point.x, u, 0.0, 1.0)

    def _stage_at(self, program: Program, point: Point, u: Array, k: Array) -> Stage:
        x, rate = SX.sym("x", self.state.nx), SX.sym("k", self._size)
        inputs: Bindings = [(x, point.x), (rate, k), (self.layout, point.parameters)]
        y = named_call(program, "stage", inputs, {"y": self._moved(x, rate, self.c)})["y"]
        return self._stage(program, point, y, u, self.c, 1.0, has_rows=1 in self.rows_of_stages)

    @property
    def stage_times(self) -> tuple[float, ...]:
        return (0.0, self.c)

    def _stage_structure(self) -> dict[int, SX]:
        x, k, dk = (SX.sym("a", *shape) for shape in ((self.state.nx, 1), *self.kept_shapes))
        by_x, by_k = self._sensitivity(x, k, self.c)
        return {1: SX(ca.sparsify(self._of_stage(by_x, by_k, dk)))}

    def _of_stage(self, by_x: SX, by_k: SX, dk: SX) -> SX:
        """Derivative Z of the stage's (y, u) by (x, u), from those of y by x and k, and that of k by (x, u)."""
        control = ca.horzcat(SX(self.nu, self.state.ndx), SX.eye(self.nu))
        return SX(ca.vertcat(self._wide(by_x) + by_k @ dk, control))

    def _solved(self, program: Program, point: Point, u: Array) -> tuple[Array, Stage]:
        """Adds the steps that solve for k, and the stage."""
        size = self._size
        constants = {"start": ca.densify(SX(size, 1)), "small": SX(_TOLERANCE)}
        r = named_call(program, "constants", [], constants)

        def linearise(body: Program, k: Array, x: Array, u: Array, parameters: Array) -> Linearised:
            stage = self._stage_at(body, Point(x=x, u=u, parameters=parameters), u, k)
            f, Df = self.differential.rate_expansion(body, stage)
            at, rate, value, D = SX.sym("x", x.size), SX.sym("k", size), symbol_of(body, f), symbol_of(body, Df)
            by_k = self._sensitivity(at, rate, self.c)[1]
            gap = ca.densify(rate - value)
            results = {"r": gap, "M": self._newton_matrix(D, by_k), "left": -gap}
            inputs: Bindings = [(at, x), (rate, k), (value, f), (D, Df), (self.layout, parameters)]
            e = named_call(body, "residual", inputs, results)
            return e["r"], e["M"], e["left"]

        given = [point.x, u, point.parameters]
        at = add_root(program, f"{type(self).__name__}: root", linearise, r["start"], given, r["small"])
        symbols = [SX.sym("a", array.size) for array in at]
        after = {"k": symbols[0] + symbols[2] * symbols[1]}
        k = named_call(program, "root", list(zip(symbols, at)), after)["k"]
        return k, self._stage_at(program, point, u, k)

    def _next_state(self, program: Program, point: Point, k: Array) -> Array:
        x, rate = SX.sym("x", self.state.nx), SX.sym("k", self._size)
        inputs: Bindings = [(x, point.x), (rate, k), (self.layout, point.parameters)]
        return named_call(program, "step", inputs, {"xnext": self._moved(x, rate, 1.0)})["xnext"]

    # Second derivatives

    @property
    def has_lagrangian_hessian(self) -> bool:
        return self.differential.exact_hessian or self.differential.implicit_hessian

    @property
    def kept_shapes(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Shapes of the unknown and of its derivative."""
        return (self._size, 1), (self._size, self.state.ndx + self.nu)

    def _expressions(self) -> ImplicitStage:
        i, k = self.instant(), SX.sym("k", self._size)
        return ImplicitStage(i, k, self._moved(i.x, k, self.c), self._moved(i.x, k, 1.0), self.dt)

    def knot_equations(self, *, terminal: bool) -> tuple[Instant, dict[str, SX], SX, SX]:
        if terminal:
            return super().knot_equations(terminal=True)
        stage, d = self._expressions(), self.differential
        return stage.instant, stage.values(d, self.rows_of_stages.get(1)), stage.k, stage.residual(d)

    def _lagrangian_hessian(
        self, program: Program, point: Point, multipliers: Multipliers, kept: Sequence[Array]
    ) -> Array:
        if point.u is None:
            return super()._lagrangian_hessian(program, point, multipliers, kept)
        stage = self._expressions()
        i = stage.instant
        inputs: Bindings = [(i.x, point.x), (i.u, point.u), (self.layout, point.parameters)]
        rows = self.rows_of_stages
        return add_hessian(self.differential, program, stage, inputs, (kept[0], kept[1]), multipliers, rows.get(1))

    # Inspection

    def _step_expression(self, instant: Instant) -> NoReturn:
        raise UnsupportedOperationError(
            f"{type(self).__name__}: an implicit step is not a single expression; use SolverSQP, SolverFDDP or "
            "SolverDDP"
        )

    def build_terms(self, *, terminal: bool) -> Named:
        if terminal:
            return super().build_terms(terminal=True)
        program, instant = Program(f"{type(self).__name__}: terms"), self.instant()
        x, u = program.input(self.state.nx), program.input(self.nu)
        point = Point(x=x, u=u, parameters=program.input(self.layout.size))
        _, stage = self._solved(program, point, u)
        terms = self.term_expressions(instant, terminal=False)
        inputs: Bindings = [(instant.x, stage.x), (instant.u, stage.u), (self.layout, point.parameters)]
        stacked = SX(ca.densify(ca.vertcat(SX(0, 1), *terms.values())))
        program.output(named_call(program, "terms", inputs, {"terms": stacked})["terms"])
        return dict.fromkeys(terms, 1), program
