"""Action models that are expressions: compiled for several knots at once, or evaluated one knot at a time."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Sequence

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.actions.base import ActionModelAbstract
from trajopt.actions.data import ActionData
from trajopt.actions.expansion import Expansion, Implicit, Multipliers, Point, Values
from trajopt.checks import check_instance
from trajopt.costs.cost_stack import CostStack
from trajopt.errors import UnsupportedOperationError
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import call_formula
from trajopt.model.programs import kept, outputs_at
from trajopt.types import Reals

Named = tuple[dict[str, int], Program]
"""Size of each named expression of (x, u, parameters), and the program that returns all of them stacked."""


def whole_derivative(program: Program, e: Expansion) -> Array | None:
    """Adds the call that computes all rows and columns of F, those of constant states too, from an expansion."""
    if e.F is None or e.E is None:
        return e.F

    def whole(F: SX, E: SX) -> list[SX]:
        k, nx = E.shape
        rows = ca.vertcat(
            ca.horzcat(F[:, :nx], E.T, F[:, nx:]), ca.horzcat(SX(k, nx), SX.eye(k), SX(k, F.shape[1] - nx))
        )
        return [SX(rows)]

    return call_formula(program, "F", whole, e.F, e.E)[0]


class ActionModelExpression(ActionModelAbstract):
    """Action model whose values and derivatives are steps of a `Program`; all arrays are of one knot.

    Arguments are those of ActionModelAbstract.
    """

    keeps_state = False
    calc_compiled = False
    """Whether `calc` and `calc_diff` compile their programs, which pays for models with iterations."""

    @abstractmethod
    def values(self, program: Program, point: Point) -> Values:
        """Adds the steps that compute the values at a point; a point without control is the end of a horizon."""

    @abstractmethod
    def expansion(
        self, program: Program, point: Point, multipliers: Multipliers | None = None, *, lift: int | None = None
    ) -> Expansion:
        """Adds the steps that compute values and derivatives at a point; without a control it is the end of a horizon.

        Args:
            program: Program that gets the steps.
            point: Point at which the knot is evaluated.
            multipliers: With them, H is the Hessian of the Lagrangian; without, of the cost.
            lift: Block size of a `Lift`, at least `lift_size`; the expansion then has a lift instead of F.

        Raises:
            UnsupportedOperationError: The model does not provide the Hessian of the Lagrangian, or a lift.
        """

    def expansion_by(
        self, program: Program, point: Point, unknowns: SX, *, lift: int | None = None
    ) -> tuple[Expansion, dict[str, Array] | None]:
        """Adds the steps of `expansion`, and those of derivatives by run-time parameters.

        Args:
            program: Program that gets the steps.
            point: Point at which the knot is evaluated.
            unknowns: Symbols of the parameters (k,), of `layout`.
            lift: As in `expansion`.

        Returns:
            The expansion, and the derivatives of x⁺ "F" (ndx, k), of the cost "g" (1, k) and of the rows "C" (nc, k);
            None instead if they follow from `knot_equations`.
        """
        return self.expansion(program, point, lift=lift), None

    def lagrangian_hessian(
        self, program: Program, point: Point, multipliers: Multipliers, kept: Sequence[Array] = ()
    ) -> Array:
        """Adds the steps that compute H of `expansion` with multipliers, and as few others as possible.

        Args:
            program: Program that gets the steps.
            point: Point at which the knot is evaluated.
            multipliers: λ and y.
            kept: `Expansion.kept` at this point; empty at the end of a horizon.
        """
        return self.expansion(program, point, multipliers).H

    @property
    def kept_shapes(self) -> tuple[tuple[int, int], ...]:
        """Shapes of the arrays in `Expansion.kept`, which the Hessian of the Lagrangian of a running knot reads."""
        return ()

    @property
    def has_lagrangian_hessian(self) -> bool:
        """Whether `expansion` takes multipliers; if not, H is the Gauss-Newton Hessian."""
        return False

    @property
    def hessian_on_request(self) -> bool:
        """Whether only `hessian="exact"` builds the Hessian of the Lagrangian, because it takes long to compile."""
        return False

    @property
    def end_costs(self) -> CostStack | None:
        """Costs at the end of a horizon, if they are a stack of residuals; else None."""
        return None

    @property
    def running_costs(self) -> CostStack | None:
        """Costs of a running knot whose Hessian of the Lagrangian takes δ; None if it takes none."""
        return None

    @property
    def stage_count(self) -> int:
        """Number of stages at which a running knot evaluates its costs [-]."""
        return 1

    def stage_steps(
        self, program: Program, point: Point, dx: Array, du: Array, kept: Sequence[Array]
    ) -> list[tuple[Array, Array]]:
        """Adds the steps that compute the state of each stage (nx,), and its change (ndx,) by a step (dx, du)."""
        return [(point.x, dx)]

    def knot_expressions(self, *, terminal: bool) -> tuple[Instant, dict[str, SX]]:
        """Expressions of a knot: "cost", "xnext" (nx,) unless terminal, and "rows" (nc,) if there are constraints.

        Returns:
            The symbols x and u, and the expressions; these also use the symbols of `layout`.

        Raises:
            UnsupportedOperationError: The dynamics are not a single expression.
        """
        raise UnsupportedOperationError(
            f"{type(self).__name__}: a knot with such dynamics, as of a simulator, is not a single expression; use "
            "SolverSQP, SolverFDDP or SolverDDP"
        )

    def knot_equations(self, *, terminal: bool) -> tuple[Instant, dict[str, SX], SX, SX]:
        """Expressions as in `knot_expressions` of x, u and a quantity k; the symbol of k (nk,), and r (nk,) = 0 for it.

        The first array of `Expansion.kept` is k, the second one its derivative by (x, u). Single expressions have no k.
        """
        return *self.knot_expressions(terminal=terminal), SX(0, 1), SX(0, 1)

    def lagrangian_expressions(
        self, *, terminal: bool, delta: SX | None = None
    ) -> tuple[Instant, dict[str, SX], Implicit | None]:
        """Expressions as in `knot_expressions`, and the implicit quantity on which "xnext" may depend, or None.

        With the key "curvature", the Hessian of one part of the costs in closed form, "cost" is the remaining part.
        With `delta`, multipliers of the bent residuals of a running knot, costs include δᵀ r.
        """
        return *self.knot_expressions(terminal=terminal), None

    @property
    def constant_states(self) -> int:
        """Number of states k that never change, the last ones of x and of dx [-]."""
        return 0

    @functools.cached_property
    def lift_size(self) -> int | None:
        """Smallest block size of a `Lift` [-]; None if position rows of F do not follow from velocity rows."""
        return None

    def check_lift(self, lift: int | None) -> None:
        """Raises UnsupportedOperationError if the model has no lift of this block size."""
        largest = self.state.ndx // 2
        if lift is None or (self.lift_size is not None and self.lift_size <= lift <= largest):
            return
        has = "none" if self.lift_size is None else f"blocks of {self.lift_size} to {largest}"
        raise UnsupportedOperationError(f"lift: {type(self).__name__} has {has}, got lift={lift}")

    def check_multipliers(self, multipliers: Multipliers | None) -> None:
        """Raises UnsupportedOperationError for multipliers if the model only has the Gauss-Newton Hessian."""
        if multipliers is not None and not self.has_lagrangian_hessian:
            raise UnsupportedOperationError(
                f"multipliers: {type(self).__name__} has no Hessian of the Lagrangian; pass None for Gauss-Newton"
            )

    @abstractmethod
    def term_expressions(self, instant: Instant, *, terminal: bool) -> dict[str, SX]:
        """Value of each named cost term [cost] of a running knot, or at the end of the horizon."""

    def forces(self, instant: Instant) -> dict[str, SX]:
        """Force or impulse of each contact of a running knot, in its reference frame; empty without contacts."""
        return {}

    def torques(self, instant: Instant) -> dict[str, SX]:
        """Torque or force of each motor of a running knot [N m, N]; empty without motors of a robot."""
        return {}

    def program(self, name: str) -> Program:
        """Program of this model alone: "calc" or "calc_diff" of (x, u, parameters), "terminal" of (x, parameters).

        Its outputs, in this order, are those of xnext, cost, F, g, H, constraint rows, C and status that exist.
        """
        return kept(self, name, lambda: self._build_program(name))

    def _build_program(self, name: str) -> Program:
        program = Program(f"{type(self).__name__}.{name}")
        x = program.input(self.state.nx)
        u = None if name == "terminal" else program.input(self.nu)
        point = Point(x=x, u=u, parameters=program.input(self.layout.size))
        if name == "calc":
            v = self.values(program, point)
            results = [v.xnext, v.cost, v.rows]
        else:
            e = self.expansion(program, point)
            results = [e.xnext, e.cost, whole_derivative(program, e), e.g, e.H, e.rows, e.C]
        program.output(*[array for array in (*results, program.status) if array is not None])
        return program

    def calc(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        check_instance("data", data, ActionData, "use model.create_data()")
        x, u = self._checked(x, u)
        if u is None:
            data.cost = outputs_at(self, self.program("terminal"), x)[0]
            return
        xnext, cost, *_ = outputs_at(self, self.program("calc"), x, u, compiled=self.calc_compiled)
        data.xnext, data.cost = xnext.ravel(), cost

    def calc_diff(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        check_instance("data", data, ActionData, "use model.create_data()")
        x, u = self._checked(x, u)
        n = self.state.ndx
        if u is None:
            _, gradient, hessian, *_ = outputs_at(self, self.program("terminal"), x)
            data.Lx, data.Lxx = gradient.ravel(), hessian
            return
        outputs = outputs_at(self, self.program("calc_diff"), x, u, compiled=self.calc_compiled)
        _, _, jacobian, gradient, hessian, *_ = outputs
        data.Fx, data.Fu = jacobian[:, :n], jacobian[:, n:]
        data.Lx, data.Lu = gradient.ravel()[:n], gradient.ravel()[n:]
        data.Lxx, data.Lxu, data.Luu = hessian[:n, :n], hessian[:n, n:], hessian[n:, n:]

    def build_terms(self, *, terminal: bool) -> Named:
        """Program of the cost terms of a running knot, or of the end, with the size of each term."""
        instant = Instant(self.state, 0) if terminal else self.instant()
        return self._named("terms", instant, self.term_expressions(instant, terminal=terminal))

    def build_forces(self) -> Named:
        """Program of the contact forces, with the size of each force."""
        instant = self.instant()
        return self._named("forces", instant, self.forces(instant))

    def _build_torques(self) -> Named:
        instant = self.instant()
        return self._named("torques", instant, self.torques(instant))

    def _named(self, name: str, instant: Instant, expressions: dict[str, SX]) -> Named:
        symbols = [instant.x, instant.u, self.layout.symbols]
        function = ca.Function(name, symbols, [ca.vertcat(SX(0, 1), *expressions.values())])
        program = Program.of(f"{type(self).__name__}: {name}", function)
        return {key: int(e.numel()) for key, e in expressions.items()}, program

    def term_values(self, xs: Reals, us: Reals | None, parameters: Reals) -> dict[str, Reals]:
        """Value of each cost term [cost] at several knots, (n,) each.

        Args:
            xs: States (n, nx).
            us: Controls (n, nu); None at the end of a horizon.
            parameters: Values of all parameters (n, layout.size).
        """
        terminal = us is None
        named = kept(self, ("terms", terminal), lambda: self.build_terms(terminal=terminal))
        values = _evaluate(named, xs, np.zeros((len(xs), 0)) if us is None else us, parameters)
        return {name: value.ravel() for name, value in values.items()}

    def force_values(self, xs: Reals, us: Reals, parameters: Reals) -> dict[str, Reals]:
        """Force of each contact at several knots, (n, size of the contact); arguments as in `term_values`."""
        return _evaluate(kept(self, "forces", self.build_forces), xs, us, parameters)

    def torque_values(self, xs: Reals, us: Reals, parameters: Reals) -> dict[str, Reals]:
        """Torque of each motor at several knots, (n,) each; arguments as in `term_values`."""
        values = _evaluate(kept(self, "torques", self._build_torques), xs, us, parameters)
        return {name: value.ravel() for name, value in values.items()}


def _evaluate(named: Named, xs: Reals, us: Reals, parameters: Reals) -> dict[str, Reals]:
    """Named results of a program at several knots, (n, size) each."""
    sizes, program = named
    if not sizes:
        return {}
    values = np.array([program.evaluate(*inputs)[0].ravel() for inputs in zip(xs, us, parameters)])
    ends = np.cumsum([0, *sizes.values()])
    return {name: values[:, i:j] for name, i, j in zip(sizes, ends, ends[1:])}


def whole_cost(model: ActionModelExpression, instant: Instant, *, terminal: bool) -> dict[str, SX]:
    """Cost of a knot as the only term, "cost", for models whose knot is a single expression."""
    i, values = model.knot_expressions(terminal=terminal)
    before, after = ca.vertcat(i.x, i.u), ca.vertcat(instant.x, instant.u)
    return {"cost": SX(ca.substitute(values["cost"], before, after))}
