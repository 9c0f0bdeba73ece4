"""MPCController: shift, prepare, measure, solve, act."""

from __future__ import annotations

import copy
import logging
import time
from typing import Any

import numpy as np

from trajopt import solvers
from trajopt.checks import check_finite, check_instance, check_known
from trajopt.errors import InvalidArgumentError, ModelEvaluationError, shown
from trajopt.kernels import wait_until_optimised
from trajopt.mpc.converged import Converged, PlanOutcome
from trajopt.mpc.judge import PlanEvaluator
from trajopt.mpc.limits import Limits
from trajopt.mpc.options import MPCOptions
from trajopt.mpc.plan import SAME, Plan, Shift
from trajopt.mpc.real_time import RealTimeIteration
from trajopt.mpc.sensitivity import PlanDerivatives
from trajopt.mpc.step import MPCStatus, MPCStep
from trajopt.mpc.window import Schedule, Window
from trajopt.objects.immutable import Immutable
from trajopt.shooting import ShootingProblem
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.knots import Knots
from trajopt.solvers import SolverAbstract, SolverSQP
from trajopt.types import Reals

LOG = logging.getLogger("trajopt.mpc")
FIRM = 100.0  # times the largest multiplier: the price of slacks; at least a tenth of it times slopes of the cost


class MPCController(Immutable):
    """Solves a problem again at each measured state, over a window of its length that moves along with time.

    `reset` solves it for the first time, and compiles all that is needed. Then, for each measurement, `step` plans from
    there and gives the control; those who run a loop of their own call `feedback` when the measurement is there and
    `prepare` in the time that is left before the next one.

    The controller has a copy of the problem, whose parameters it moves; those that stay can be set on it,
    `controller.problem.set_parameter(...)`, between two steps: they count from the next preparation on.

    Controls are clipped to the limits `lower` and `upper` of the models; plans of SolverSQP know limits that are
    constraints alone, and `reset` logs a warning where these lack some.

    Args:
        problem: The problem of the first window, whose start is fixed.
        solver: Class of a solver, or its name.
        options: Options.

    Attributes:
        problem: The controller's own copy of the problem.
        options: The options.
        dt: Time from one measurement to the next [s].

    Raises:
        InvalidArgumentError: An argument is of the wrong type, or can't be combined with the others.
        UnknownNameError: There is no solver of this name.
    """

    def __init__(
        self,
        problem: ShootingProblem,
        solver: type[SolverAbstract[Any]] | str = SolverSQP,
        options: MPCOptions | None = None,
    ) -> None:
        check_instance("problem", problem, ShootingProblem)
        self.options = check_instance("options", MPCOptions() if options is None else options, MPCOptions)
        if problem.start != "fixed" or problem.T == 0:
            raise InvalidArgumentError("problem: expected one with a fixed start and T >= 1; the start is measured")
        self.problem, self._x0 = copy.copy(problem), problem.x0
        self._window = Window(self.problem, self.options.dt)
        self.dt = float(self._window.offsets[1]) if self.options.dt is None else self.options.dt
        if self.dt > (1.0 + SAME) * self._window.duration:
            raise InvalidArgumentError(
                f"dt: expected at most the window, {self._window.duration:g} s, got {self.dt:g} s; measure more "
                "often, or take more knots"
            )
        kind, own = _solver(solver, self.options.mode), self.options.solver_options
        self._plans_within = getattr(kind, "keeps_limits", False)  # of the models
        self._softens = kind.honours_soft_constraints and self.problem.nc > 0
        self._evaluator = e = Evaluator(self.problem)
        self._limits = limits = Limits(e, self.problem)
        self._judge = judge = PlanEvaluator(e, limits)
        budget = self.options.time_budget
        self._solve = Converged(kind, self.problem, own, judge, limits, budget)
        self._engine: Converged | RealTimeIteration = self._solve
        if self.options.mode == "real-time":
            exact = self.options.hessian == "exact"
            self._engine = RealTimeIteration(e, judge, limits, self.options.iterations, exact, budget)
        self._derivatives = PlanDerivatives(self.problem, kind.__name__)
        self._plan, self._shift = Plan.zeros(self.problem), Shift(self.problem, self._window.offsets)
        self._t: float | None = None  # of the last step
        self._next = 0.0  # when the next measurement is expected
        self._begun, self._prepared, self._failed, self._preparation_time = False, False, False, 0.0

    # Once

    def reset(self, x0: Any = None, t: float = 0.0, guess: Any = None) -> MPCStep:
        """Solves the first window, compiles all that steps need, and forgets the last plan.

        It returns when the code of this process is optimised; TRAJOPT_OPTIMISE=off keeps quick code.

        Args:
            x0: State at the start (nx,); that of the problem by default.
            t: Time of the start, where the first step is expected [s].
            guess: (xs, us), or a Solution, to start from; the solver's own guess by default.

        Returns:
            The plan from x0, as a step.

        Raises:
            InvalidArgumentError: An argument does not fit, or a reference does not last for the window.
        """
        x = self._x0.copy() if x0 is None else self.problem.state.check(x0, "x0")
        now = check_finite("t", t)
        started = time.perf_counter()
        self._window.move(now)
        self._compile()
        plan, self._t, self._begun = self._plan, None, False
        plan.take(np.tile(x, (self.problem.T + 1, 1)), np.zeros_like(plan.us), None, None, None)
        for array in (plan.K, plan.lam, plan.y):
            array.fill(0.0)
        plan.t = now
        outcome = self._first(plan, x, guess)
        if isinstance(self._engine, RealTimeIteration):
            self._engine.begin()
        if not self._plans_within and (names := self._limits.unknown_to_rows()):
            LOG.warning(
                "plans do not know the limits of %s: what is beyond them is clipped. Add them as a constraint, "
                'ConstraintStack(state).add("limits", ResidualModelControl(state), lower=..., upper=...)',
                ", ".join(names),
            )
        reason = self._rehearse()
        wait_until_optimised()  # a loop in real time must not begin at half speed
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
        """The first solve: with hard limits of states; with soft ones where these can't be kept, and from then on."""
        rows, prices = self.problem.table.rows, self.options.soft
        rows.soften(prices if self._softens else None)
        self._limits.begin()
        outcome = self._solve.begin(plan, x, guess)
        if self._softens and prices is None:
            price = self._price(plan)
            if outcome.status is MPCStatus.FAILED:
                rows.soften((price, price))
                outcome = self._solve.begin(plan, x, guess)
                price = max(price, self._price(plan))
            rows.soften((price, price))
        self._limits.begin()
        return outcome

    def _price(self, plan: Plan) -> float:
        """Price of the slacks of softened rows: higher than what holding them costs, where it is possible."""
        e, free = self._evaluator, self.problem.table.rows.free
        e.xs[:], e.us[:] = plan.xs, plan.us
        e.expand(None)
        sizes = (np.abs(e.g), np.abs(e.terminal_g), np.diagonal(e.H, axis1=1, axis2=2), np.diagonal(e.terminal_H))
        slope = max(float(np.max(each, initial=0.0)) for each in sizes)
        return max(FIRM * float(np.max(np.abs(plan.y[free]), initial=0.0)), 0.1 * FIRM * slope, 1e-6)

    def _rehearse(self) -> str:
        """A step that is forgotten, as solvers compile some code where they first need it; why it fails, or nothing."""
        plan, reason = copy.deepcopy(self._plan), ""
        self._shift(plan, plan.t + 0.5 * self.dt)
        for engine in (self._solve, self._engine):
            try:
                engine.prepare(plan)
                engine.feedback(plan, plan.xs[0].copy())
            except ModelEvaluationError as error:  # steps may fail, and so may this one
                reason = str(error)
        self._limits.fall_back(plan, plan.xs[0].copy())
        return reason

    # Each time

    def step(self, x: Any, t: float | None = None) -> MPCStep:
        """The control for a measured state; then prepares the next step.

        Args:
            x: Measured state (nx,).
            t: Time of the measurement [s], not before that of the last one; by default dt after it.

        Raises:
            InvalidArgumentError: An argument does not fit, or a reference ends; the controller stays as it was.
        """
        step = self.feedback(x, t)
        try:
            self.prepare()
        except InvalidArgumentError:  # a reference that has ended is told when the next measurement comes
            self._prepared = False
        return step

    def feedback(self, x: Any, t: float | None = None) -> MPCStep:
        """The control for a measured state; arguments as in `step`."""
        started = time.perf_counter()
        now = self._time(t)
        measured = self.problem.state.check(x, "x")
        if not self._prepared or abs(now - self._next) > SAME * self.dt:
            self._prepare(now)
        outcome = self._planned(measured)
        self._t, self._next, self._prepared = now, now + self.dt, False
        return self._step(now, outcome, started)

    def _planned(self, x: Reals) -> PlanOutcome:
        """Makes the plan one from a measured state: that of the engine, or, where it fails, the last plan's policy."""
        again = self._failed and self.options.on_failure == "solve"
        engine = self._solve if again else self._engine
        try:
            outcome = engine.feedback(self._plan, x)
        except ModelEvaluationError as error:
            outcome = PlanOutcome(MPCStatus.FAILED, str(error), 0)
        self._failed = outcome.status is MPCStatus.FAILED
        if self._failed:
            self._limits.fall_back(self._plan, x)
            self._judge.see(self._plan)
        return outcome

    def prepare(self) -> None:
        """Does all of the next step that does not need its measurement.

        Raises:
            InvalidArgumentError: A reference ends within the next window.
        """
        self._check_reset()
        if not self._prepared:
            self._prepare(self._next)

    def _prepare(self, t: float) -> None:
        started = time.perf_counter()
        self._window.move(t)
        self._shift(self._plan, t)
        self._engine.prepare(self._plan)
        self._next, self._prepared = t, True
        self._preparation_time = time.perf_counter() - started

    def _check_reset(self) -> None:
        if not self._begun:
            raise InvalidArgumentError("step: call reset(x0) first; it solves the first window")

    def _time(self, t: float | None) -> float:
        """Time of a measurement, after checking it [s]."""
        self._check_reset()
        if t is None:
            return self._next
        now, last = check_finite("t", t), self._plan.t if self._t is None else self._t
        if now < last - SAME * self.dt:
            raise InvalidArgumentError(
                f"t: expected a time that is not before the last one, {last:g} s, got {now:g} s; reset(x0, t) begins "
                "anew"
            )
        return now

    def _step(self, t: float, outcome: PlanOutcome, started: float) -> MPCStep:
        plan, judge, limits = self._plan, self._judge, self._limits
        self._derivatives.remember(plan, failed=outcome.status is MPCStatus.FAILED)
        violated = judge.violated
        reasons = [outcome.reason, f"{violated}: violated by {judge.violation:.3g}" if violated else ""]
        return MPCStep(
            t=t,
            u=np.minimum(np.maximum(plan.us[0], limits.lower[0]), limits.upper[0]),  # np.clip takes 5 us more
            K=plan.K[0].copy(),
            xs=plan.xs.copy(),
            us=plan.us.copy(),
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
        """Lets a parameter follow a reference, which is looked up at the time of each knot.

        A function is asked once for each knot of each step; `schedule` asks once a step.

        Args:
            name: The parameter, such as "goal.reference".
            reference: A function of the time [s]; or (times, values), samples (n,) [s] and (n, *shape) that are
                linear in between. None to stop.
            interpolate: False to keep each sample until the next one.
            hold: Whether the first and the last sample hold before and after the samples; otherwise a window that
                reaches beyond them is an error.

        Raises:
            UnknownNameError: There is no such parameter.
            InvalidArgumentError: The reference does not fit.
        """
        self._window.follow(name, reference, interpolate=interpolate, hold=hold)
        self._prepared = False

    def schedule(self, table: Schedule, *, knots: str = "all") -> None:
        """Lets parameters follow a schedule, such as the contacts of a gait.

        Args:
            table: A ParameterSchedule, or a function from the times of all knots (N + 1,) [s] to rows by the names of
                parameters, (N + 1, *shape) each.
            knots: "all", or "running" to leave the end as it is.
        """
        self._window.schedule(table, knots)
        self._prepared = False

    def check_references(self, first: float, last: float) -> None:
        """Raises InvalidArgumentError unless references last for all windows that begin from `first` to `last` [s]."""
        self._window.check(first, last + self._window.duration)

    def sensitivity(self, name: str, knots: Knots = None) -> Reals:
        """Derivative du0/dp of the control of the last step (nu, np), found from its plan when it is asked for.

        Of a plan in real time, which is not quite optimal, it is that of one more iteration; see
        `trajopt.solvers.SolutionDerivatives`. One factorisation serves all names until the next step.

        Args:
            name: Name of a run-time parameter, whose numbers are in C order, or "x0", which gives -K.
            knots: Knots at which the parameter changes, by the same amount at all; all that have it by default.

        Raises:
            UnknownNameError: There is no such parameter.
            InvalidArgumentError: There was no step yet, or the last one failed.
            ModelEvaluationError: The plan is at a saddle.
        """
        return self._derivatives.by(name, knots)

    @property
    def offsets(self) -> Reals:
        """Time of each knot of a window from its first one (N + 1,) [s]."""
        return self._window.offsets.copy()

    def __repr__(self) -> str:
        o = self.options
        return (
            f"MPCController({self.problem.T} knots over {self._window.duration:g} s, dt={self.dt:g}, mode={o.mode!r})"
        )


def _solver(solver: Any, mode: str) -> type[SolverAbstract[Any]]:
    """A solver by its class or name, which knows the mode."""
    if isinstance(solver, str):
        others = ("SolverAbstract", "SolverOptions")
        names = [name for name in solvers.__all__ if name.startswith("Solver") and name not in others]
        solver = getattr(solvers, check_known("solver", solver, names))
    if not isinstance(solver, type) or not issubclass(solver, SolverAbstract):
        raise InvalidArgumentError(f"solver: expected a class of solvers, such as SolverSQP, got {shown(solver)}")
    if mode == "real-time" and not issubclass(solver, SolverSQP):
        raise InvalidArgumentError(
            f"solver: mode 'real-time' takes SolverSQP, got {solver.__name__}; write MPCOptions(mode='converged')"
        )
    return solver
