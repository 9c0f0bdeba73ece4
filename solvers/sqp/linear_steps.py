"""Steps along straight lines with multiple shooting: rows are hard, and a filter judges.

Source: Wächter, Biegler, On the implementation of an interior-point filter line-search algorithm, 2006, section 2.3,
for the filter; a step is the solution of a quadratic program with inequalities.
"""

from __future__ import annotations

import math

import numpy as np

from trajopt.solution import IterationRecord
from trajopt.solvers.qp import QPSolution, QPStatus
from trajopt.solvers.sqp.filter import Filter
from trajopt.solvers.sqp.merit import Descent, Merit, Taken
from trajopt.solvers.sqp.method import ROUNDED, MethodAbstract, Outcome
from trajopt.solvers.sqp.optimality import cannot_get_closer, is_solved
from trajopt.solvers.sqp.progress import SQPProgress
from trajopt.solvers.sqp.quadratic_model import FIRST_RIDGE
from trajopt.solvers.sqp.workspace import Workspace

FAILURES, STUCK = 3, 3  # searches without a step or short steps, and iterations that can't get closer, that end it
SHORT, CUT = 0.2, 0.1  # length of a short step, and below which the next program has a larger δ


class LinearSteps(MethodAbstract):
    """An iteration solves a program with hard rows, and searches along its solution.

    Where not all rows of a program can be kept, they are penalized as much as the options allow.

    Args:
        work: Where the trajectory is.
        run: State of the solve.
        hands_over: Whether rollouts take over once gaps are closed.
    """

    name = "linear"

    def __init__(self, work: Workspace, run: SQPProgress, *, hands_over: bool) -> None:
        work.lines.prepare()
        self._work, self._hands_over = work, hands_over
        self._filter = Filter(max(1.0, run.infeasibility), held=work.options.feasibility)
        self._exact = bool(run.multipliers)
        self._full, self._ridge, self._shorts = False, 0.0, 0

    def iterate(self, run: SQPProgress) -> IterationRecord | None:
        """Runs one iteration: a program, a search along its solution, and its multipliers."""
        work, e = self._work, self._work.evaluator
        gap, missed = e.largest_gap, max(run.gap, run.violation)
        step, ridge = self._direction(run)
        if step.status is QPStatus.INDEFINITE:
            run.failed_knot, self.outcome = step.failed_knot, Outcome.INDEFINITE
            return None
        descent = Descent.along(step, Merit(work.rows, run.scale), e, exact=work.model.blend > 0.0)
        at, x0 = run.infeasibility, work.x0(run)
        taken = work.lines.along(descent, self._filter, at, run.units, x0=x0, full=self._full)
        if taken is None:
            self.failures, self._ridge = self.failures + 1, 8.0 * max(ridge, FIRST_RIDGE)
        else:
            self._accept(run, taken, ridge)
        self._exact = True
        promised = -descent.slope if missed < work.options.feasibility else math.inf  # else it had to make up for them
        self._conclude(run, descent, taken, promised)
        columns = {"regularization": ridge, "gap_norm": gap, "blend": work.model.blend}
        return self._record(run, descent, taken, **columns)

    def _direction(self, run: SQPProgress) -> tuple[QPSolution, float]:
        """The solution of the quadratic program, and δ; with penalized rows if hard ones can't be kept."""
        work = self._work
        step, ridge = work.model.solve(run, work.rows, None, exact=self._exact, ridge=self._ridge)
        if self._is_infeasible(run, step):
            penalty = work.penalty(run, np.zeros_like(run.y), work.options.max_penalty)
            step, ridge = work.model.solve(run, work.rows, penalty, exact=self._exact, ridge=self._ridge)
        return step, ridge

    def _is_infeasible(self, run: SQPProgress, step: QPSolution) -> bool:
        """Whether a step misses rows that it should keep."""
        options, rows = self._work.options, self._work.rows
        if step.status in (QPStatus.SOLVED, QPStatus.INDEFINITE) or options.qp_iterations is not None:
            return False
        missed = np.abs(rows.beyond(self._work.evaluator.c + step.rows)) / run.units.rows
        return not missed.max(initial=0.0) <= options.feasibility  # nor if it is not finite

    def _accept(self, run: SQPProgress, taken: Taken, ridge: float) -> None:
        """Moves to the end of the step, and takes its multipliers."""
        work, step = self._work, taken.step
        work.model.accept()
        run.lam, run.y, run.K = step.lam, step.y, run.K if step.K is None else step.K
        run.trajectory, run.feasible = (taken.xs, taken.us), False
        self.failures, self._full = 0, taken.length == 1.0
        self._shorts = self._shorts + 1 if taken.length < SHORT else 0
        self._ridge = 2.0 * max(ridge, FIRST_RIDGE) if taken.length < CUT else 0.0
        if taken.expanded:
            work.judge(run)
        else:
            work.move(run, taken.xs, taken.us)

    def _conclude(self, run: SQPProgress, descent: Descent, taken: Taken | None, promised: float) -> None:
        """Sets the outcome of the iteration."""
        work, options = self._work, self._work.options
        stays = cannot_get_closer(run, work.evaluator, work.rows, work.model, options)
        self.stuck, self.outcome = self.stuck + 1 if stays else 0, None
        part = taken is not None and taken.length < 1.0 and not work.evaluator.nc
        closed = run.gap < options.feasibility
        exact = run.gap < ROUNDED or not self._hands_over  # else one more rollout closes the gaps
        if exact and is_solved(run, options, descent.step, promised, feasible=closed, partial=part):
            self.outcome = Outcome.SOLVED
        elif self.stuck >= STUCK:
            self.outcome = Outcome.STUCK
        elif max(self.failures, self._shorts) >= FAILURES or (self._hands_over and closed):
            self.outcome = Outcome.CLOSED
