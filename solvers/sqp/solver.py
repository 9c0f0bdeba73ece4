"""SolverSQP: attempts one after the other, by quadratic programs and by interior-point steps, until one ends well."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from trajopt.callbacks import Callback
from trajopt.errors import ModelEvaluationError
from trajopt.shooting import ShootingProblem
from trajopt.solution import IterationRecord, SolverStatus
from trajopt.solvers.base import SolverAbstract
from trajopt.solvers.options import SolverOptions, SQPOptions
from trajopt.solvers.sqp.attempts import INTERIOR, Attempts, Left
from trajopt.solvers.sqp.interior import InteriorSteps
from trajopt.solvers.sqp.progress import SQPProgress
from trajopt.solvers.sqp.quadratic_steps import FAILURES, LOST, ROUNDED, QuadraticSteps
from trajopt.solvers.sqp.units import Units

STUCK = 3  # iterations in a row after which what cannot get closer counts as an end
LATE = 100  # iteration at which a solve without rows may begin anew
MANY = 12  # searches without a step, one after the other, that end the last attempt


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
      guesses with small gaps, such as a previous solution shifted by a knot.
    - A step of an interior-point method, if the others stall or end at a stationary point of the violation, see
      `trajopt.solvers.sqp.interior`.

    If an attempt fails, the next one starts from the rollout of the guess's controls or of random ones, see
    `trajopt.solvers.sqp.attempts`. The solution is the best result of all attempts.

    The arguments are those of SolverAbstract.
    """

    options_type: ClassVar[type[SolverOptions]] = SQPOptions
    options: SQPOptions
    progress_type = SQPProgress
    takes_multipliers = True
    honours_constraints = True
    honours_soft_constraints = True

    def __init__(
        self,
        problem: ShootingProblem,
        options: SolverOptions | None = None,
        callbacks: Sequence[Callback | Callable[[IterationRecord], Any]] = (),
    ) -> None:
        super().__init__(problem, options, callbacks)
        self._steps: QuadraticSteps | None = None

    def prepare(self, run: SQPProgress) -> None:
        """Allocates the arrays, or reuses them if the models are the same, and repairs the guess."""
        steps = self._steps
        if steps is None or not steps.evaluator.fits(self.problem):
            steps = self._steps = QuadraticSteps(self.problem, self.options)
        steps.repair(run)
        steps.begin(run)
        interior = steps.evaluator.nc > 0 and not steps.rows.any_soft and self.options.qp_iterations is None
        run.attempts = Attempts.after(rolled=run.repaired, interior=interior, feasibility=self.options.feasibility)
        if self.problem.nu == 0 and self.problem.start == "fixed":  # there is nothing to choose
            feasible = run.violation < self.options.feasibility
            run.status = SolverStatus.CONVERGED if feasible else SolverStatus.INFEASIBLE

    def iterate(self, run: SQPProgress) -> IterationRecord | None:
        """Runs one iteration of the current attempt. If the attempt ends without a solution, the next one begins."""
        steps = self._steps
        assert steps is not None
        if run.interior is not None:
            record: IterationRecord | None = self._interior_step(run, steps, run.interior)
        else:
            record = steps.iterate(run)
            self._judge(run, steps, convex=record is not None)
        if run.status is None and run.iterations >= self.options.max_iterations:
            run.status = run.attempts.at_limit()
        return record

    def choose(self, run: SQPProgress) -> None:
        """The best result of all attempts, with multipliers and gains of its own."""
        steps = self._steps
        assert steps is not None
        if run.status is not SolverStatus.CONVERGED and (run.attempts.keep_best(run) or run.interior is not None):
            with contextlib.suppress(ModelEvaluationError):
                steps.settle(run)

    def results(self, run: SQPProgress) -> dict[str, Any]:
        """Gains that keep the active rows, and multipliers of the unscaled cost."""
        assert self._steps is not None
        return self._steps.results(run)

    def _judge(self, run: SQPProgress, steps: QuadraticSteps, *, convex: bool) -> None:
        """Whether steps of quadratic programs have ended; then another attempt follows, or the status is known."""
        attempts = run.attempts
        if not convex and not self._next(run, steps):
            run.status = SolverStatus.INDEFINITE_QUU
        elif convex and run.solved:
            run.status = SolverStatus.CONVERGED
        elif convex and run.stuck >= STUCK:
            run.status = attempts.end(run.violation)
            if run.status is None and self._may_go_on(run) and not self._next(run, steps):
                run.status = attempts.verdict()
        elif convex and self._stalls(run, steps) and not self._next(run, steps) and run.failures >= MANY:
            run.status = SolverStatus.LINE_SEARCH_FAILED

    def _may_go_on(self, run: SQPProgress) -> bool:
        """Whether there are iterations left."""
        return run.iterations < self.options.max_iterations

    def _stalls(self, run: SQPProgress, steps: QuadraticSteps) -> bool:
        """Whether searches fail, or the largest error does not fall; without rows, whether steps are short for long."""
        if run.failures >= FAILURES and not run.linear:
            return True
        if steps.evaluator.nc == 0:
            return run.iterations == LATE and run.is_far and run.mean_length < LOST
        error = max(run.gap, run.violation, run.complementarity, run.stationarity)
        return run.attempts.stalls(run.iterations, error, self.options.restart)

    def _next(self, run: SQPProgress, steps: QuadraticSteps) -> bool:
        """Begins the next attempt, and leaves out those where a model fails; whether there is one."""
        attempts = run.attempts
        while attempts.pending and self._may_go_on(run):
            kind = attempts.pending.pop(0)
            attempts.mark = run.iterations, math.inf
            try:
                if self._begins(run, steps, kind):
                    return True
            except ModelEvaluationError:
                run.interior = attempts.paused = None
                steps.go_back(run)
        return False

    def _begins(self, run: SQPProgress, steps: QuadraticSteps, kind: str) -> bool:
        """Begins an attempt of a kind; whether it can."""
        attempts, us = run.attempts, run.guess[1]
        if kind in INTERIOR:
            self._interrupt(run, steps, rolls=kind == "rollouts")
            return True
        attempts.leave(run)
        if kind == "random":
            us = attempts.random_controls(us, run.first_step, steps.rows)
        return steps.begin_anew(run, us, or_none=kind == "anew")

    def _interrupt(self, run: SQPProgress, steps: QuadraticSteps, *, rolls: bool) -> None:
        """Tries interior-point steps from the guess, or from its rollout."""
        begun, e = time.perf_counter(), steps.evaluator
        run.attempts.paused = Left.by(run)
        run.stuck = run.failures = 0
        e.xs[:], e.us[:] = run.guess
        if rolls:
            e.prepare(clipped=True)
            steps.rollouts.roll_out(e.xs[0], e.us)
        else:
            steps.lines.prepare()
        e.expand(steps.x0(run))
        e.check_finite()
        trial = None if rolls else steps.lines.trial
        units = Units.of(e, steps.rows, max(abs(run.attempts.paused.cost), 1e-2 * run.units.cost))
        run.interior = InteriorSteps(e, steps.rows, steps.model.exact, trial, steps.x0(run), units)
        run.started += time.perf_counter() - begun  # compiling does not count

    def _interior_step(self, run: SQPProgress, steps: QuadraticSteps, interior: InteriorSteps) -> IterationRecord:
        """An interior-point step; without a solution at their end the interrupted attempt goes on."""
        gap, before = steps.evaluator.largest_gap, run.cost
        try:
            goes_on = interior.iterate()
            self._take(run, steps, interior)
        except ModelEvaluationError:
            goes_on = False
        record = run.record(
            stop=interior.stationarity,
            step_length=interior.length,
            accepted=interior.length > 0.0,
            regularization=interior.ridge,
            gap_norm=gap,
            expected_decrease=-interior.promised,
            decrease=before - run.cost,
            constraint_violation=run.largest_violation,
            complementarity=interior.complementarity,
            blend=interior.blend,
            method="interior",
        )
        long = run.iterations - run.attempts.mark[0] > self.options.max_iterations // 2
        if interior.solved and max(run.gap, run.violation) < self.options.feasibility:
            steps.take_solution(run)
            run.status = SolverStatus.CONVERGED
        elif not goes_on or (long and run.attempts.pending):
            self._go_back(run, steps)
        return record

    @staticmethod
    def _take(run: SQPProgress, steps: QuadraticSteps, interior: InteriorSteps) -> None:
        """Takes the point that the second method has reached."""
        e = steps.evaluator
        run.trajectory, run.cost, run.feasible = (e.xs.copy(), e.us.copy()), e.cost, e.largest_gap < ROUNDED
        run.gap = run.units.largest_gap(e)
        _, run.violation, run.largest_violation, *_ = steps.rows.sizes(e.c, run.y, run.scale)
        run.lam, run.y, run.start_y = (run.scale * each for each in interior.multipliers)

    def _go_back(self, run: SQPProgress, steps: QuadraticSteps) -> None:
        """The interrupted attempt goes on; where it had ended the next one begins."""
        attempts, paused = run.attempts, run.attempts.paused
        assert paused is not None
        attempts.leave(run)
        paused.restore(run)
        run.interior = attempts.paused = None
        steps.go_back(run)
        attempts.mark = run.iterations, math.inf
        if attempts.dead_ends and self._may_go_on(run) and not self._next(run, steps):
            run.status = attempts.verdict()
