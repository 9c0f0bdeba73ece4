"""SolverSQP: methods one after the other, from the guess or from others, until one ends well."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

from trajopt.analysis.contradictions import contradictions
from trajopt.callbacks import Callback
from trajopt.errors import ModelEvaluationError
from trajopt.shooting import ShootingProblem
from trajopt.solution import IterationRecord, SolverStatus
from trajopt.solution.solution import motion_solution
from trajopt.solvers.base import SolverAbstract
from trajopt.solvers.options import SolverOptions, SQPOptions
from trajopt.solvers.sqp.attempts import INTERIOR, Attempts, Left
from trajopt.solvers.sqp.interior import InteriorSteps, are_curved
from trajopt.solvers.sqp.linear_steps import LinearSteps
from trajopt.solvers.sqp.method import ROUNDED, Outcome
from trajopt.solvers.sqp.policy_steps import PolicySteps
from trajopt.solvers.sqp.progress import SQPProgress
from trajopt.solvers.sqp.workspace import Workspace

WARM = 2  # times that the penalty has been raised where multipliers are known
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
    - A step along a line, evaluated at all knots at once. All rows are hard, and a filter accepts steps. It is used
      where no rollout comes near to a guess with gaps.
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
        work.begin(run, rolled=rolled)
        if work.rows.excluded:
            self._take_rollouts(run, work, rolled=rolled)
            run.status = SolverStatus.INFEASIBLE
        elif options.steps == "linear":
            self._take_lines(run, work)
        else:
            self._take_rollouts(run, work, rolled=rolled)
            if interior and are_curved(work.model.exact, work.rows):
                run.attempts.put_first("rollouts")
                self._next(run, work)
                run.attempts.number = 1
        if self.whole.nu == 0 and self.whole.start == "fixed":  # there is nothing to choose
            feasible = run.violation < options.feasibility
            run.status = SolverStatus.CONVERGED if feasible else SolverStatus.INFEASIBLE

    def iterate(self, run: SQPProgress) -> IterationRecord | None:
        """Runs one iteration of the method in use. Where it ends without a solution, another one follows."""
        assert self._work is not None
        record = run.method.iterate(run)
        if run.method.outcome is Outcome.LOST:  # it has not moved yet
            self._take_lines(run, self._work)
            record = run.method.iterate(run)
        self._react(run, self._work, run.method.outcome)
        return record

    def choose(self, run: SQPProgress) -> None:
        """The best result of all attempts, with multipliers and gains of its own."""
        work = self._work
        assert work is not None
        interior = isinstance(run.method, InteriorSteps)
        if run.status is not SolverStatus.CONVERGED and (run.attempts.keep_best(run) or interior):
            with contextlib.suppress(ModelEvaluationError):
                work.move(run, *run.trajectory)
                work.take_gains(run, hard=False)

    def results(self, run: SQPProgress) -> dict[str, Any]:
        """Gains that keep the active rows, and multipliers of the unscaled cost."""
        assert self._work is not None
        return self._work.results(run)

    def _react(self, run: SQPProgress, work: Workspace, outcome: Outcome | None) -> None:
        """Ends the solve, changes the method, or begins another attempt, as the last iteration demands."""
        attempts, method = run.attempts, run.method
        lines = isinstance(method, LinearSteps) and self.options.steps == "policy"
        if lines and run.gap < self.options.feasibility:  # rollouts close gaps to the last digit
            run.method = PolicySteps(work, run, rolled=run.gap < ROUNDED, raised=WARM)
        elif outcome is Outcome.SOLVED:
            run.status = SolverStatus.CONVERGED
            if isinstance(method, InteriorSteps):
                work.judge(run)
                work.take_gains(run, hard=True)
        elif outcome is Outcome.STUCK:
            end = motion_solution(self.whole, *run.trajectory, solver="SolverSQP")
            proved = not attempts.dead_ends and contradictions(end)
            run.status = SolverStatus.INFEASIBLE if proved else attempts.end(Left.by(run))
            if run.status is None:
                self._next(run, work)
        elif outcome is not None or self._stalls(run, work):
            if attempts.comes_close(run):
                attempts.pending.insert(1, "again")
            if self._next(run, work) or run.status is not None:
                return
            if outcome is Outcome.INDEFINITE:
                run.status = SolverStatus.INDEFINITE_QUU
            elif method.failures >= MANY or isinstance(method, InteriorSteps):
                run.status = SolverStatus.LINE_SEARCH_FAILED

    def _stalls(self, run: SQPProgress, work: Workspace) -> bool:
        """Whether programs have rows, and the largest error does not fall."""
        if not work.evaluator.nc or isinstance(run.method, InteriorSteps):  # which end by themselves
            return False
        error = max(run.gap, run.violation, run.complementarity, run.stationarity)
        return run.attempts.stalls(run.iterations, error, self.options.restart)

    def _take_lines(self, run: SQPProgress, work: Workspace) -> None:
        """Goes on with linear steps."""
        with self._unclocked(run):
            run.method = LinearSteps(work, run)
        run.attempts.put_first("anew")

    def _take_rollouts(self, run: SQPProgress, work: Workspace, *, rolled: bool) -> None:
        """Goes on with rollouts, from a trajectory that is one or not."""
        warm, options = bool(run.multipliers), self.options
        rolled = rolled or (warm and run.gap < options.feasibility)
        run.method = PolicySteps(work, run, rolled=rolled, raised=WARM if warm else 0)

    def _next(self, run: SQPProgress, work: Workspace) -> bool:
        """Begins the next attempt, and leaves out those where a model fails; whether there is one.

        After the last one dead ends are a verdict.
        """
        attempts = run.attempts
        if run.iterations >= self.options.max_iterations:
            return False
        while attempts.pending:
            kind = attempts.pending.pop(0)
            attempts.begin(run.iterations)
            try:
                if self._begins(run, work, kind):
                    return True
            except ModelEvaluationError:
                work.move(run, *run.trajectory)
        run.status = attempts.verdict() if attempts.dead_ends else None
        return False

    def _begins(self, run: SQPProgress, work: Workspace, kind: str) -> bool:
        """Begins an attempt of a kind; whether it can."""
        attempts, us = run.attempts, run.guess[1]
        attempts.leave(run)
        if kind in INTERIOR:
            with self._unclocked(run):
                run.method = InteriorSteps(work, run, rolls=kind == "rollouts")
            return True
        if kind == "again":
            attempts.return_to_best(run)
            work.move(run, *run.trajectory)
            work.begin(run, rolled=True)
            self._take_rollouts(run, work, rolled=True)
            return True
        if kind == "random":
            us = attempts.random_controls(us, run.units.controls, work.rows)
        if not work.begin_anew(run, us):
            return False
        self._take_rollouts(run, work, rolled=True)
        return True

    @staticmethod
    @contextlib.contextmanager
    def _unclocked(run: SQPProgress) -> Iterator[None]:
        """Leaves what is compiled inside out of the time of the solve."""
        begun = time.perf_counter()
        yield
        run.started += time.perf_counter() - begun
