"""Steps along straight lines with multiple shooting: rows are hard, and a filter judges.

Source: Wächter, Biegler, On the implementation of an interior-point filter line-search algorithm, 2006, section 2.3
and 2.4, for filter and second-order correction; a step is the solution of a quadratic program with inequalities, and
cost and infeasibility are those of the problem, without a barrier.
"""

from __future__ import annotations

import math

from trajopt.solution import IterationRecord
from trajopt.solvers.qp import QPSolution, QPStatus
from trajopt.solvers.sqp.filter import Filter
from trajopt.solvers.sqp.merit import Descent, Merit, Taken
from trajopt.solvers.sqp.method import FAILURES, Outcome, ProgramSteps
from trajopt.solvers.sqp.progress import SQPProgress
from trajopt.solvers.sqp.workspace import Workspace

SHORT, CUT = 0.2, 0.1  # length of a short step, and below which the next program has a larger δ


class LinearSteps(ProgramSteps):
    """An iteration solves a program with hard rows, and takes the first step along it that the filter accepts.

    Args:
        work: Where the trajectory is.
        run: State of the solve.
    """

    name = "linear"

    def __init__(self, work: Workspace, run: SQPProgress) -> None:
        super().__init__(work)
        self._shorts = 0
        self._filter = Filter(max(1.0, run.infeasibility), held=work.options.feasibility)

    def iterate(self, run: SQPProgress) -> IterationRecord | None:
        """Runs one iteration: a program, a search along its solution, and its multipliers."""
        work, e, feasibility = self._work, self._work.evaluator, self._work.options.feasibility
        gap, kept = e.largest_gap, max(run.gap, run.violation) < feasibility
        step = work.model.solve(run, None, exact=bool(run.lam.any()), ridge=self._ridge)
        if step.status is QPStatus.INDEFINITE:
            run.failed_knot, self.outcome = step.failed_knot, Outcome.INDEFINITE
            return None
        descent = Descent.along(step, Merit(work.rows, run.scale), e, exact=work.model.blend > 0.0)
        taken = self._search(run, descent)
        if taken is None:
            self.failures += 1
            self._regularize(8.0)
        else:
            self._accept(run, step, taken)
        promised = -descent.slope if kept else math.inf  # else it had to make up for gaps and violations
        cut = taken is not None and taken.length < 1.0 and not e.nc
        self._conclude(run, step, promised, feasible=run.gap < feasibility, partial=cut)
        if self.outcome is None and max(self.failures, self._shorts) >= FAILURES:
            self.outcome = Outcome.FAILED
        return self._record(run, descent, taken, gap_norm=gap)

    def _search(self, run: SQPProgress, descent: Descent) -> Taken | None:
        """The longest step along the line that the filter accepts."""
        work, line, step, at = self._work, self._work.line, descent.step, (run.infeasibility, descent.before)
        line.dx[:], line.du[:] = step.dx, work.rows.within_limits(step.du, work.evaluator.us)
        for length in work.options.step_lengths:
            reached = descent.merit.value(line.go(length), line.c)
            infeasibility = work.infeasibility(run, line.f, line.c)
            enough = descent.enough(length)
            if self._filter.accepts(at, (infeasibility, reached), descent.slope, length, enough):
                return Taken(length, line.xs.copy(), line.us.copy(), line.c.copy(), reached)
        return None

    def _accept(self, run: SQPProgress, step: QPSolution, taken: Taken) -> None:
        """Moves to the end of the step, and takes its multipliers."""
        self._take(run, step)
        self._regularize(2.0 if taken.length < CUT else 0.0)
        self.failures = 0
        self._shorts = self._shorts + 1 if taken.length < SHORT else 0
        run.trajectory, run.feasible = (taken.xs, taken.us), False
        self._work.move(run, taken.xs, taken.us)
