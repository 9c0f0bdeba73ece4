"""SolverSQP: methods one after the other, from the guess or from others, until one ends well."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from trajopt.analysis.contradictions import contradictions
from trajopt.analysis.places import out_of_reach_for_sure
from trajopt.callbacks import Callback
from trajopt.errors import ModelEvaluationError
from trajopt.shooting import ShootingProblem
from trajopt.solution import IterationRecord, SolverStatus
from trajopt.solution.solution import motion_solution
from trajopt.solvers.base import SolverAbstract
from trajopt.solvers.ddp.scales import FALLEN
from trajopt.solvers.options import SolverOptions, SQPOptions
from trajopt.solvers.sqp.attempts import INTERIOR, Attempts, Left
from trajopt.solvers.sqp.interior import InteriorSteps, are_curved
from trajopt.solvers.sqp.linear_steps import LinearSteps
from trajopt.solvers.sqp.method import Outcome
from trajopt.solvers.sqp.policy_steps import PolicySteps
from trajopt.solvers.sqp.progress import SQPProgress
from trajopt.solvers.sqp.workspace import Workspace

MANY = 12  # searches without a step, one after the other, that end the last attempt
FAILED = (SolverStatus.STALLED, SolverStatus.LINE_SEARCH_FAILED, SolverStatus.MAX_ITERATIONS)
CLOSE = 1e-2  # largest gap and violation of a trajectory that is near a solution
WARM = 2  # times that the penalty has been raised where multipliers are known


class SolverSQP(SolverAbstract[SQPProgress]):
    """Sequential quadratic programming: a solution satisfies all constraints of the models.

    Constraints are the rows of `ConstraintStack`. Limits `lower` and `upper` of models, states and robots are not
    constraints by themselves: `ConstraintStack.of_robot(state, actuation)` adds the limits of a robot, and
    `add("limits", ResidualModelControl(state), lower=..., upper=...)` those of the controls. Rows that do not depend on
    the control are not enforced at knot 0 if the start is fixed.

    An iteration solves a quadratic program with stages. Its Hessian is that of the Lagrangian if all models provide it,
    blended with Gauss-Newton's where it is indefinite. The solver then takes a step of one of three kinds:

    - A rollout of the program's feedback policy. Controls are clipped to their limits. All other rows are proximal, and
      the augmented Lagrangian is the merit function. This is the default.
    - A step along a line, evaluated at all knots at once. All rows are hard, and a filter accepts steps. It is used for
      guesses with gaps whose first rollout leaves the states that its program predicts.
    - A step of an interior-point method, if the others stall or end at a stationary point of the violation, see
      `trajopt.solvers.sqp.interior`.

    If an attempt fails, the next one starts from the rollout of the guess's controls or of random ones, or at rest, see
    `trajopt.solvers.sqp.attempts`. The solution is the best result of all attempts.

    The arguments are those of SolverAbstract.
    """

    options_type: ClassVar[type[SolverOptions]] = SQPOptions
    options: SQPOptions
    progress_type = SQPProgress
    takes_multipliers = True
    honours_constraints = True
    honours_soft_constraints = True
    chooses_unknowns = True

    def __init__(
        self,
        problem: ShootingProblem,
        options: SolverOptions | None = None,
        callbacks: Sequence[Callback | Callable[[IterationRecord], Any]] = (),
    ) -> None:
        super().__init__(problem, options, callbacks)
        self._work: Workspace | None = None

    def prepare(self, run: SQPProgress) -> None:
        """Allocates the arrays, or reuses them if the models are the same, and chooses the first method."""
        work = self._work
        if work is None or not work.evaluator.fits(self.whole):
            work = self._work = Workspace(self.whole, self.options)
        rolled, options, e = work.repair(run), self.options, work.evaluator
        interior = e.nc > 0 and not work.rows.any_soft and options.qp_iterations is None
        run.attempts = Attempts.after(rolled=rolled, interior=interior, feasibility=options.feasibility)
        run.attempts.units = run.units
        work.begin(run, rolled=rolled)
        known = not rolled and work.knows(run)
        if work.rows.excluded:
            self._take_rollouts(run, work, rolled=rolled)
            run.status = SolverStatus.INFEASIBLE
        elif options.steps == "linear":
            run.attempts.leave_out("linear")
            self._take_lines(run, work)
        else:
            self._take_rollouts(run, work, rolled=rolled)
            if known:
                work.take_gains(run, hard=True)
                run.status = SolverStatus.CONVERGED
            elif interior and are_curved(work.model.exact, work.rows):
                run.attempts.put_first("rollouts")
                run.attempts.number = 0
                self._next(run, work)
        if self.whole.nu == 0 and self.whole.start == "fixed":  # there is nothing to choose
            feasible = run.violation < options.feasibility
            run.status = SolverStatus.CONVERGED if feasible else SolverStatus.INFEASIBLE

    def iterate(self, run: SQPProgress) -> IterationRecord | None:
        """Runs one iteration of the method in use. Where it ends without a solution, another one follows."""
        assert self._work is not None
        record = run.method.iterate(run)
        if run.method.outcome in (Outcome.LOST, Outcome.ASTRAY) and not run.attempts.lined:  # it has not moved yet
            self._begin_otherwise(run, self._work)
            record = run.method.iterate(run)
        self._react(run, self._work, run.method.outcome)
        if record is not None and record.regularization > 0.0 and self._falls_for_ever(run, self._work):
            run.status = SolverStatus.UNBOUNDED
        return record

    def _begin_otherwise(self, run: SQPProgress, work: Workspace) -> None:
        """Begins from the rollout of the guess's controls if the guess is astray, else along lines."""
        if run.method.outcome is Outcome.ASTRAY:
            try:
                if work.begin_anew(run, run.guess[1], own_units=True):
                    run.attempts.units = run.units
                    self._take_rollouts(run, work, rolled=True)
                    return
            except ModelEvaluationError:
                work.move(run, *run.trajectory)
        run.attempts.leave_out("linear")
        self._take_lines(run, work)

    def choose(self, run: SQPProgress) -> None:
        """The best result of all attempts, with multipliers and gains of its own."""
        work = self._work
        assert work is not None
        interior = isinstance(run.method, InteriorSteps)
        if run.status is not SolverStatus.CONVERGED and (run.attempts.keep_best(run) or interior):
            with contextlib.suppress(ModelEvaluationError):
                work.move(run, *run.trajectory)
                work.take_gains(run, hard=False)

        if run.status in FAILED and run.violation > self.options.feasibility and self._is_proved(run):
            run.status = SolverStatus.INFEASIBLE

    def _falls_for_ever(self, run: SQPProgress, work: Workspace) -> bool:
        """Whether a motion that keeps all rows is far below all typical costs; between limits there is a least cost."""
        limited = np.isfinite(work.rows.u_lower).all() and np.isfinite(work.rows.u_upper).all()
        if limited or max(run.gap, run.violation) > self.options.feasibility or run.attempts.units is None:
            return False
        return run.cost < -FALLEN * run.attempts.units.cost

    def _is_proved(self, run: SQPProgress) -> bool:
        """Whether it is proved that no motion exists."""
        end = motion_solution(self.whole, *run.trajectory, solver="SolverSQP")
        short = run.status is SolverStatus.MAX_ITERATIONS  # which may be few, and proofs along dynamics take time
        return out_of_reach_for_sure(end) or (not short and bool(contradictions(end, cures=False)))

    def results(self, run: SQPProgress) -> dict[str, Any]:
        """Gains that keep the active rows, and multipliers of the unscaled cost."""
        assert self._work is not None
        return self._work.results(run)

    def _react(self, run: SQPProgress, work: Workspace, outcome: Outcome | None) -> None:
        """Ends the solve, changes the method, or begins another attempt, as the last iteration demands."""
        attempts, method = run.attempts, run.method
        if outcome is Outcome.SOLVED and (attempts.knows_better(run) or work.sizes_are_wild(run)):
            if not self._next(run, work) and run.iterations < self.options.max_iterations:
                run.status = SolverStatus.LINE_SEARCH_FAILED
        elif outcome is Outcome.SOLVED:
            run.status = SolverStatus.CONVERGED
            if isinstance(method, InteriorSteps):
                work.judge(run)
                work.take_gains(run, hard=True)
        elif isinstance(method, InteriorSteps):
            if outcome is Outcome.FAILED or self._is_late(run):
                self._next(run, work)
        elif outcome is Outcome.STUCK:
            run.status = attempts.end(Left.by(run))
            if run.status is None:
                self._next(run, work, or_end=True)
        elif outcome is Outcome.FAILED and attempts.number == 1 and isinstance(method, LinearSteps) and run.gap < CLOSE:
            run.method = PolicySteps(work, run, rolled=True, raised=WARM)  # goes on from there
        elif (outcome is not None or self._stalls(run, work)) and not self._next(run, work):
            if outcome is Outcome.INDEFINITE:
                run.status = SolverStatus.INDEFINITE_QUU
            elif method.failures >= MANY:
                run.status = SolverStatus.LINE_SEARCH_FAILED

    def _is_late(self, run: SQPProgress) -> bool:
        """Whether half of all iterations brought no solution, while the paused attempt keeps all rows."""
        assert run.attempts.paused is not None
        long = run.iterations - run.attempts.mark.iteration > self.options.max_iterations // 2
        return long and run.attempts.paused[0].infeasibility <= self.options.feasibility

    def _stalls(self, run: SQPProgress, work: Workspace) -> bool:
        """Whether there are rows, and the largest error does not fall."""
        infeasibility = max(run.gap, run.violation)
        error = max(infeasibility, run.complementarity, run.stationarity)
        if not work.evaluator.nc:
            return False
        return run.attempts.stalls(run.iterations, error, infeasibility, run.cost, self.options.restart)

    def _take_lines(self, run: SQPProgress, work: Workspace) -> None:
        """Goes on with linear steps."""
        with self._unclocked(run):
            run.method = LinearSteps(work, run)

    def _take_rollouts(self, run: SQPProgress, work: Workspace, *, rolled: bool) -> None:
        """Goes on with rollouts, from a trajectory that is one or not."""
        warm, options = bool(run.multipliers), self.options
        rolled = rolled or (warm and run.gap < options.feasibility)
        run.method = PolicySteps(work, run, rolled=rolled, raised=WARM if warm else 0)

    def _next(self, run: SQPProgress, work: Workspace, *, or_end: bool = False) -> bool:
        """Begins the next attempt, and leaves out those where a model fails; whether there is one, else it may end."""
        attempts, e = run.attempts, work.evaluator
        if run.iterations >= self.options.max_iterations:
            return False
        timely = attempts.number == 1 and self.options.time_limit is None  # proofs take time, too
        if timely and run.violation > self.options.feasibility and self._is_proved(run):
            run.status = SolverStatus.INFEASIBLE
            return True
        attempts.leave(run)
        if attempts.paused is not None and attempts.kind in INTERIOR:
            self._resume(run, work)
            return True
        known = or_end and attempts.kind == "paused"  # linear steps have begun from there
        if isinstance(run.method, PolicySteps) and e.nc and not known and max(run.gap, run.violation) < CLOSE:
            attempts.interrupt(run)
            attempts.begin(run.iterations, "close")
            self._take_lines(run, work)
            return True
        while attempts.pending:
            kind = attempts.pending.pop(0)
            attempts.begin(run.iterations, kind)
            try:
                if self._begins(run, work, kind):
                    return True
            except ModelEvaluationError:
                attempts.paused = None
                work.move(run, *run.trajectory)
        run.status = attempts.verdict() if or_end else run.status
        return False

    def _begins(self, run: SQPProgress, work: Workspace, kind: str) -> bool:
        """Begins an attempt of a kind; whether it can."""
        attempts, us = run.attempts, run.guess[1]
        assert attempts.units is not None
        work.relate(run, attempts.units)
        if kind in INTERIOR:
            attempts.interrupt(run)
            with self._unclocked(run):
                run.method = InteriorSteps(work, run, rolls=kind == "rollouts")
            return True
        if kind == "linear":
            attempts.interrupt(run)
            run.multipliers = {}
            work.move(run, *run.guess)
            work.begin(run, rolled=False)
            self._take_lines(run, work)
            return True
        attempts.paused, xs, own = None, None, attempts.own_units
        if kind == "rest":
            if not work.evaluator.nc:
                return False
            with self._unclocked(run):
                xs, us = work.at_rest(run)
            if np.array_equal(xs, run.guess[0]) and np.array_equal(us, run.guess[1]):
                return False
            begun = work.begin_anew(run, us, xs, own_units=own)
        else:
            us = attempts.random_controls(us, run.units.controls, work.rows) if kind == "random" else us
            begun = work.begin_anew(run, us, own_units=own)
        if begun:
            self._take_rollouts(run, work, rolled=xs is None)
        return begun

    def _resume(self, run: SQPProgress, work: Workspace) -> None:
        """The interrupted attempt goes on; where it had ended the next one begins."""
        attempts = run.attempts
        assert attempts.paused is not None
        (left, run.method), attempts.paused = attempts.paused, None
        left.restore(run)
        work.move(run, *run.trajectory)
        attempts.begin(run.iterations, "paused")
        if attempts.dead_ends:
            self._next(run, work, or_end=True)

    @staticmethod
    @contextlib.contextmanager
    def _unclocked(run: SQPProgress) -> Iterator[None]:
        """Leaves what is compiled inside out of the time of the solve."""
        begun = time.perf_counter()
        yield
        run.started += time.perf_counter() - begun
