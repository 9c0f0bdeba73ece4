"""The shooting problem: where it starts, one action model a knot, and what the end costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.actions.base import ActionModelAbstract
from trajopt.actions.black_box_errors import class_name
from trajopt.actions.expression import ActionModelExpression
from trajopt.actions.terminal import ActionModelTerminal
from trajopt.costs.cost_stack import CostStack
from trajopt.errors import InvalidArgumentError, ModelEvaluationError, shown_numbers
from trajopt.objects.immutable import Immutable
from trajopt.shooting.checks import (
    Start,
    StartLike,
    as_controls,
    as_states,
    check_models,
    check_start,
    check_x0,
)
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.kinds import Kind
from trajopt.shooting.knots import Knots, kinds_of
from trajopt.shooting.parameters import ParameterInfo, ParameterTable
from trajopt.shooting.values import ProblemDerivatives, ProblemValues
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.gaits import ContactSchedule


class ShootingProblem(Immutable):
    """minimise Σ l_t(x_t, u_t) + l_T(x_T) subject to x_{t+1} = f_t(x_t, u_t), and x_0 given, free or within bounds.

    A problem is used by one thread at a time. What its costs and forces are along a trajectory, and what its controls
    are called, tells `trajopt.shooting.inspection`.

    Args:
        x0: Initial state (nx,); a guess of it unless the start is fixed.
        running: One action model a knot 0..T-1. Knots that share a model share its compiled code and may still have
            parameter values of their own. Without any, T = 0 and the problem is about one state.
        terminal: An action model, evaluated without control, or a CostStack.
        start: "fixed", x_0 = x0; "free"; or bounds (lower, upper) on x_0, counted as those of the state are:
            lower <= x_0 ⊖ state.zero() <= upper, each (ndx,), ±inf where there is none; equal where a coordinate is
            fixed. SolverDDP, SolverFDDP and those with control limits take a fixed start.

    Attributes:
        schedule: Contact schedule that the parameters were set for, which reports compare a motion with; None for a
            problem that is no gait.

    Raises:
        InvalidArgumentError: x0 is not a state, bounds do not fit, or models do not fit together.
    """

    settable = ("schedule",)

    def __init__(
        self,
        x0: npt.ArrayLike,
        running: Sequence[ActionModelAbstract],
        terminal: ActionModelAbstract | CostStack,
        *,
        start: StartLike = "fixed",
    ) -> None:
        if not isinstance(running, (list, tuple)):
            raise InvalidArgumentError(
                f"running: expected a list of action models, one a knot, got {type(running).__name__}; "
                "write [model] * T"
            )
        self._running = list(running)
        self._terminal = ActionModelTerminal(terminal) if isinstance(terminal, CostStack) else terminal
        check_models(self._running, self._terminal)
        if isinstance(self._terminal, ActionModelExpression):
            self._terminal.program("terminal")
        self.state = [*self._running, self._terminal][0].state
        self._x0 = check_x0(x0, self.state)
        self._start = check_start(start, self.state)
        self._kinds = kinds_of(self._running, self._terminal)
        self._nu = max((kind.model.nu for kind in self._kinds[:-1]), default=0)
        self._table = ParameterTable(self._kinds, self.T)
        self._evaluator: Evaluator | None = None
        self.schedule: ContactSchedule | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        made = (self._x0, self._running, self._terminal, self._start, self._table.values)
        return (_rebuild, made, {"schedule": self.schedule})

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
        """Lower and upper bounds of the constraint rows (T + 1, nc), infinite where there is none."""
        return self._table.rows.bounds()

    def row_softness(self) -> tuple[Reals, Reals]:
        """Weights (linear, quadratic) of the slacks of the constraint rows (T + 1, nc), inf and 0 of hard rows.

        A soft row may be beyond its bounds by s >= 0, which costs linear · s + ½ quadratic · s². It is no part of the
        costs of `calc`, of cost terms or of a solution.
        """
        return self._table.rows.softness()

    def check_rows(self) -> None:
        """Checks bounds and weights of the constraint rows as they are now; solvers call it.

        Raises:
            InvalidArgumentError: Bounds cross, or a soft row costs nothing; the message names constraint and knot.
        """
        if self.nc:
            self._table.rows.check()

    def warn_of_given_rows(self, rows: Reals) -> None:
        """Warns of equations at knot 0 that a given x0 violates: rows free of u are not enforced there.

        Args:
            rows: The constraint rows at knot 0 (nc,).
        """
        if self._start == "fixed" and self.nc:
            self._table.rows.warn_of_given(rows)

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """Names of the constraints, in the order of the knots that have them first."""
        return tuple(dict.fromkeys(name for kind in self._kinds for name in kind.row_sizes()))

    @property
    def soft_constraint_names(self) -> tuple[str, ...]:
        """Names of the constraints that are soft at some knot."""
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
        """The action model of the end."""
        return self._terminal

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Kinds of knots 0..T in the order in which they first occur; the end is the last one."""
        return tuple(self._kinds)

    @property
    def table(self) -> ParameterTable:
        """Values of the run-time parameters, and bounds and slacks of the constraint rows; `rows` has the latter."""
        return self._table

    @property
    def x0(self) -> Reals:
        """Initial state (nx,), or its guess unless the start is fixed; read-only, set it as a whole."""
        return self._x0

    @x0.setter
    def x0(self, value: npt.ArrayLike) -> None:
        self._x0 = check_x0(value, self.state)

    @property
    def start(self) -> Start:
        """Start of the horizon: "fixed", "free", or bounds (lower, upper) of x_0 ⊖ state.zero(), (ndx,) each."""
        return self._start

    @property
    def times(self) -> Reals | None:
        """Time of each knot from 0 (T + 1,) [s]; None if a knot has no time step."""
        times = np.zeros(self.T + 1)
        for kind in self._kinds[:-1]:
            step = kind.model.time_step()
            if step is None:
                return None
            after = np.array(kind.knots) + 1
            times[after] = (
                self._table.values[kind.knots, kind.layout.slices["dt"]].ravel() if "dt" in kind.layout.slices else step
            )
        return np.cumsum(times)

    # Run-time parameters

    @property
    def parameters(self) -> dict[str, ParameterInfo]:
        """Run-time parameters by name, with shape, unit and the knots 0..T that have them."""
        return self._table.infos

    def get_parameter(self, name: str, knots: Knots = None) -> Reals:
        """Value of a parameter: of its shape if all knots agree, else one a knot (n, *shape).

        Args:
            name: Its name, such as "goal.reference".
            knots: A number, range, slice or list of 0..T (T is the terminal), "running", "terminal" or "all"; all by
                default.
        """
        return self._table.get(name, knots)

    def set_parameter(self, name: str, value: Any, knots: Knots = None) -> None:
        """Sets a parameter; compiles nothing.

        Args:
            name: Its name, such as "goal.reference".
            value: A value of its shape, or what its model accepts (such as a pinocchio.SE3); or one value a knot.
            knots: As in `get_parameter`. Without it, a value that differs between running knots and the end is refused.

        Raises:
            UnknownNameError: No knot has such a parameter.
            InvalidArgumentError: The value does not fit, or it is not clear which knots are meant.
        """
        self._table.set(name, value, knots)

    def parameter_values(self) -> Mapping[str, Reals]:
        """Values of all parameters by name as they are now, one row a knot that has it."""
        return self._table.snapshot()

    # Evaluation

    def check_guess(self, xs: Any, us: Any) -> tuple[Reals, Reals]:
        """A trajectory as new arrays (T + 1, nx) and (T, nu), zero along controls that a knot does not have.

        Raises:
            InvalidArgumentError: Sizes do not fit, or a value is not finite or not a state.
        """
        return as_states(xs, self.T + 1, self.state), as_controls(us, self._kinds[:-1], self.T, self.nu)

    def calc(self, xs: npt.ArrayLike, us: npt.ArrayLike) -> ProblemValues:
        """Costs, next states and gaps along states (T + 1, nx) and controls (T, nu)."""
        e = self._expanded(xs, us)
        return ProblemValues(**self._values(e))

    def _values(self, e: Evaluator) -> dict[str, Any]:
        """The fields of `ProblemValues`."""
        lower, upper = e.row_bounds()
        copies = {"costs": e.costs, "xnext": e.xnext, "gaps": e.f, "rows": e.c}
        named = {name: array.copy() for name, array in copies.items()}
        return {"cost": e.cost, **named, "lower": lower, "upper": upper}

    def calc_diff(self, xs: npt.ArrayLike, us: npt.ArrayLike) -> ProblemDerivatives:
        """Values and derivatives along states (T + 1, nx) and controls (T, nu)."""
        e, T, n = self._expanded(xs, us), self.T, self.state.ndx
        F, g, H = e.full()
        return ProblemDerivatives(
            **self._values(e),
            Fx=F[:, :, :n],
            Fu=F[:, :, n:],
            Lx=g[:, :n],
            Lu=g[:T, n:],
            Lxx=H[:, :n, :n],
            Lxu=H[:T, :n, n:],
            Luu=H[:T, n:, n:],
            Cx=np.concatenate([e.C[:, :, :n], e.terminal_C[None]]),
            Cu=e.C[:, :, n:].copy(),
        )

    def _own_evaluator(self) -> Evaluator:
        """For the calls here; solvers have their own."""
        if self._evaluator is None:
            self._evaluator = Evaluator(self)
        return self._evaluator

    def _expanded(self, xs: Any, us: Any) -> Evaluator:
        states, controls = self.check_guess(xs, us)
        e = self._own_evaluator()
        e.xs[:], e.us[:] = states, controls
        e.expand(self._x0 if self._start == "fixed" else None)
        e.check_finite()
        return e

    def rollout(self, us: npt.ArrayLike) -> Reals:
        """States (T + 1, nx) that controls (T, nu) lead to from x0.

        Raises:
            ModelEvaluationError: A state is not finite, or an equation that a model solves has no solution; the
                message names the knot.
        """
        controls, e = as_controls(us, self._kinds[:-1], self.T, self.nu), self._own_evaluator()
        e.us[:], e.xs[:], e.k[:], e.K[:] = controls, self._x0, 0.0, 0.0
        trial = e.trials(1)
        trial.roll_out(self._x0, [1.0], None)
        if e.can_fail:
            e.xs[:] = trial.xs[0]
            e.expand(self._x0)  # raises where a step has failed
        bad = np.flatnonzero(~np.isfinite(trial.xs[0]).all(axis=1))
        if len(bad):
            t = int(bad[0]) - 1
            raise ModelEvaluationError(
                f"knot {t}: {type(self._running[t]).__name__} leads to a state that is not finite, from "
                f"x = {shown_numbers(trial.xs[0, t], self.state.coordinate_names)}; roll out smaller controls, take a "
                "shorter time step, or give a solver states beside them: solve(xs, us)"
            )
        return trial.xs[0].copy()

    def quasi_static(self, xs: npt.ArrayLike) -> Reals:
        """Controls (T, nu) that hold each of the states (T, nx), with velocities set to zero, as well as they can."""
        states = as_states(xs, self.T, self.state, "states (one a running knot)")
        controls = np.zeros((self.T, self.nu))
        for kind in self._kinds[:-1]:
            known: dict[bytes, Reals] = {}
            for t in kind.knots if kind.model.nu else ():
                x, values = states[t], self._table.values[t]
                key = x.tobytes() + values.tobytes()
                if key not in known:
                    known[key] = self._held(kind, t, x, values)
                controls[t, : kind.model.nu] = known[key]
        return controls

    @staticmethod
    def _held(kind: Kind, t: int, x: Reals, values: Reals) -> Reals:
        """The control that holds a state at a knot."""
        try:
            return kind.quasi_static(x, values)
        except ModelEvaluationError as error:
            if str(error).startswith("knot "):
                raise
            raise ModelEvaluationError(f"knot {t}: {error}") from error.__cause__ or error
        except InvalidArgumentError as error:  # of a user's expression
            raise ModelEvaluationError(f"knot {t}: {error}") from error
        except Exception as error:
            missing = isinstance(error, NotImplementedError)
            cure = "; to solve without it, write quasi_static, or pass us to the solve" if missing else ""
            raise ModelEvaluationError(
                f"knot {t}: {class_name(kind.model)}.quasi_static, the control that holds a state at rest, raised "
                f"{type(error).__name__}: {error}{cure}"
            ) from error

    # Receding horizons

    def circular_append(self, model: ActionModelAbstract | None = None) -> None:
        """Drops the first knot and appends one before the end; x0 and start stay as they are.

        Parameter values move along with their knots. The appended knot has the first values of `model`, or those of the
        last knot if no model is given. Nothing is compiled that was compiled before.

        Args:
            model: Action model of the new knot; that of the last one by default.

        Raises:
            InvalidArgumentError: The model does not fit, or there is no knot to drop.
        """
        T, old = self.T, self._table.values
        if T == 0:
            raise InvalidArgumentError("circular_append: expected a problem with T >= 1, this one has no running knot")
        running = [*self._running[1:], self._running[-1] if model is None else model]
        moved = ShootingProblem(self._x0, running, self._terminal)
        values = moved._table.values
        width = min(values.shape[1], old.shape[1])
        values[: T - 1, :width], values[T, :width] = old[1:T, :width], old[T, :width]
        if model is None:
            values[T - 1, :width] = old[T - 1, :width]
        if all(a is b for a, b in zip(self._running, moved._running)):
            old[:] = values  # evaluators stay as they are
            return
        self._running, self._kinds, self._nu = moved._running, moved._kinds, moved._nu
        self._table, self._evaluator = moved._table, None

    def __repr__(self) -> str:
        kinds = ", ".join(f"{len(k.knots)} x {type(k.model).__name__}" for k in self._kinds[:-1])
        sizes = f"T={self.T}, nx={self.state.nx}, ndx={self.state.ndx}, nu={self.nu}"
        start = self._start if isinstance(self._start, str) else "within bounds"
        shown = f"running: {kinds or 'none'}, terminal: {self._terminal!r}, start: {start}"
        return f"ShootingProblem({sizes}, {shown.removesuffix(', start: fixed')})"

    def _repr_html_(self) -> str:
        from trajopt.shooting.notebook import html_of

        return html_of(self)


def _rebuild(x0: Reals, running: list[Any], terminal: Any, start: StartLike, values: Reals) -> ShootingProblem:
    problem = ShootingProblem(x0, running, terminal, start=start)
    problem.table.values[:] = values
    return problem
