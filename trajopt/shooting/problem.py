"""Shooting problem: the initial state, one action model per knot, and the terminal cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Thread, current_thread
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy.typing as npt

from trajopt.actions.base import ActionModelAbstract
from trajopt.actions.expression import ActionModelExpression
from trajopt.actions.terminal import ActionModelTerminal
from trajopt.checks import check_instance, check_text
from trajopt.costs.cost_stack import CostStack
from trajopt.errors import InvalidArgumentError
from trajopt.objects.immutable import Immutable
from trajopt.shooting.at_rest import controls_at_rest
from trajopt.shooting.chain import end_derivatives
from trajopt.shooting.checks import (
    Start,
    StartLike,
    as_controls,
    as_list,
    as_states,
    check_models,
    check_start,
    check_x0,
    warn_of_degrees,
)
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.freed import FreedProblem
from trajopt.shooting.kinds import Kind
from trajopt.shooting.knots import KnotPhases, Knots, kinds_of
from trajopt.shooting.parameters import ParameterInfo, ParameterTable
from trajopt.shooting.times import knot_times, reference_times
from trajopt.shooting.unknown import Unknown, freed_parameter
from trajopt.shooting.values import ProblemDerivatives, ProblemValues, derivatives_of, rollout_of, values_of
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.gaits import ContactSchedule


class ShootingProblem(Immutable):
    """minimise Σ l_t(x_t, u_t) + l_T(x_T) subject to x_{t+1} = f_t(x_t, u_t); x_0 is fixed, free or within bounds.

    Use a problem in one thread at a time. `trajopt.shooting.inspection` computes its costs and forces along a
    trajectory and lists the names of its controls.

    Args:
        x0: Initial state (nx,); an initial guess of it unless the start is fixed.
        running: One action model for each knot 0..T-1. Knots that share a model share its compiled code but may have
            different parameter values. An empty list means T = 0: a problem with a single state.
        terminal: An action model, evaluated without control, or a CostStack.
        start: "fixed" (x_0 = x0), "free", or bounds (lower, upper) with
            lower <= x_0 ⊖ state.zero() <= upper, each (ndx,), ±inf for no bound, equal for a fixed coordinate.
            SolverDDP, SolverFDDP, SolverBoxDDP and SolverBoxFDDP require "fixed".
        like: A problem whose parameter values it takes, of those that both have: from knot t those of knot t, from the
            end those of the end. With as many knots it takes the schedule, too. By default values are the models' own.
        step_unit: Unit of time steps in texts and pictures, such as "m" if `dt` is a length; by default like's, or "s".

    Attributes:
        schedule: Contact schedule that the parameters represent, used by reports; None if it is not a gait.

    Raises:
        InvalidArgumentError: x0 is not a state, bounds do not fit, or models do not fit together.
    """

    settable = ("schedule", "start_sum")

    def __init__(
        self,
        x0: npt.ArrayLike,
        running: Sequence[ActionModelAbstract],
        terminal: ActionModelAbstract | CostStack,
        *,
        start: StartLike = "fixed",
        like: ShootingProblem | None = None,
        step_unit: str | None = None,
    ) -> None:
        self._running = as_list(running)
        self._terminal = ActionModelTerminal(terminal) if isinstance(terminal, CostStack) else terminal
        check_models(self._running, self._terminal)
        if isinstance(self._terminal, ActionModelExpression):
            self._terminal.program("terminal")
        self.state = [*self._running, self._terminal][0].state
        self._x0 = check_x0(x0, self.state)
        warn_of_degrees(self._x0, self.state, x0)
        self._start = check_start(start, self.state)
        self._kinds = kinds_of(self._running, self._terminal)
        self._nu = max((kind.model.nu for kind in self._kinds[:-1]), default=0)
        self._table = ParameterTable(self._kinds, self.T)
        self._evaluators, self._unknowns = WeakKeyDictionary[Thread, Evaluator](), dict[str, Unknown]()
        self._freed: FreedProblem | None = None
        if like is not None:
            self._table.take(check_instance("like", like, ShootingProblem).table)
        unit: str = "s" if like is None else like.step_unit
        self.step_unit: str = unit if step_unit is None else check_text("step_unit", step_unit, such_as="m")
        self.start_sum: Reals | None = None  # weights a (ndx,) of a sum a · dx_0 that stays as in the guess
        self.schedule: ContactSchedule | None = None if like is None or like.T != self.T else like.schedule

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = (self._x0, self._running, self._terminal, self._start, self._table.values)
        kept = {"schedule": self.schedule, "_unknowns": dict(self._unknowns), "step_unit": self.step_unit}
        return (_rebuild, arguments, kept)

    @property
    def T(self) -> int:
        """Number of running knots [-]."""
        return len(self._running)

    @property
    def nu(self) -> int:
        """Largest number of controls of a knot [-]."""
        return self._nu

    def cure_of(self, name: str) -> str:
        meant = [each for each in self.parameters if name in each.split(".")]
        if meant:
            return f"it is a run-time parameter; write problem.set_parameter({meant[0]!r}, value)"
        return super().cure_of(name)

    def row_bounds(self) -> tuple[Reals, Reals]:
        """Lower and upper bounds of the constraint rows (T + 1, nc), infinite for no bound."""
        return self._table.rows.bounds()

    def row_softness(self) -> tuple[Reals, Reals]:
        """Linear and quadratic weights of the slacks of the constraint rows (T + 1, nc); inf and 0 for hard rows.

        A soft row may exceed its bounds by s >= 0 at the cost linear · s + ½ quadratic · s². This cost is not part of
        the costs of `calc`, of cost terms or of a solution.
        """
        return self._table.rows.softness()

    def check_rows(self) -> None:
        """Checks the current bounds and weights of the constraint rows; solvers call it before a solve.

        Raises:
            InvalidArgumentError: A lower bound exceeds the upper one, or a soft row has no weight; names row and knot.
        """
        if self.nc:
            self._table.rows.check()

    def warn_of_given_rows(self, rows: Reals) -> None:
        """Warns if x0 violates equations at knot 0 that do not depend on u; these are not enforced.

        Args:
            rows: Constraint rows at knot 0 (nc,).
        """
        if self._start == "fixed" and self.nc:
            self._table.rows.warn_of_given(rows)

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """Names of the constraints, also of those at stages, in order of first occurrence along the knots."""
        return tuple(dict.fromkeys(name for kind in self._kinds for name in kind.row_sizes()))

    @property
    def soft_constraint_names(self) -> tuple[str, ...]:
        """Names of the constraints that are soft at one or more knots."""
        stacks = [kind.model.constraints for kind in self._kinds]
        return tuple(dict.fromkeys(c.name for stack in stacks for c in stack.constraints if c.soft is not None))

    @property
    def nc(self) -> int:
        """Largest number of constraint rows of a knot [-]."""
        return self._table.rows.nc

    @property
    def running(self) -> tuple[ActionModelAbstract, ...]:
        """The action models of knots 0..T-1."""
        return tuple(self._running)

    @property
    def terminal(self) -> ActionModelAbstract:
        """Action model of the terminal knot."""
        return self._terminal

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Kinds of knots 0..T in order of first occurrence; the terminal kind comes last."""
        return tuple(self._kinds)

    @property
    def table(self) -> ParameterTable:
        """Values of the run-time parameters; its `rows` has bounds and slack weights of the constraint rows."""
        return self._table

    @property
    def x0(self) -> Reals:
        """Initial state (nx,), or its guess unless the start is fixed; read-only, so assign a whole array."""
        return self._x0

    @x0.setter
    def x0(self, value: npt.ArrayLike) -> None:
        self.replace_x0(value)
        warn_of_degrees(self._x0, self.state)

    def replace_x0(self, value: npt.ArrayLike, start: StartLike | None = None) -> None:
        """Sets x0 to a state (nx,) that was measured or checked before, without the warning about degrees.

        Another `start` must be of the same kind.

        Raises:
            InvalidArgumentError: It is not a state.
        """
        self._x0 = check_x0(value, self.state)
        self._start = self._start if start is None else check_start(start, self.state)

    @property
    def start(self) -> Start:
        """Start of the horizon: "fixed", "free", or bounds (lower, upper) of x_0 ⊖ state.zero(), (ndx,) each."""
        return self._start

    @property
    def times(self) -> Reals | None:
        """Time of each knot (T + 1,) [s], starting at 0; None if a knot has no time step."""
        return knot_times(self._kinds, self._table, self.T)

    @property
    def reference_times(self) -> Reals | None:
        """Times at which to evaluate moving references of costs (T + 1,) [s]; None if a knot has no time step.

        They are `times`, but the middles of Runge-Kutta steps, over which costs are averages.
        """
        return reference_times(self._kinds, self._table, self.T)

    # Run-time parameters

    @property
    def parameters(self) -> dict[str, ParameterInfo]:
        """Run-time parameters by name, with shape, unit and the knots in 0..T that have them."""
        return self._table.infos

    def get_parameter(self, name: str, knots: Knots = None) -> Reals:
        """Value of a parameter, of its own shape if all knots agree; else one value per knot (n, *shape).

        Args:
            name: Name of the parameter, such as "goal.reference".
            knots: A number, range, slice or list in 0..T (T is the terminal knot), "running", "terminal" or "all"; by
                default all.
        """
        return self._table.get(name, knots)

    def set_parameter(self, name: str, value: Any, knots: Knots = None) -> None:
        """Sets the value of a run-time parameter; nothing is recompiled.

        Args:
            name: Name of the parameter, such as "goal.reference".
            value: A value of the parameter's shape or of a type that its model accepts, such as a pinocchio.SE3; or a
                sequence with one value per knot.
            knots: As in `get_parameter`. It is required if the value differs between running knots and the end.

        Raises:
            UnknownNameError: No knot has such a parameter.
            InvalidArgumentError: The value does not fit, or `knots` is missing where it is required.
        """
        self._table.set(name, value, knots)

    def parameter_values(self) -> Mapping[str, Reals]:
        """Current values of all parameters by name, one row for each knot that has the parameter."""
        return self._table.snapshot()

    def free(
        self, name: str, lower: Any, upper: Any, guess: Any = None, *, knots: KnotPhases = None, total: Any = None
    ) -> None:
        """Makes a run-time parameter unknown: solvers choose its value together with the motion.

        `problem.free("dt", 0.005, 0.05)` frees the duration of a motion, `knots=[range(0, 20), range(20, 50)]` those of
        its two phases. `Solution.unknowns` has the chosen values; the problem keeps the guess.

        Args:
            name: Name of the parameter; weights and bounds of constraints can't be free. Another call replaces it.
            lower: Lower bound, one, of the parameter's shape, or (phases, *shape), in its unit; -inf for none.
            upper: Upper bound in the same form; inf for none.
            guess: First value, as for `set_parameter`, or one for each phase; by default the present one.
            knots: Knots that share the value, as for `set_parameter`; the others keep theirs. Or a list of phases, each
                a range, slice or list of knots; `Solution.unknowns[name]` is then (phases, *shape). By default all.
            total: Sum over the knots of all phases, such as the duration of "dt", of one parameter at most; else free.

        Raises:
            UnknownNameError: No knot has such a parameter.
            InvalidArgumentError: Nothing reads it, it is a weight, a bound or a rotation, the bounds are crossed or
                admit dt <= 0, the guess is outside of them, phases are empty or overlap, or bounds exclude the total.
        """
        unknown = freed_parameter(self._table, self.kinds, name, lower, upper, knots, guess, total, self._unknowns)
        self._unknowns[name], self._freed = unknown, None

    @property
    def unknowns(self) -> dict[str, Unknown]:
        """Parameters that a solver chooses, by name; see `free`."""
        return dict(self._unknowns)

    def freed(self) -> FreedProblem | None:
        """The problem with its unknowns as constant states, which solvers see; None without unknowns."""
        if self._unknowns and (self._freed is None or not self._freed.fits()):
            self._freed = FreedProblem(self, self._unknowns)
        return self._freed

    # Evaluation

    def check_guess(self, xs: Any, us: Any) -> tuple[Reals, Reals]:
        """Returns a trajectory as new arrays (T + 1, nx) and (T, nu), with zeros for controls that a knot lacks.

        Raises:
            InvalidArgumentError: A size is wrong, a value is not finite, or a row of `xs` is not a state.
        """
        return as_states(xs, self.T + 1, self.state), as_controls(us, self._kinds[:-1], self.T, self.nu)

    def calc(self, xs: npt.ArrayLike, us: npt.ArrayLike) -> ProblemValues:
        """Costs, next states and gaps along states xs (T + 1, nx) and controls us (T, nu)."""
        return ProblemValues(**values_of(self._expanded(xs, us)))

    def calc_diff(self, xs: npt.ArrayLike, us: npt.ArrayLike) -> ProblemDerivatives:
        """Values and derivatives along states xs (T + 1, nx) and controls us (T, nu)."""
        return ProblemDerivatives(**derivatives_of(self._expanded(xs, us)))

    def _own_evaluator(self) -> Evaluator:
        """Evaluator of this problem's own methods in the present thread; each solver has another one."""
        return self._evaluators.get(own := current_thread()) or self._evaluators.setdefault(own, Evaluator(self))

    def _expanded(self, xs: Any, us: Any) -> Evaluator:
        e, (states, controls) = self._own_evaluator(), self.check_guess(xs, us)
        e.xs[:], e.us[:] = states, controls
        e.expand(self._x0 if self._start == "fixed" else None)
        e.check_finite()
        return e

    def rollout(self, us: npt.ArrayLike) -> Reals:
        """States (T + 1, nx) that follow from x0 under the controls us (T, nu).

        Raises:
            ModelEvaluationError: A state is not finite, or an equation of a model has no solution; names the knot.
        """
        controls = as_controls(us, self._kinds[:-1], self.T, self.nu)
        return rollout_of(self._own_evaluator(), self._running, self._x0, controls)

    def rollout_derivatives(self, us: npt.ArrayLike) -> tuple[Reals, Reals, Reals]:
        """States of `rollout`, and derivatives of the last one: by x0 (ndx, ndx), by each control (T, ndx, nu).

        Rows of a free body or base are in its axes at the end, which turn with it; columns of x0 in those at the start.
        """
        d = self.calc_diff(xs := self.rollout(us), us)
        return xs, *end_derivatives(d.Fx, d.Fu)

    def quasi_static(self, xs: npt.ArrayLike) -> Reals:
        """Controls (T, nu) that best hold each of the states (T, nx) at rest; velocities in `xs` count as zero."""
        states = as_states(xs, self.T, self.state, "states (one a running knot)")
        return controls_at_rest(self._kinds[:-1], states, self._table.values, self.nu)

    # Receding horizons

    def circular_append(self, model: ActionModelAbstract | None = None) -> None:
        """Drops the first knot and appends one before the end; x0 and start do not change.

        Parameter values move along with their knots. The new knot has the initial parameter values of `model`, or the
        values of the last running knot if `model` is None. Code that is already compiled is reused.

        Args:
            model: Action model of the new knot; by default that of the last running knot.

        Raises:
            InvalidArgumentError: The model does not fit, or the problem has no running knot.
        """
        T, old = self.T, self._table.values
        if T == 0:
            raise InvalidArgumentError("circular_append: expected a problem with T >= 1, got one without running knots")
        running = [*self._running[1:], self._running[-1] if model is None else model]
        moved = ShootingProblem(self._x0, running, self._terminal)
        values = moved._table.values
        width = min(values.shape[1], old.shape[1])
        values[: T - 1, :width], values[T, :width] = old[1:T, :width], old[T, :width]
        if model is None:
            values[T - 1, :width] = old[T - 1, :width]
        if all(a is b for a, b in zip(self._running, moved._running)):
            old[:] = values  # in place, so that evaluators remain valid
            return
        self._running, self._kinds, self._nu = moved._running, moved._kinds, moved._nu
        self._table, self._evaluators = moved._table, moved._evaluators

    def __repr__(self) -> str:
        kinds = ", ".join(f"{len(k.knots)} x {type(k.model).__name__}" for k in self._kinds[:-1])
        sizes = f"T={self.T}, nx={self.state.nx}, ndx={self.state.ndx}, nu={self.nu}"
        start = self._start if isinstance(self._start, str) else "within bounds"
        shown = f"running: {kinds or 'none'}, terminal: {self._kinds[-1].title}, start: {start}"
        free = f", free: {', '.join(map(repr, self._unknowns.values()))}" if self._unknowns else ""
        return f"ShootingProblem({sizes}, {shown.removesuffix(', start: fixed')}{free})"

    def _repr_html_(self) -> str:
        from trajopt.shooting.notebook import html_of

        return html_of(self)


def _rebuild(x0: Reals, running: list[Any], terminal: Any, start: StartLike, values: Reals) -> ShootingProblem:
    problem = ShootingProblem(x0, running, terminal, start=start)
    problem.table.values[:] = values
    return problem
