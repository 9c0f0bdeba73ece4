"""The shooting problem: an initial state, one action model a knot, and what the end costs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.actions.base import ActionModelAbstract
from trajopt.actions.expression import ActionModelExpression
from trajopt.actions.terminal import ActionModelTerminal
from trajopt.checks import check_array
from trajopt.costs.cost_stack import CostStack
from trajopt.errors import InvalidArgumentError, ModelEvaluationError
from trajopt.shooting.checks import check_length, check_running, cure
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.knots import Kind, Knots, ParameterInfo, ParameterTable, kinds_of
from trajopt.shooting.linearization import Evaluation, Linearization
from trajopt.types import Reals


class ShootingProblem:
    """minimise Σ l_t(x_t, u_t) + l_T(x_T) subject to x_{t+1} = f_t(x_t, u_t), x_0 given.

    A problem is used by one thread at a time.

    Args:
        x0: Initial state (nx,).
        running: One action model a knot 0..T-1. Knots that share a model share its compiled code and may still have
            parameter values of their own.
        terminal: An action model, evaluated without control, or a CostStack.

    Raises:
        InvalidArgumentError: x0 is not a state, there is no knot, or models do not fit together.
    """

    def __init__(
        self, x0: npt.ArrayLike, running: Sequence[ActionModelAbstract], terminal: ActionModelAbstract | CostStack
    ) -> None:
        if not isinstance(running, (list, tuple)):
            raise InvalidArgumentError(
                f"running: expected a list of action models, one a knot, got {type(running).__name__}; "
                "write [model] * T"
            )
        self._running = list(running)
        self._terminal = ActionModelTerminal(terminal) if isinstance(terminal, CostStack) else terminal
        self._check_models()
        self.state = self._running[0].state
        self._x0 = self.state.check(x0, "x0")
        self._table = ParameterTable(self._kinds(), self.T)
        self._evaluator: Evaluator | None = None
        self.version = 0  # changes when the models of the knots change

    def _check_models(self) -> None:
        if not self._running:
            raise InvalidArgumentError("running: expected at least one action model")
        for t, model in enumerate([*self._running, self._terminal]):
            name = f"running[{t}]" if t < len(self._running) else "terminal"
            if not isinstance(model, ActionModelAbstract):
                raise InvalidArgumentError(f"{name}: expected an action model{cure(name, model)}")
            if model.state != self._running[0].state:
                raise InvalidArgumentError(
                    f"{name}: its state {model.state!r} is not that of running[0], {self._running[0].state!r}"
                )
            if t < len(self._running):
                check_running(name, model)
        if isinstance(self._terminal, ActionModelExpression):
            self._terminal.program("terminal")
        if max(m.nu for m in self._running) == 0:
            raise InvalidArgumentError("running: no knot has a control, there is nothing to optimise; see rollout")

    def _kinds(self) -> list[Kind]:
        return kinds_of(self._running, self._terminal)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (self._x0, self._running, self._terminal, self._table.values))

    @property
    def T(self) -> int:
        """Number of running knots [-]."""
        return len(self._running)

    @property
    def nu(self) -> int:
        """Largest number of controls of a knot [-]."""
        return max(m.nu for m in self._running)

    @property
    def running(self) -> tuple[ActionModelAbstract, ...]:
        """The action models of knots 0..T-1."""
        return tuple(self._running)

    @property
    def terminal(self) -> ActionModelAbstract:
        """The action model of the end."""
        return self._terminal

    @property
    def x0(self) -> Reals:
        """Initial state (nx,); can be set."""
        return self._x0.copy()

    @x0.setter
    def x0(self, value: npt.ArrayLike) -> None:
        self._x0 = self.state.check(value, "x0")

    @property
    def times(self) -> Reals | None:
        """Time of each knot from 0 (T + 1,) [s]; None if a knot has no time step."""
        times = np.zeros(self.T + 1)
        for kind in self._kinds()[:-1]:
            step = kind.model.time_step()
            if step is None:
                return None
            after = np.array(kind.knots) + 1
            times[after] = self._table.values[kind.knots, kind.layout["dt"]].ravel() if "dt" in kind.layout else step
        return np.cumsum(times)

    @property
    def control_names(self) -> list[str]:
        """Name of each control."""
        return max(self._running, key=lambda m: m.nu).control_names

    @property
    def control_lower(self) -> Reals:
        """Lower limits of the controls (nu,); solvers of this package that know no limits ignore them."""
        return max(self._running, key=lambda m: m.nu).lower.copy()

    @property
    def control_upper(self) -> Reals:
        """Upper limits of the controls (nu,)."""
        return max(self._running, key=lambda m: m.nu).upper.copy()

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

    @contextlib.contextmanager
    def with_parameters(self, values: Mapping[str, Reals], x0: npt.ArrayLike) -> Iterator[None]:
        """Inside, parameters have the values of an earlier `parameter_values()`, and x0 is another."""
        now, start = self._table.values.copy(), self._x0
        try:
            self._table.load(values)
            self._x0 = self.state.check(x0, "x0")
            yield
        finally:
            self._table.values[:] = now
            self._x0 = start

    # Evaluation

    @property
    def evaluator(self) -> Evaluator:
        """The problem's arrays and compiled calls, for solvers; made when it is first asked."""
        if self._evaluator is None:
            self._evaluator = self.new_evaluator()
        return self._evaluator

    def new_evaluator(self) -> Evaluator:
        """Arrays and compiled calls of one's own."""
        return Evaluator(self.state, self._kinds(), self.T, self.nu, self._table.values)

    def check_guess(self, xs: Any, us: Any) -> tuple[Reals, Reals]:
        """A trajectory as arrays (T + 1, nx) and (T, nu).

        Raises:
            InvalidArgumentError: Sizes do not fit, or a value is not finite or not a state.
        """
        check_length("xs", xs, self.T + 1, "states (T + 1)")
        states = _as_rows(xs, (self.T + 1, self.state.nx))
        if states is None or not self.state.are_states(states):
            states = np.array([self.state.check(x, f"xs[{t}]") for t, x in enumerate(xs)])
        return states, self._check_controls(us)

    def _check_controls(self, us: Any) -> Reals:
        check_length("us", us, self.T, "controls (T)")
        nu = self.nu
        controls = _as_rows(us, (self.T, nu))
        if controls is None or not np.all(np.isfinite(controls)):
            controls = np.zeros((self.T, nu))
            for t, (u, model) in enumerate(zip(us, self._running)):
                size = nu if np.shape(u) == (nu,) else model.nu  # padded, or as the model has it
                controls[t, : model.nu] = check_array(f"us[{t}]", u, (size,))[: model.nu]
        for t, model in enumerate(self._running):
            controls[t, model.nu :] = 0.0
        return controls

    def calc(self, xs: npt.ArrayLike, us: npt.ArrayLike) -> Evaluation:
        """Costs, next states and gaps along states (T + 1, nx) and controls (T, nu)."""
        e = self._linearized(xs, us)
        return Evaluation(cost=float(e.costs.sum()), costs=e.costs.copy(), xnext=e.xnext.copy(), gaps=e.gaps.copy())

    def calc_diff(self, xs: npt.ArrayLike, us: npt.ArrayLike) -> Linearization:
        """Values and derivatives along states (T + 1, nx) and controls (T, nu)."""
        e, n = self._linearized(xs, us), self.state.ndx
        return Linearization(
            cost=float(e.costs.sum()),
            costs=e.costs.copy(),
            xnext=e.xnext.copy(),
            gaps=e.gaps.copy(),
            Fx=e.F[:, :, :n].copy(),
            Fu=e.F[:, :, n:].copy(),
            Lx=np.vstack([e.g[:, :n], e.terminal_Lx]),
            Lu=e.g[:, n:].copy(),
            Lxx=np.concatenate([e.H[:, :n, :n], e.terminal_Lxx[None]]),
            Lxu=e.H[:, :n, n:].copy(),
            Luu=e.H[:, n:, n:].copy(),
        )

    def _linearized(self, xs: Any, us: Any) -> Evaluator:
        states, controls = self.check_guess(xs, us)
        e = self.evaluator
        e.xs[:], e.us[:] = states, controls
        e.linearize(self._x0)
        e.check_finite()
        return e

    def rollout(self, us: npt.ArrayLike) -> Reals:
        """States (T + 1, nx) that controls (T, nu) lead to from x0.

        Raises:
            ModelEvaluationError: A state is not finite; the message names the knot.
        """
        e = self.evaluator
        e.us[:], e.xs[:], e.k[:], e.K[:] = self._check_controls(us), self._x0, 0.0, 0.0
        trial = e.trials(1)
        trial.xs[0, 0], trial.alphas[:], trial.gaps[:] = self._x0, 1.0, 0.0
        trial.run()
        bad = np.flatnonzero(~np.isfinite(trial.xs[0]).all(axis=1))
        if len(bad):
            t = int(bad[0]) - 1
            raise ModelEvaluationError(
                f"knot {t}: {type(self._running[t]).__name__} leads to a state that is not finite, from "
                f"x = {trial.xs[0, t]}; roll out smaller controls, or take a shorter time step"
            )
        return trial.xs[0].copy()

    def quasi_static(self, xs: npt.ArrayLike) -> Reals:
        """Controls (T, nu) that hold each of the states (T, nx), with velocities set to zero, as well as they can."""
        check_length("xs", xs, self.T, "states (one a running knot)")
        controls = np.zeros((self.T, self.nu))
        known: dict[tuple[int, bytes], Reals] = {}
        for t, (x, model) in enumerate(zip(xs, self._running)):  # type: ignore[arg-type]
            state = self.state.check(x, f"xs[{t}]")
            if model.nu == 0:
                continue
            key = (id(model), state.tobytes() + self._table.values[t].tobytes())
            if key not in known:
                known[key] = self._quasi_static(t, state)
            controls[t, : model.nu] = known[key]
        return controls

    def _quasi_static(self, t: int, state: Reals) -> Reals:
        model = self._running[t]
        if isinstance(model, ActionModelExpression):
            return model.quasi_static(state, self._table.at(t))
        return model.quasi_static(state)

    def cost_terms(self, xs: npt.ArrayLike, us: npt.ArrayLike) -> dict[str, Reals]:
        """Contribution of each cost term by knot, (T + 1,) [cost]; NaN where a knot has no such term."""
        states, controls = self.check_guess(xs, us)
        terms: dict[str, Reals] = {}
        for kind in self._kinds():
            where, model = list(kind.knots), kind.model
            if isinstance(model, ActionModelExpression):
                p = self._table.values[where, : model.layout.size]
                values = model.term_values(states[where], None if kind.terminal else controls[where, : model.nu], p)
            else:
                values = _black_box_terms(model, states[where], None if kind.terminal else controls[where, : model.nu])
            for name, value in values.items():
                terms.setdefault(name, np.full(self.T + 1, np.nan))[where] = value
        return terms

    def contact_forces(self, xs: npt.ArrayLike, us: npt.ArrayLike) -> dict[str, Reals]:
        """Force of each contact, or impulse, at the running knots, (T, n) [N, N m; N s, N m s].

        In the contact's reference frame; zero where it is not active, NaN where a knot has none of this name.

        Args:
            xs: States (T + 1, nx).
            us: Controls (T, nu).

        Raises:
            InvalidArgumentError: Contacts of one name have different sizes.
        """
        states, controls = self.check_guess(xs, us)
        forces: dict[str, Reals] = {}
        for kind in self._kinds()[:-1]:
            where, model = list(kind.knots), kind.model
            if isinstance(model, ActionModelExpression):
                p = self._table.values[where, : model.layout.size]
                for name, value in model.force_values(states[where], controls[where, : model.nu], p).items():
                    rows = forces.setdefault(name, np.full((self.T, value.shape[1]), np.nan))
                    if rows.shape[1] != value.shape[1]:
                        sizes = f"{value.shape[1]} elements at knot {where[0]}, {rows.shape[1]} at others"
                        raise InvalidArgumentError(f"{name}: {sizes}; give contacts of different sizes different names")
                    rows[where] = value
        return forces

    # Receding horizons

    def circular_append(self, model: ActionModelAbstract | None = None) -> None:
        """Drops the first knot and appends one before the end; x0 stays as it is.

        Parameter values move along with their knots. The appended knot has the first values of `model`, or those of the
        last knot if no model is given. Nothing is compiled that was compiled before.

        Args:
            model: Action model of the new knot; that of the last one by default.
        """
        T, old = self.T, self._table.values
        moved = ShootingProblem(
            self._x0, [*self._running[1:], self._running[-1] if model is None else model], self._terminal
        )
        values = moved._table.values
        width = min(values.shape[1], old.shape[1])
        values[: T - 1, :width], values[T, :width] = old[1:T, :width], old[T, :width]
        if model is None:
            values[T - 1, :width] = old[T - 1, :width]
        if all(a is b for a, b in zip(self._running, moved._running)):
            old[:] = values  # evaluators stay as they are
            return
        self._running, self._table, self._evaluator = moved._running, moved._table, None
        self.version += 1

    def __repr__(self) -> str:
        kinds = ", ".join(f"{len(k.knots)} x {type(k.model).__name__}" for k in self._kinds()[:-1])
        sizes = f"T={self.T}, nx={self.state.nx}, ndx={self.state.ndx}, nu={self.nu}"
        return f"ShootingProblem({sizes}, running: {kinds}, terminal: {self._terminal!r})"


def _as_rows(value: Any, shape: tuple[int, int]) -> Reals | None:
    """A copy as an array of this shape, if it is one or a list of its rows; else None."""
    alike = isinstance(value, np.ndarray) or all(
        isinstance(row, np.ndarray) and row.shape == shape[1:] for row in value
    )
    if not alike or np.shape(value) != shape:
        return None
    rows = np.asarray(value)
    return np.array(rows, dtype=np.float64) if rows.dtype.kind in "fiu" else None


def _black_box_terms(model: ActionModelAbstract, xs: Reals, us: Reals | None) -> dict[str, Reals]:
    rows = [model.cost_terms(x, None if us is None else us[i]) for i, x in enumerate(xs)]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _rebuild(x0: Reals, running: list[Any], terminal: Any, values: Reals) -> ShootingProblem:
    problem = ShootingProblem(x0, running, terminal)
    problem._table.values[:] = values
    return problem
