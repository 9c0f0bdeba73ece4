"""MPCController: shift, prepare, measure, solve, act."""

from __future__ import annotations

import contextlib
import copy
import logging
import time
from typing import Any

import numpy as np

from trajopt import solvers
from trajopt.checks import check_finite, check_instance, check_known
from trajopt.errors import InvalidArgumentError, ModelEvaluationError, UnsupportedOperationError, shown
from trajopt.kernels import wait_until_optimised, without_background
from trajopt.mpc.controlled import check_controlled
from trajopt.mpc.converged import Converged, PlanOutcome, slack_price
from trajopt.mpc.estimator import Estimator
from trajopt.mpc.last_plan import LastPlan, controls_without_rows
from trajopt.mpc.options import MPCOptions
from trajopt.mpc.real_time import RealTime
from trajopt.mpc.repeat import repeated, tried
from trajopt.mpc.sensitivity import PlanDerivatives
from trajopt.mpc.shift import SAME, Shift
from trajopt.mpc.step import MPCStatus, MPCStep
from trajopt.mpc.window import Schedule, Window
from trajopt.objects.immutable import Immutable
from trajopt.shooting import ShootingProblem
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.knots import Knots
from trajopt.solvers import SolverAbstract, SolverSQP
from trajopt.solvers.sqp.real_time import Limits, Plan, PlanEvaluator, RealTimeIteration
from trajopt.types import Reals

LOG = logging.getLogger("trajopt.mpc")


class MPCController(Immutable):
    """Solves a problem again at each measured state, over a window of fixed length that moves with time.

    `reset` solves the problem for the first time and compiles all code. Then `step` takes each measurement, plans from
    it and returns the control. A loop of your own can split `step`: call `feedback` when the measurement arrives, and
    `prepare` in the time before the next one.

    The controller copies the problem and sets the parameters that change with time. Set the others between two steps
    with `controller.problem.set_parameter(...)`; they take effect at the next preparation.

    Controls are clipped to the limits `lower` and `upper` of the models. SolverSQP plans only with limits that are
    constraints; `reset` logs a warning if a limit of a model is missing there.

    Args:
        problem: Problem of the first window, with a fixed start.
        solver: Class of a solver, or its name.
        options: Options; None for the defaults.

    Attributes:
        problem: The controller's own copy of the problem.
        options: The options.
        dt: Time from one measurement to the next [s].
        estimator: Kalman filter of `estimate` and `offset_free`; None without them.

    Raises:
        InvalidArgumentError: An argument has the wrong type, or does not fit the others.
        UnknownNameError: There is no solver of this name.
    """

    def __init__(
        self,
        problem: ShootingProblem,
        solver: type[SolverAbstract[Any]] | str = SolverSQP,
        options: MPCOptions | None = None,
    ) -> None:
        check_controlled(problem)
        self.options = check_instance("options", MPCOptions() if options is None else options, MPCOptions)
        self.problem, self._x0 = copy.copy(problem), problem.x0
        self._window = Window(self.problem, self.options.dt)
        self.dt = self._window.period(self.options.dt)
        kind, own = _solver(solver, self.options.mode), self.options.solver_options
        self._plans_within = getattr(kind, "keeps_limits", False)  # of the models
        self._softens = kind.honours_soft_constraints and self.problem.nc > 0
        self._evaluator = e = Evaluator(self.problem)
        self._limits = limits = Limits(e, self.problem)
        self._judge = judge = PlanEvaluator(e, limits)
        budget = self.options.time_budget
        self._last_plan = LastPlan(e, limits)
        self._solve = Converged(kind, self.problem, own, judge, limits, budget)
        self._engine: Converged | RealTime = self._solve
        if self.options.mode == "real-time":
            exact = self.options.hessian == "exact"
            iteration = RealTimeIteration(e, judge, limits, iterations=self.options.iterations, exact=exact)
            self._engine = RealTime(iteration, budget)
        self._derivatives = PlanDerivatives(self.problem, kind.__name__)
        o = self.options
        self.estimator = Estimator(self.problem, o.estimate, o.offset_free) if o.estimate or o.offset_free else None
        self._plan, self._shift = Plan.zeros(self.problem), Shift(self.problem, self._window.offsets)
        self._t: float | None = None  # of the last step
        self._next = 0.0  # when the next measurement is expected
        self._begun, self._prepared, self._failed, self._preparation_time = False, False, False, 0.0
        self._seen: tuple[float, Reals] | None = None  # last measurement, while schedules have not seen it

    # Once

    def reset(self, x0: Any = None, t: float = 0.0, guess: Any = None) -> MPCStep:
        """Solves the first window, compiles the code of all steps, and discards the last plan.

        It waits until the code of this process is optimised; set TRAJOPT_OPTIMISE=off to keep code that compiles
        faster and runs slower.

        Args:
            x0: State at the start (nx,); by default x0 of the problem.
            t: Time of the start [s], at which the first step is expected.
            guess: Initial guess (xs, us), or a Solution; by default the solver's own guess.

        Returns:
            The plan from x0, as a step.

        Raises:
            InvalidArgumentError: An argument does not fit, or a reference ends within the window.
        """
        x = self._x0.copy() if x0 is None else self.problem.state.check(x0, "x0")
        now = check_finite("t", t)
        started = time.perf_counter()
        if self.estimator is not None:
            self.estimator.begin(np.ones(self.problem.nu))
        self._window.see(now, x)
        self._seen = None
        self._window.move(now)
        self._compile()
        plan, self._t, self._begun = self._plan, None, False
        plan.take(np.tile(x, (self.problem.T + 1, 1)), np.zeros_like(plan.us), None, None, None)
        self._evaluator.xs[:], self._evaluator.us[:] = plan.xs, plan.us
        for array in (plan.K, plan.lam, plan.y):
            array.fill(0.0)
        plan.t = now
        with without_background() if self._rests else contextlib.nullcontext():
            outcome = self._first(plan, x, guess)
        if self.estimator is not None:
            span = self._limits.upper[0] - self._limits.lower[0]
            self.estimator.begin(np.where(np.isfinite(span), span, np.abs(plan.us).max(axis=0, initial=1e-6)))
        if isinstance(self._engine, RealTime):
            self._engine.begin()
        if self._rests:
            self._solve.forget()
        if not self._plans_within and (names := controls_without_rows(self._evaluator, self._limits)):
            LOG.warning(
                "plans ignore the limits of %s, so controls are clipped afterwards. Add the limits as a constraint: "
                'ConstraintStack(state).add("limits", ResidualModelControl(state), lower=..., upper=...)',
                ", ".join(names),
            )
        reason = self._rehearse()
        wait_until_optimised()  # a real-time loop must not begin with slow code
        if reason and not outcome.reason:
            outcome.reason = f"a step from there fails: {reason}"
        self._judge.see(plan)
        self._engine.prepare(plan)
        self._begun, self._failed = True, outcome.status is MPCStatus.FAILED
        self._next, self._prepared, self._preparation_time = now, True, time.perf_counter() - started
        return self._step(now, outcome, started)

    def _compile(self) -> None:
        self._evaluator.prepare(clipped=True)
        self._judge.prepare()
        self._shift.prepare()

    def _first(self, plan: Plan, x: Reals, guess: Any) -> PlanOutcome:
        """First solve, with hard limits of states; if that fails, with soft limits for this and all later solves."""
        rows, prices = self.problem.table.rows, self.options.soft
        rows.soften(prices if self._softens else None)
        self._limits.begin()
        outcome = self._solve.begin(plan, x, guess)
        if self._softens and prices is None:
            price = slack_price(self._evaluator, self.problem, plan)
            if outcome.status is MPCStatus.FAILED:
                rows.soften((price, price))
                outcome = self._solve.begin(plan, x, guess)
                price = max(price, slack_price(self._evaluator, self.problem, plan))
            rows.soften((price, price))
        self._limits.begin()
        return outcome

    @property
    def _rests(self) -> bool:
        """Whether full solves are over after the first one: steps are iterations, also those after failed ones."""
        return self.options.mode == "real-time" and self.options.on_failure != "solve"

    def _rehearse(self) -> str:
        """Runs a step and discards it, so that solvers compile all code; returns why it failed, or an empty text."""
        plan, reason = copy.deepcopy(self._plan), ""
        self._shift(plan, plan.t + 0.5 * self.dt)
        for engine in (self._engine,) if self._rests else (self._solve, self._engine):
            try:
                engine.prepare(plan)
                engine.feedback(plan, plan.xs[0].copy())
            except ModelEvaluationError as error:  # a failed step is no error here
                reason = str(error)
        self._last_plan.follow(plan, plan.xs[0].copy())
        return reason

    # Each time

    def step(self, x: Any, t: float | None = None) -> MPCStep:
        """Returns the control for a measured state, then prepares the next step.

        Args:
            x: Measured state (nx,).
            t: Time of the measurement [s], not before the last one; by default dt after it.

        Raises:
            InvalidArgumentError: An argument does not fit, or a reference has ended; the controller is unchanged.
        """
        step = self.feedback(x, t)
        try:
            self.prepare()
        except InvalidArgumentError:  # a reference has ended: the next measurement raises the error
            self._prepared = False
        return step

    def feedback(self, x: Any, t: float | None = None) -> MPCStep:
        """Returns the control for a measured state without preparing the next step; arguments as in `step`."""
        started = time.perf_counter()
        now = self._time(t)
        measured = self.problem.state.check(x, "x")
        self._seen = now, measured
        if not self._prepared or abs(now - self._next) > SAME * self.dt:
            self._prepare(now)
        outcome = self._planned(measured)
        self._t, self._next, self._prepared = now, now + self.dt, False
        step = self._step(now, outcome, started)
        if self.estimator is not None:
            self.estimator.see(now, measured, step.u)
        return step

    def _planned(self, x: Reals) -> PlanOutcome:
        """Computes the plan from a measured state; if that fails, continues the policy of the last plan."""
        plan, on_failure = self._plan, self.options.on_failure
        engine = self._solve if self._failed and on_failure == "solve" else self._engine
        outcome = tried(engine, plan, x)
        if outcome.status is MPCStatus.FAILED and callable(on_failure):
            outcome = repeated(engine, plan, x, plan.t + self._window.offsets, on_failure, outcome)
        self._failed = outcome.status is MPCStatus.FAILED
        if self._failed:
            self._last_plan.follow(plan, x)
            self._judge.see(plan)
        return outcome

    def prepare(self) -> None:
        """Prepares the next step: does all work that does not need its measurement.

        Raises:
            InvalidArgumentError: A reference ends within the next window.
        """
        self._check_reset()
        if not self._prepared:
            self._prepare(self._next)

    def _prepare(self, t: float) -> None:
        started = time.perf_counter()
        if self._seen is not None:
            self._window.see(*self._seen)
            self._seen = None
        if self.estimator is not None:
            self.estimator.update()
        self._window.move(t)
        self._shift(self._plan, t)
        self._engine.prepare(self._plan)
        self._next, self._prepared = t, True
        self._preparation_time = time.perf_counter() - started

    def _check_reset(self) -> None:
        if not self._begun:
            raise InvalidArgumentError("step: the controller has no plan yet; call reset(x0) first")

    def _time(self, t: float | None) -> float:
        """Checks the time of a measurement and returns it [s]."""
        self._check_reset()
        if t is None:
            return self._next
        now, last = check_finite("t", t), self._plan.t if self._t is None else self._t
        if now < last - SAME * self.dt:
            raise InvalidArgumentError(
                f"t: expected a time >= {last:g} s, that of the last measurement, got {now:g} s; call reset(x0, t) to "
                "start again at an earlier time"
            )
        return now

    def _step(self, t: float, outcome: PlanOutcome, started: float) -> MPCStep:
        plan, judge, limits = self._plan, self._judge, self._limits
        self._derivatives.remember(plan, failed=outcome.status is MPCStatus.FAILED)
        violated, d = judge.violated, 0.0 if self.estimator is None else self.estimator.disturbance
        reasons = [outcome.reason, f"{violated}: violated by {judge.violation:.3g}" if violated else ""]
        return MPCStep(
            t=t,
            u=np.minimum(np.maximum(plan.us[0] - d, limits.lower[0]), limits.upper[0]),  # np.clip takes 5 us more
            K=plan.K[0].copy(),
            xs=plan.xs.copy(),
            us=plan.us - d,
            times=t + self._window.offsets,
            status=outcome.status,
            reason="; ".join(reason for reason in reasons if reason),
            cost=judge.cost,
            violation=judge.violation,
            violated=violated,
            iterations=outcome.iterations,
            preparation_time=self._preparation_time,
            feedback_time=time.perf_counter() - started,
        )

    # Along time

    def follow(self, name: str, reference: Any, *, interpolate: bool = True, hold: bool = False) -> None:
        """Makes a parameter follow a reference over time: each knot gets the value at its time.

        Costs of Runge-Kutta steps get the value at the middle of the step, see `ShootingProblem.reference_times`.
        A function is called once for each knot in each step; use `schedule` for a function of all times at once.

        Args:
            name: Name of the parameter, such as "goal.reference".
            reference: A function of the time [s]; or a pair (times, values) of samples (n,) [s] and (n, *shape). None
                stops following.
            interpolate: True to interpolate linearly between samples, False to keep each value until the next sample.
            hold: True to use the first and the last sample before and after the samples; False to raise an error if
                the window leaves the samples.

        Raises:
            UnknownNameError: There is no such parameter.
            InvalidArgumentError: The reference does not fit.
        """
        self._window.follow(name, reference, interpolate=interpolate, hold=hold)
        self._prepared = False

    def schedule(self, table: Schedule, *, knots: str = "all") -> None:
        """Makes parameters follow a schedule over time, such as the contacts of a gait.

        Args:
            table: A ParameterSchedule; or a function from the times of all knots (N + 1,) [s] to a dictionary of rows
                (N + 1, *shape) by parameter name. If it has a method `see(t, x)`, it gets each measured state (nx,)
                with its time [s], the first one from `reset`, so that it can react.
            knots: "all", or "running" to leave the last knot unchanged.
        """
        self._window.schedule(table, knots)
        self._prepared = False

    def check_references(self, first: float, last: float) -> None:
        """Raises InvalidArgumentError unless references cover all windows that begin between `first` and `last` [s]."""
        self._window.check(check_finite("first", first), check_finite("last", last) + self._window.duration)

    def sensitivity(self, name: str, knots: Knots = None) -> Reals:
        """Returns the derivative du0/dp (nu, np) of the last step's control by a parameter.

        A real-time plan is not fully converged, so the result is that of one more iteration; see
        `trajopt.solvers.SolutionDerivatives`. One factorisation serves all names until the next step.

        Args:
            name: Name of a run-time parameter, whose elements are in C order, or "x0", which gives -K.
            knots: Knots at which the parameter changes, by the same amount; by default all knots with the parameter.

        Raises:
            UnknownNameError: There is no such parameter.
            InvalidArgumentError: There is no step yet, or the last step failed.
            ModelEvaluationError: The plan is at a saddle point.
        """
        return self._derivatives.by(name, knots)

    @property
    def offsets(self) -> Reals:
        """Time of each knot relative to the first knot of the window (N + 1,) [s]."""
        return self._window.offsets.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        raise UnsupportedOperationError(
            "MPCController: cannot be copied or pickled, as it holds a plan and compiled code; construct another one "
            "with MPCController(controller.problem, options=controller.options)"
        )

    def __repr__(self) -> str:
        o = self.options
        return (
            f"MPCController({self.problem.T} knots over {self._window.duration:g} s, dt={self.dt:g}, mode={o.mode!r})"
        )


def _solver(solver: Any, mode: str) -> type[SolverAbstract[Any]]:
    """Returns a solver class from a class or a name; raises if it does not support the mode."""
    if isinstance(solver, str):
        others = ("SolverAbstract", "SolverOptions")
        names = [name for name in solvers.__all__ if name.startswith("Solver") and name not in others]
        solver = getattr(solvers, check_known("solver", solver, names))
    if not isinstance(solver, type) or not issubclass(solver, SolverAbstract):
        raise InvalidArgumentError(f"solver: expected a class such as SolverSQP, or its name, got {shown(solver)}")
    if mode == "real-time" and not issubclass(solver, SolverSQP):
        raise InvalidArgumentError(
            f"solver: mode 'real-time' needs SolverSQP, got {solver.__name__}; use MPCOptions(mode='converged')"
        )
    return solver
