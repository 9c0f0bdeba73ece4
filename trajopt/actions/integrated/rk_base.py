"""Base of explicit Runge-Kutta steps of a continuous-time model."""

from __future__ import annotations

import functools
import itertools
import logging
from collections.abc import Sequence

import casadi as ca
from casadi import SX

from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.expansion import Expansion, Implicit, Multipliers, Point, Stage, StageExpansion, Values
from trajopt.actions.integrated.base import IntegratedActionModelAbstract
from trajopt.actions.integrated.control import ControlParametrizationAbstract
from trajopt.actions.integrated.rk_hessian import HessianStage, add_hessian
from trajopt.actions.integrated.runge_kutta import RungeKutta, call_expression, is_curved, is_flat
from trajopt.actions.integrated.stage_rows import multipliers_of, stacked
from trajopt.actions.integrated.tableau import Tableau
from trajopt.actions.row_structure import free_of_control
from trajopt.checks import check_flag, check_instance
from trajopt.costs.cost_stack import CostStack
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.kernels.derivatives import jacobian
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.functions import function_of
from trajopt.model.parts import Bindings, ParameterArray, call_formula, computed, named_call, symbol_of

_LOG = logging.getLogger(__name__)


class IntegratedActionModelRKAbstract(IntegratedActionModelAbstract):
    """Explicit Runge-Kutta step on the manifold: stages at y = x ⊕ dt Σ a κ, x⁺ = x ⊕ dt Σ b κ; the cost likewise.

    κ is the rate k(y) of a stage, mapped to the tangent space at x: κ = ∂(y ⊖ x)/∂y k. The map is the identity for
    vectors and for joints with one axis. Without it the order on rotations would be 2.

    Costs are summed over the stages with the weights b, so that a moving reference belongs to the middle of a step, see
    `ShootingProblem.reference_times`.

    Constraint rows hold at the knot. With `rows="stages"` they also hold at later stages, at the first stage of each
    time c: lower <= r(y, u(c)) <= upper, with the bounds of the knot. Only rows that differ from others are added: no
    row of a constant control, and no row of the state alone at c = 1, where the next knot has it. The first stage at
    dt/2 is y = x ⊕ dt/2 k(x), on the tangent. If accelerations are constant, a limit of positions that holds there and
    at the knots holds during the whole step. An equation on the state that the next knot lacks holds at its knot alone.

    One stage is compiled and called for all of them. The chain rule over the stages is a sequence of matrix products:
    unrolled, the derivatives of a 7-joint arm would have 100,000 instructions. Hessians of the Lagrangian go back over
    the stages in the same way; those of models of your own on vectors are one expression.

    Args:
        differential: The continuous-time model.
        dt: Time step [s]. Run-time parameter `dt`.
        tableau: Coefficients of the method.
        transport: Whether stage rates are mapped to the tangent space at x. False adds them unmapped, as Crocoddyl
            does.
        control: The control within the step; constant by default.
        rows: Where constraint rows hold, "knot" or "stages".

    Raises:
        InvalidArgumentError: `control` is for another number of controls, or has parameters that no stage sees; `rows`
            is "stages" for inverse dynamics.
    """

    def __init__(
        self,
        differential: DifferentialActionModelAbstract,
        dt: float,
        *,
        tableau: Tableau,
        transport: bool,
        control: ControlParametrizationAbstract | None,
        rows: str,
    ) -> None:
        super().__init__(differential, dt, control=control, rows=rows)
        self.tableau = check_instance("tableau", tableau, Tableau, "such as trajopt.Tableau.HEUN")
        self.cost_time = sum(b * c for b, c in zip(self.tableau.b, self.tableau.c))
        times = set(self.tableau.c)
        if len(times) < len(self.control.nodes):
            raise InvalidArgumentError(
                f"control: {self.control!r} has values at {len(self.control.nodes)} times of a step, and the tableau "
                f"has stages at {len(times)}; use a tableau with more stages"
            )
        paid = len({c for c, b in zip(self.tableau.c, self.tableau.b) if b})
        if paid < len(self.control.nodes):
            _LOG.warning(
                "control: values at %d times of a step, and costs at %d of them, so that some controls cost nothing; "
                "use a tableau without weights of 0, such as Tableau.HEUN or Tableau.CLASSICAL",
                len(self.control.nodes), paid,
            )  # fmt: skip
        if rows == "knot" and not self.control.is_constant and not free_of_control(self).all():
            _LOG.warning(
                "control: constraints hold at the start of a step, so that those of controls do not limit %s; use "
                "rows='stages', or limits of the model (lower=, upper=) with SolverBoxFDDP or SolverBoxDDP",
                ", ".join(self.control_names[self.differential.nu :]),
            )
        self.transport = check_flag("transport", transport)

    def running_values(self, program: Program, point: Point, u: Array) -> Values:
        costs, rows = list[Array](), list[Array | None]()

        def rate(i: int, y: Array) -> tuple[Array]:
            v = self.differential.values(program, self._stage_at(program, point, u, i, y))
            costs.append(v.cost)
            rows.append(self._chosen_rows(program, i, v.rows))
            return (v.f,)

        xnext = self._method().step(program.call, point.x, self._time(program, point), rate)
        return Values(xnext=xnext, cost=_sum(program, costs), rows=stacked(program, rows))

    def running_expansion(self, program: Program, point: Point, u: Array, lift: int | None) -> Expansion:
        stages, costs, rows, Cs = list[StageExpansion](), list[Array](), list[Array | None](), list[Array | None]()
        found = list[tuple[Array, Array]]()

        def rate(i: int, y: Array, Z: Array) -> tuple[Array, Array]:
            e = self.differential.expansion(program, self._stage_at(program, point, u, i, y))
            costs.append(e.cost)
            rows.append(self._chosen_rows(program, i, e.rows))
            if not stages:
                stages.append(self.control.chain(program, e))
                Cs.append(stages[0].C)
                found.append((stages[0].f, stages[0].Df))
                return found[-1]
            C = self._chosen_rows(program, i, e.C)
            Cs.append(None if C is None else program.matmul(C, Z))
            first, D = stages[0], program.matmul(e.Df, Z)
            program.accumulate(first.g, Z, e.g, transpose_a=True)
            program.accumulate(first.H, Z, program.matmul(e.H, Z), transpose_a=True, symmetric=True)
            found.append((e.f, D))
            return found[-1]

        dt = self._time(program, point)
        xnext, F = self._method().step(program.call, point.x, dt, rate, derivatives=True)
        cost, (first,) = _sum(program, costs), stages
        kept = tuple(itertools.chain(*zip(*found))) if self._goes_back_over_stages else ()
        c, C = stacked(program, rows), stacked(program, Cs)
        return Expansion(xnext=xnext, F=F, cost=cost, g=first.g, H=first.H, rows=c, C=C, kept=kept)

    def _method(self) -> RungeKutta:
        """The Runge-Kutta method; Z (ndx + nu, ndx + nu) is the derivative of a stage's (y, u) by (x, u)."""
        curved, size = self._is_curved, self.differential.size
        return RungeKutta(
            self.tableau, self.state, self.dt, curved=curved, size=size, inputs=self.nu, control=self.control.derivative
        )

    def _stage_at(self, program: Program, point: Point, u: Array, i: int, y: Array) -> Stage:
        c, b = self.tableau.c[i], self.tableau.b[i]
        return self._stage(program, point, y, u, c, b, has_rows=i in self.rows_of_stages)

    @property
    def stage_times(self) -> tuple[float, ...]:
        return self.tableau.c

    def _stage_structure(self) -> dict[int, SX]:
        program = Program(f"{type(self).__name__}: structure of stages")
        x, u, p = program.input(self.state.nx), program.input(self.differential.nu), program.input(self.layout.size)
        (one,) = program.call(ca.Function("one", [], [SX(1)]))
        at = Stage(x=x, u=u, parameters=ParameterArray(p, self.layout), weight=one)
        f, Df = self.differential.rate_expansion(program, at)

        def rate(i: int, y: SX, Z: SX) -> tuple[SX, SX]:
            return SX.sym("f", f.size), symbol_of(program, Df) @ Z

        start = SX.sym("x", self.state.nx)
        walked = self._method().stages(call_expression, start, self.dt, rate, derivatives=True)
        return {i: stage[1] for i, stage in enumerate(walked)}

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
        return d.implicit_hessian or (d.exact_hessian and not is_flat(self.state))

    @property
    def kept_shapes(self) -> tuple[tuple[int, int], ...]:
        """Shapes of the accelerations of the stages and of their derivatives."""
        if not self._goes_back_over_stages:
            return ()
        size, count = self.differential.size, len(self.tableau.b)
        return (*[(size, 1)] * count, *[(size, self.state.ndx + self.nu)] * count)

    def _lagrangian_hessian(
        self, program: Program, point: Point, multipliers: Multipliers, kept: Sequence[Array]
    ) -> Array:
        if point.u is None or not self._goes_back_over_stages:
            return super()._lagrangian_hessian(program, point, multipliers, kept)
        method, dt, u, count = self._method(), self._time(program, point), point.u, len(self.tableau.b)
        ys = multipliers_of(program, self.rows_of_stages, multipliers.rows)
        deltas: list[Array | None] = [None] * count
        if multipliers.residuals is not None:
            nr = multipliers.residuals.shape[0] // count
            deltas = [program.slice(multipliers.residuals, i * nr, nr) for i in range(count)]
        walked = self._kept_stages(program, point, kept)
        stages = [
            HessianStage(
                at=self._stage(program, point, y, u, self.tableau.c[i], self.tableau.b[i]),
                f=kept[i], D=kept[count + i], Z=Z, rate=(rate, D), move=tuple(move), y=ys.get(i), delta=deltas[i],
            )
            for i, (y, Z, rate, D, *move) in enumerate(walked)
        ]  # fmt: skip
        return add_hessian(self.differential, program, method, (point.x, dt), stages, multipliers.dynamics)

    def _kept_stages(self, program: Program, point: Point, kept: Sequence[Array]) -> list[tuple[Array, ...]]:
        """Stages with derivatives, see `RungeKutta.stages`, from what an expansion has kept."""
        dt, count = self._time(program, point), len(self.tableau.b)

        def rate(i: int, y: Array, Z: Array) -> tuple[Array, Array]:
            return kept[i], kept[count + i]

        return self._method().stages(program.call, point.x, dt, rate, derivatives=True)

    @property
    def running_costs(self) -> CostStack | None:
        return self.differential.costs if self.control.is_constant else None

    def lagrangian_expressions(
        self, *, terminal: bool, delta: SX | None = None
    ) -> tuple[Instant, dict[str, SX], Implicit | None]:
        i, values, implicit = super().lagrangian_expressions(terminal=terminal)
        if delta is not None:
            own, p = self.differential.instant(), self.layout.symbols
            r = function_of("bent residuals", [own.x, p], [self.differential.costs.bent_residuals(own)[0]])
            each = [b * self.dt * r(y, p) for b, y in zip(self.tableau.b, self._stage_states(i.x, i.u))]
            values["cost"] += ca.dot(delta, ca.vertcat(*each))
        return i, values, implicit

    def _stage_states(self, x: SX, u: SX) -> list[SX]:
        """State of each stage (nx,) as an expression of (x, u)."""
        stage, p = self._stage_terms(), self.layout.symbols
        walked = self._method().stages(call_expression, x, self.dt, lambda _, y: (stage(y, u, p)[0],))
        return [y for y, _ in walked]

    def stage_steps(
        self, program: Program, point: Point, dx: Array, du: Array, kept: Sequence[Array]
    ) -> list[tuple[Array, Array]]:
        if not self._goes_back_over_stages:
            return self._stage_steps_at_once(program, point, dx, du)
        n, result = self.state.ndx, list[tuple[Array, Array]]()
        for y, Z, *_ in self._kept_stages(program, point, kept):
            (change,) = call_formula(
                program, "change", lambda Z, dx, du: [ca.densify(Z[:n, :] @ ca.vertcat(dx, du))], Z, dx, du
            )
            result.append((y, change))
        return result

    def _stage_steps_at_once(self, program: Program, point: Point, dx: Array, du: Array) -> list[tuple[Array, Array]]:
        """As `stage_steps`, of a model whose step is one expression."""
        assert point.u is not None
        i, part, along = self.instant(), SX.sym("part"), [SX.sym("dx", self.state.ndx), SX.sym("du", self.nu)]
        ys = self._stage_states(i.x, i.u)
        moved = self._stage_states(self.state.sx_integrate(i.x, part * along[0]), i.u + part * along[1])
        changes = [jacobian(self.state.sx_difference(y, end), part) for y, end in zip(ys, moved)]
        changes = ca.substitute(changes, [part], [SX(0)])
        inputs: Bindings = [(i.x, point.x), (i.u, point.u), (self.layout, point.parameters), *zip(along, (dx, du))]
        results = {
            f"{name} {number}": ca.densify(each)
            for name, all_ in (("y", ys), ("dy", changes))
            for number, each in enumerate(all_)
        }
        arrays = named_call(program, "changes of stages", inputs, results)
        return [(arrays[f"y {number}"], arrays[f"dy {number}"]) for number in range(len(ys))]

    def _step_expression(self, instant: Instant) -> SX:
        stage, p = self._stage_terms(), self.layout.symbols

        def rate(i: int, y: SX) -> tuple[SX]:
            return (stage(y, self.control.expression(instant.u, self.tableau.c[i]), p)[0],)

        return SX(self._method().step(call_expression, instant.x, self.dt, rate))

    def term_expressions(self, instant: Instant, *, terminal: bool) -> dict[str, SX]:
        if terminal:
            return super().term_expressions(instant, terminal=True)
        stage, p, sums = self._stage_terms(), self.layout.symbols, list[SX]()

        def rate(i: int, y: SX) -> tuple[SX]:
            f, terms = stage(y, self.control.expression(instant.u, self.tableau.c[i]), p)
            sums.append(self.tableau.b[i] * self.dt * terms)
            return (f,)

        self._method().stages(call_expression, instant.x, self.dt, rate)
        return dict(zip((t.name for t in self.differential.costs.terms), ca.vertsplit(sum(sums, SX(0)))))

    def _values_beside_the_step(self, i: Instant) -> dict[str, SX]:
        values, own = super()._values_beside_the_step(i), self.differential.instant()
        later = [(number, stage) for number, stage in self.rows_of_stages.items() if number]
        if not later:
            return values
        stage, p, c = self._stage_terms(), self.layout.symbols, self.tableau.c
        rows = function_of("rows of a stage", [own.x, own.u, p], [self.differential.row_values(own)])

        def rate(k: int, y: SX) -> tuple[SX]:
            return (stage(y, self.control.expression(i.u, c[k]), p)[0],)

        walked = self._method().stages(call_expression, i.x, self.dt, rate)
        each = [own.of(rows(walked[k][0], self.control.expression(i.u, c[k]), p)) for k, own in later]
        return values | {"rows": SX(ca.vertcat(values["rows"], *each))}

    def _stage_terms(self) -> ca.Function:
        """Function of f and the value of each cost term."""
        instant = self.differential.instant()
        results = [self.differential.dynamics(instant), ca.vertcat(*self.differential.term_values(instant).values())]
        symbols = [instant.x, instant.u, self.layout.symbols]
        return function_of(type(self.differential).__name__, symbols, results)

    @functools.cached_property
    def _is_curved(self) -> bool:
        """Whether a stage returns its full rate κ instead of f."""
        return self.transport and is_curved(self.state)


def _sum(program: Program, numbers: Sequence[Array]) -> Array:
    return computed(program, "sum", lambda *each: sum(each, SX(0)), *numbers)
