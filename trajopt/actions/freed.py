"""Action model with some of its run-time parameters as constant states, so that a solver can choose them."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.actions.expansion import Expansion, Multipliers, Point, Values
from trajopt.actions.expression import ActionModelExpression, whole_cost
from trajopt.actions.freed_differences import central_differences
from trajopt.actions.freed_phases import PhaseSelection
from trajopt.actions.lagrangian import lagrangian
from trajopt.actions.terminal import ActionModelTerminal
from trajopt.constraints.row_block import RowBlock
from trajopt.errors import UnsupportedOperationError
from trajopt.instant import Instant
from trajopt.kernels.derivatives import jacobian
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.newton import add_quotient
from trajopt.model.parameters import Parameter
from trajopt.model.parts import Bindings, call_formula, computed, named_call
from trajopt.states.state_product import StateProduct
from trajopt.states.state_vector import StateVector
from trajopt.types import Reals

Equations = tuple[Instant, dict[str, SX], SX, SX]
"""Symbols, expressions, k and r of a knot, as of `ActionModelExpression.knot_equations`."""


class ActionModelFreed(ActionModelExpression):
    """Model with unknown parameters θ behind its state: (x, θ)⁺ = (f(x, u; θ), θ), with cost l(x, u; θ).

    Derivatives by x and u are those of the model. Derivatives by θ are those of the knot's expressions, and of the
    equations of an implicit step, or those that the model computes with its expansion, as a simulator does. A knot with
    neither, which is a program of its own, has central differences, with a relative error of about 1e-9. Without
    expressions there is no Hessian of the Lagrangian. In the Gauss-Newton Hessian, which is semidefinite, the rows of θ
    are 0.

    An unknown with phases has as many values as phases. The run-time parameter "name.phase" (phases,) of a knot is 1 at
    the knot's phase and 0 elsewhere; a knot of no phase has zeros and keeps its parameter.

    Args:
        model: The model.
        unknowns: Labels of the elements of each unknown parameter, by its name. The model may lack some of them.
        phases: Number of phases of each unknown that has phases, by its name. The phase changes fastest in the labels.
    """

    def __init__(
        self,
        model: ActionModelExpression,
        unknowns: Mapping[str, Sequence[str]],
        phases: Mapping[str, int] | None = None,
    ) -> None:
        counts = {name: 1 for name in unknowns} | dict(phases or {})
        self.model, self.sizes = model, {name: len(labels) // counts[name] for name, labels in unknowns.items()}
        self.selection = PhaseSelection(self.sizes, phases, model.parameters()) if phases else None
        labels = [label for each in unknowns.values() for label in each]
        state = StateProduct(model.state, StateVector(len(labels), names=labels), labels=("x", "unknown"))
        names, units = model.control_names, model.control_units
        super().__init__(
            state, model.nu, lower=model.lower, upper=model.upper, control_names=names, control_units=units
        )
        self.constraints = model.constraints
        self.instantaneous, self.cost_time = model.instantaneous, model.cost_time

    @property
    def constant_states(self) -> int:
        return self.state.nx - self.model.state.nx

    @functools.cached_property
    def lift_size(self) -> int | None:
        return self.model.lift_size

    @property
    def stage_nu(self) -> int:
        return self.model.stage_nu

    @property
    def row_blocks(self) -> tuple[RowBlock, ...]:
        return self.model.row_blocks

    def parameters(self) -> dict[str, Parameter]:
        return self.model.parameters() | ({} if self.selection is None else self.selection.parameters)

    def row_derivative(self) -> SX:
        return self.model.row_derivative()

    # A row that reads an unknown is no limit of a control, and x0 does not determine it.

    @property
    def rows_free_of_control(self) -> npt.NDArray[np.bool_]:
        return self.model.rows_free_of_control & ~self._rows_that_read

    @property
    def rows_of_states(self) -> npt.NDArray[np.bool_]:
        return self.model.rows_of_states & ~self._rows_that_read

    @property
    def rows_on_one_control(self) -> npt.NDArray[np.int64]:
        return np.where(self._rows_that_read, -1, self.model.rows_on_one_control)

    @functools.cached_property
    def _rows_that_read(self) -> npt.NDArray[np.bool_]:
        return self.rows_that_read(self.sizes)

    def rows_that_read(self, names: Collection[str]) -> npt.NDArray[np.bool_]:
        """Mask (nc,) of the constraint rows that read an unknown of these names."""
        own = [column for name, column in self.model.layout.columns.items() if name in names]
        if not self.model.nc or not own:
            return np.zeros(self.model.nc, dtype=np.bool_)
        knot = self._equations(terminal=False)
        if knot is not None:
            _, values, k, _ = knot
            return np.array(ca.which_depends(values["rows"], ca.vertcat(*own, k), 1, True), dtype=np.bool_)
        blocks, owners = self.row_blocks, {name.rpartition(".")[0] for name in names}
        return np.repeat([block.constraint in owners for block in blocks], [block.size for block in blocks])

    def _equations(self, *, terminal: bool) -> Equations | None:
        """Symbols, expressions and equations of a knot of the model; None if it has none."""
        try:
            return self.model.knot_equations(terminal=terminal)
        except UnsupportedOperationError:
            return None

    def unknowns_at(self, xs: Reals, parameters: Reals) -> dict[str, Reals]:
        """Values (n, size) of the unknowns of knots by name, at states (n, nx) with rows of parameters (n, np)."""
        theta = xs[:, self.model.state.nx : self.state.nx]
        if self.selection is not None:
            inputs = (theta.T, parameters[:, : self.layout.size].T)
            theta = np.array(self._selected(*inputs)).T
        return dict(zip(self.sizes, np.split(theta, np.cumsum([*self.sizes.values()])[:-1], axis=1)))

    @functools.cached_property
    def _selected(self) -> ca.Function:
        """Unknowns of a knot, of the values of all phases and the knot's parameters."""
        assert self.selection is not None
        return ca.Function("unknowns", [self.selection.states, self.layout.symbols], [self.selection.values])

    @functools.cached_property
    def _symbols(self) -> SX:
        """The symbols of a knot's unknowns in the model's expressions; new ones where the model lacks a parameter."""
        columns = self.model.layout.columns
        return SX(ca.vertcat(*(columns.get(name, SX.sym(name, size)) for name, size in self.sizes.items())))

    def _parted(self, program: Program, point: Point) -> tuple[Point, Array, Array]:
        """The point of the model, with the knot's unknowns among its parameters; these, and the state θ (k,)."""
        nx = self.model.state.nx
        theta = program.slice(point.x, nx, self.state.nx - nx)
        following = None if point.following is None else program.slice(point.following, 0, nx)
        own = replace(point, x=program.slice(point.x, 0, nx), following=following)
        values = theta
        if self.selection is not None:
            own = replace(own, parameters=program.slice(point.parameters, 0, self.model.layout.size))
            inputs: Bindings = [(self.selection.states, theta), (self.layout, point.parameters)]
            values = named_call(program, "unknowns of a knot", inputs, {"values": self.selection.values})["values"]
        return self._with(program, own, values), values, theta

    def _with(self, program: Program, point: Point, theta: Array) -> Point:
        """The point of the model with other unknowns among its parameters."""
        if self.model.layout.slices.keys().isdisjoint(self.sizes):
            return point
        p = computed(program, "with_unknowns", self._with_unknowns, point.parameters, theta)
        return replace(point, parameters=p)

    def _with_unknowns(self, parameters: SX, theta: SX) -> SX:
        """All parameters of the model, with the unknowns in their places."""
        whole, end = SX(parameters), 0
        for name, size in self.sizes.items():
            if name in self.model.layout.slices:
                whole[self.model.layout.slices[name]] = theta[end : end + size]
            end += size
        return whole

    def values(self, program: Program, point: Point) -> Values:
        inner, _, theta = self._parted(program, point)
        v = self.model.values(program, inner)
        return v if v.xnext is None else replace(v, xnext=_stacked(program, v.xnext, theta))

    def expansion(
        self, program: Program, point: Point, multipliers: Multipliers | None = None, *, lift: int | None = None
    ) -> Expansion:
        self.check_multipliers(multipliers)
        inner, values, theta = self._parted(program, point)
        e, by = self.model.expansion_by(program, inner, self._symbols, lift=lift)
        if by is None:
            knot = self._equations(terminal=point.u is None)
            by = self._by_unknowns(program, inner, knot, e) if knot else self._differences(program, inner, values)
        by = {name: self._by_states(program, point, slopes) for name, slopes in by.items()}
        n = self.model.state.ndx

        def wide(block: SX, own: SX) -> SX:
            return SX(ca.horzcat(block[:, :n], own, block[:, n:]))

        E = C = xnext = None
        if e.xnext is not None:
            xnext, (E,) = _stacked(program, e.xnext, theta), call_formula(program, "E", lambda own: [own.T], by["F"])
        if e.C is not None:
            (C,) = call_formula(program, "C", lambda C, own: [wide(C, own)], e.C, by["C"])
        (g,) = call_formula(program, "gradient", lambda g, own: [wide(g.T, own).T], e.g, by["g"])
        H = self._bordered(program, e.H, None)
        whole = replace(e, xnext=xnext, E=E, g=g, H=H, C=C)
        if multipliers is None:
            return whole
        return replace(whole, H=self.lagrangian_hessian(program, point, multipliers, e.kept))

    def _by_unknowns(self, program: Program, point: Point, knot: Equations, e: Expansion) -> dict[str, Array]:
        """Derivatives of the next state, the cost and the rows by the knot's unknowns: "F" (ndx, .), "g" and "C"."""
        i, values, k, _ = knot
        named = {"g": values["cost"], "C": values.get("rows"), "F": values.get("xnext")}
        onto = {"F": self.model.state.sx_tangent_projection(values["xnext"])} if "xnext" in values else {}
        results = {
            f"{name}{way}": SX(onto[name] @ jacobian(value, z)) if name in onto else jacobian(value, z)
            for way, z in (("", self._symbols), (" by k", k))
            for name, value in named.items()
            if value is not None and (z.numel() or not way)
        }
        inputs = [*self._bindings(i, point), *([(k, e.kept[0])] if k.numel() else [])]
        by = named_call(program, "derivatives by unknowns", inputs, results)
        if k.numel():
            dk = self._moved_solution(program, point, knot, e.kept[0])
            for name in [name for name in named if name in by]:
                by[name] = program.matmul(by[f"{name} by k"], dk, initial=by[name])
        return by

    def _moved_solution(self, program: Program, point: Point, knot: Equations, at: Array) -> Array:
        """Derivative (nk, .) of the k of a knot by its unknowns, by the implicit function theorem; `at` is k (nk,)."""
        i, _, k, r = knot
        results = {"M": jacobian(r, k), "right": -jacobian(r, self._symbols)}
        linear = named_call(program, "k by unknowns", [*self._bindings(i, point), (k, at)], results)
        return add_quotient(program, linear["M"], linear["right"])

    def _differences(self, program: Program, point: Point, theta: Array) -> dict[str, Array]:
        """The same by central differences of the model's values."""

        def values(unknowns: Array) -> dict[str, Array | None]:
            v = self.model.values(program, self._with(program, point, unknowns))
            return {"F": v.xnext, "g": v.cost, "C": v.rows}

        return central_differences(program, values, theta, {"F": self.model.state.sx_difference})

    def _by_states(self, program: Program, point: Point, slopes: Array, *, both: bool = False) -> Array:
        """Derivatives (n, k) by the states θ from those by the unknowns of the knot; the same without phases.

        With `both`, `slopes` are rows of a Hessian by the unknowns, of which the last columns are by the unknowns too.
        """
        if self.selection is None:
            return slopes
        chosen = self.selection.matrix

        def by_states(D: SX) -> list[SX]:
            size = D.shape[1] - chosen.shape[0]
            return [SX(ca.horzcat(chosen.T @ D[:, :size], chosen.T @ D[:, size:] @ chosen) if both else D @ chosen)]

        reads = [(self.layout.symbols, point.parameters)]
        return call_formula(program, "by_states", by_states, slopes, reads=reads)[0]

    def _bindings(self, i: Instant, point: Point) -> Bindings:
        """Arrays of the symbols of an instant and of the parameters."""
        return [(i.x, point.x), *([] if point.u is None else [(i.u, point.u)]), (self.model.layout, point.parameters)]

    def _bordered(self, program: Program, H: Array, own: Array | None) -> Array:
        """The Hessian (n + k + nu, n + k + nu) with the rows of θ (k, n + nu + k) between x and u; 0 by default."""
        n, k = self.model.state.ndx, self.state.nx - self.model.state.nx

        def border(H: SX, *own: SX) -> list[SX]:
            s = H.shape[0]
            rows = own[0] if own else SX(k, s + k)
            order = [*range(n), *range(s, s + k), *range(n, s)]
            whole = ca.vertcat(ca.horzcat(H, rows[:, :s].T), rows)
            return [SX(whole[order, order])]

        return call_formula(program, "bordered", border, H, *([] if own is None else [own]))[0]

    @property
    def kept_shapes(self) -> tuple[tuple[int, int], ...]:
        return self.model.kept_shapes

    @property
    def has_lagrangian_hessian(self) -> bool:
        return self.model.has_lagrangian_hessian and self._has_equations

    @functools.cached_property
    def _has_equations(self) -> bool:
        """Whether running knots of the model have expressions and equations, or it is a terminal one."""
        return isinstance(self.model, ActionModelTerminal) or self._equations(terminal=False) is not None

    @property
    def hessian_on_request(self) -> bool:
        return self.model.hessian_on_request

    def lagrangian_hessian(
        self, program: Program, point: Point, multipliers: Multipliers, kept: Sequence[Array] = ()
    ) -> Array:
        self.check_multipliers(multipliers)
        inner, *_ = self._parted(program, point)
        lam = multipliers.dynamics
        lam = None if lam is None else program.slice(lam, 0, self.model.state.ndx)
        own = Multipliers(dynamics=lam, rows=multipliers.rows)
        H = self.model.lagrangian_hessian(program, inner, own, kept)
        border = self._hessian_by_unknowns(program, inner, own, kept)
        return self._bordered(program, H, self._by_states(program, point, border, both=True))

    def _hessian_by_unknowns(
        self, program: Program, point: Point, multipliers: Multipliers, kept: Sequence[Array]
    ) -> Array:
        """Rows by the knot's unknowns θ of the Hessian of the Lagrangian Φ by (x, u, θ).

        With k(x, u, θ) of r = 0, they are (1; K_θ)ᵀ ∇²(Φ - μᵀ r) (1; K): rows of ∇² by (θ, k), columns by (x, u, θ, k).
        """
        knot = self.model.knot_equations(terminal=point.u is None)
        i, values, k, r = knot
        total, reached, bindings = lagrangian(self.model.state, values, multipliers)
        following, inputs = values.get("xnext", reached), [*self._bindings(i, point), *bindings]
        if k.numel():
            inputs.append((k, kept[0]))
            slope = SX(ca.densify(ca.substitute(jacobian(total, k).T, reached, following)))
            adjoint = named_call(program, "adjoint of k", inputs, {"M": jacobian(r, k).T, "slope": slope})
            mu = SX.sym("mu", k.numel())
            inputs.append((mu, add_quotient(program, adjoint["M"], adjoint["slope"])))
            total -= ca.dot(mu, r)
        both = ca.vertcat(self._symbols, k)
        slope = jacobian(total, both).T
        rows = SX(ca.horzcat(*i.derivative(slope), jacobian(slope, both)))
        rows = SX(ca.substitute(rows, reached, following))
        border = named_call(program, "Hessian by unknowns", inputs, {"rows": rows})["rows"]
        if not k.numel():
            return border

        def through(rows: SX, by_xu: SX, by_theta: SX) -> list[SX]:
            K = ca.horzcat(by_xu, by_theta)
            size = by_theta.shape[1]
            columns = rows @ ca.vertcat(SX.eye(K.shape[1]), K)
            return [SX(columns[:size, :] + by_theta.T @ columns[size:, :])]

        dk = self._moved_solution(program, point, knot, kept[0])
        return call_formula(program, "through_k", through, border, kept[1], dk)[0]

    def knot_expressions(self, *, terminal: bool) -> tuple[Instant, dict[str, SX]]:
        i, values = self.model.knot_expressions(terminal=terminal)
        own, nx = Instant(self.state, 0 if terminal else self.nu), self.model.state.nx
        unknowns = own.x[nx:] if self.selection is None else self.selection.at(own.x[nx:])
        before, after = ca.vertcat(i.x, i.u, self._symbols), ca.vertcat(own.x[:nx], own.u, unknowns)
        replaced = dict(zip(values, ca.substitute(list(values.values()), [before], [after])))
        if "xnext" in replaced:
            replaced["xnext"] = ca.vertcat(replaced["xnext"], own.x[nx:])
        return own, replaced

    def term_expressions(self, instant: Instant, *, terminal: bool) -> dict[str, SX]:
        return whole_cost(self, instant, terminal=terminal)


def _stacked(program: Program, x: Array, theta: Array) -> Array:
    """Adds the call that appends the unknowns to a state."""
    return computed(program, "with_constant_states", lambda x, theta: SX(ca.vertcat(x, theta)), x, theta)
