"""Steps along straight lines with multiple shooting: rows are hard, and a filter judges.

Source: Wächter, Biegler, On the implementation of an interior-point filter line-search algorithm, 2006, section 2.3
and 2.4, for filter and second-order correction; a step is the solution of a quadratic program with inequalities.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from trajopt.solution import IterationRecord
from trajopt.solvers.qp import QPSolution, QPStatus
from trajopt.solvers.sqp.filter import Filter
from trajopt.solvers.sqp.merit import Descent, Merit, Taken
from trajopt.solvers.sqp.method import FAILURES, ROUNDED, Outcome, ProgramSteps
from trajopt.solvers.sqp.progress import SQPProgress
from trajopt.solvers.sqp.workspace import Workspace

SHORT, CUT = 0.2, 0.1  # length of a short step, and below which the next program has a larger δ


class LinearSteps(ProgramSteps):
    """An iteration solves a program with hard rows, and searches along its solution.

    Where not all rows of a program can be kept, they are penalized as much as the options allow. Where searches fail or
    steps are short, three times in a row, rollouts take over.

    Args:
        work: Where the trajectory is.
        run: State of the solve.
        hands_over: Whether rollouts take over once gaps are closed, too.
    """

    name = "linear"

    def __init__(self, work: Workspace, run: SQPProgress, *, hands_over: bool) -> None:
        super().__init__(work)
        work.lines.prepare()
        self._hands_over, self._full, self._shorts = hands_over, False, 0
        self._filter = Filter(max(1.0, run.infeasibility), held=work.options.feasibility)

    def iterate(self, run: SQPProgress) -> IterationRecord | None:
        """Runs one iteration: a program, a search along its solution, and its multipliers."""
        work, e, feasibility = self._work, self._work.evaluator, self._work.options.feasibility
        gap, kept = e.largest_gap, max(run.gap, run.violation) < feasibility
        step = self._direction(run)
        if step.status is QPStatus.INDEFINITE:
            run.failed_knot, self.outcome = step.failed_knot, Outcome.INDEFINITE
            return None
        descent = Descent.along(step, Merit(work.rows, run.scale), e, exact=work.model.blend > 0.0)
        correct, theta, x0 = partial(work.model.corrected, run, step), run.infeasibility, work.x0(run)
        taken = work.lines.along(descent, self._filter, theta, run.units, correct, x0=x0, full=self._full)
        if taken is None:
            self.failures += 1
            self._regularize(8.0)
        else:
            self._accept(run, taken)
        promised = -descent.slope if kept else math.inf  # else it had to make up for gaps and violations
        closed = run.gap < feasibility
        exact = run.gap < ROUNDED or not self._hands_over  # else one more rollout closes the gaps
        cut = taken is not None and taken.length < 1.0 and not e.nc
        self._conclude(run, step, promised, feasible=exact and closed, partial=cut)
        if self.outcome is None and (max(self.failures, self._shorts) >= FAILURES or (self._hands_over and closed)):
            self.outcome = Outcome.CLOSED
        return self._record(run, descent, taken, gap_norm=gap)

    def _direction(self, run: SQPProgress) -> QPSolution:
        """The solution of the quadratic program; with penalized rows if hard ones can't be kept."""
        work, known = self._work, bool(run.lam.any())
        step = work.model.solve(run, None, exact=known, ridge=self._ridge)
        if self._is_infeasible(run, step):
            penalized = work.merit(run, np.zeros_like(run.y), work.options.max_penalty)
            step = work.model.solve(run, penalized, exact=known, ridge=self._ridge)
        return step

    def _is_infeasible(self, run: SQPProgress, step: QPSolution) -> bool:
        """Whether a step misses rows that it should keep."""
        options, rows = self._work.options, self._work.rows
        if step.status in (QPStatus.SOLVED, QPStatus.INDEFINITE) or options.qp_iterations is not None:
            return False
        missed = np.abs(rows.beyond(self._work.evaluator.c + step.rows)) / run.units.rows
        return not missed.max(initial=0.0) <= options.feasibility  # nor if it is not finite

    def _accept(self, run: SQPProgress, taken: Taken) -> None:
        """Moves to the end of the step, and takes its multipliers."""
        self._take(run, taken.step)
        self._regularize(2.0 if taken.length < CUT else 0.0)
        self.failures, self._full = 0, taken.length == 1.0
        self._shorts = self._shorts + 1 if taken.length < SHORT else 0
        run.trajectory, run.feasible = (taken.xs, taken.us), False
        if taken.expanded:
            self._work.judge(run)
        else:
            self._work.move(run, taken.xs, taken.us)
