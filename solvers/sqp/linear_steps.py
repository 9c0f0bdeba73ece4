"""Steps along straight lines with multiple shooting: rows are hard, and a filter judges.

Source: Wächter, Biegler, On the implementation of an interior-point filter line-search algorithm, 2006, section 2.3
and 2.4, for filter and second-order correction; a step is the solution of a quadratic program with inequalities, and
cost and infeasibility are those of the problem, without a barrier.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

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

    Where not all rows of a program can be kept, they are penalized as much as the options allow. It fails if three
    searches in a row do, or three steps in a row are short.

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
        step = self._direction(run)
        if step.status is QPStatus.INDEFINITE:
            run.failed_knot, self.outcome = step.failed_knot, Outcome.INDEFINITE
            return None
        descent = Descent.along(step, Merit(work.rows, run.scale), e, exact=work.model.blend > 0.0)
        taken = self._search(run, descent)
        while taken is not None and not self._moves(run, partial(self._accept, run, taken)):
            taken = self._search(run, descent, below=taken.length)
        self._learn(taken)
        promised = -descent.slope if kept else math.inf  # else it had to make up for gaps and violations
        cut = taken is not None and taken.length < 1.0 and not e.nc
        self._conclude(run, step, promised, feasible=run.gap < feasibility, partial=cut)
        if self.outcome is None and max(self.failures, self._shorts) >= FAILURES:
            self.outcome = Outcome.FAILED
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

    def _search(self, run: SQPProgress, descent: Descent, below: float = math.inf) -> Taken | None:
        """The first acceptable step `below` a length; a full one that adds infeasibility is corrected.

        It is not if its program was cut.
        """
        work, step, lengths = self._work, descent.step, self._work.options.step_lengths
        for length in (each for each in lengths if each < below):
            if self._accepts(run, descent, taken := self._tried(run, descent, step, length)):
                return taken
            uncut = step.status is not QPStatus.MAX_ITERATIONS  # else a correction would be cut short too
            if length == lengths[0] == 1.0 and taken.infeasibility >= run.infeasibility and uncut:
                corrected = work.model.corrected(run, step, work.line.f, work.line.c)
                solved = corrected.status is QPStatus.SOLVED
                if solved and self._accepts(run, descent, taken := self._tried(run, descent, corrected, length)):
                    return taken
        return None

    def _accepts(self, run: SQPProgress, descent: Descent, taken: Taken) -> bool:
        """Whether the filter accepts a trial."""
        at, trial = (run.infeasibility, descent.before), (taken.infeasibility, taken.merit)
        return self._filter.accepts(at, trial, descent.slope, taken.length, descent.enough(taken.length))

    def _tried(self, run: SQPProgress, descent: Descent, step: QPSolution, length: float) -> Taken:
        """A trial along the line."""
        work, line = self._work, self._work.line
        line.dx[:], line.du[:] = step.dx, work.rows.within_limits(step.du, work.evaluator.us)
        reached, c = descent.merit.value(line.go(length), line.c), line.c.copy()
        return Taken(length, line.xs.copy(), line.us.copy(), c, reached, step, work.infeasibility(run, line.f, c))

    def _accept(self, run: SQPProgress, taken: Taken) -> None:
        """Moves to the end of the step, and takes its multipliers."""
        self._take(run, taken.step, taken.length)
        run.trajectory, run.feasible = (taken.xs, taken.us), False
        self._work.move(run, taken.xs, taken.us)

    def _learn(self, taken: Taken | None) -> None:
        """A larger δ after a failed search or a very short step."""
        if taken is None:
            self.failures += 1
            self._raise_ridge()
            return
        self._relax_ridge(short=taken.length < CUT)
        self.failures = 0
        self._shorts = self._shorts + 1 if taken.length < SHORT else 0
