"""Line search along straight lines, judged by a filter with margins and a switching rule.

Wächter, Biegler, On the implementation of an interior-point filter line-search algorithm, 2006, section 2.3, with its
second-order correction; cost and infeasibility are those of the problem, without a barrier.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.linear_trial import LinearTrial, Retraction
from trajopt.solvers.qp import QPSolution, QPStatus
from trajopt.solvers.sqp.merit import Taken, infeasibility, merit, sufficient
from trajopt.solvers.sqp.progress import SQPProgress
from trajopt.solvers.sqp.rows import RowBounds
from trajopt.types import Reals

MARGIN = 1e-5  # γ: part of the infeasibility by which a step must improve on an entry, in either measure
POWER_SLOPE, POWER_INFEASIBILITY = 2.3, 1.1  # of the switching rule
LARGEST = 1e4  # times the first infeasibility, at least 1: what no step exceeds
SMALL = 1e-4  # times the same: above it the switching rule does not apply
HELD = 1e-6  # infeasibility that counts as none: below it the cost alone decides

Correct = Callable[[Reals, Reals], QPSolution]
"""Gives the step with a second-order correction, from gaps and rows after the full step."""


class FilterSearch:
    """Tries xs ⊕ α dx, us + α du, all knots at once.

    A step whose slope promises enough decrease must decrease the cost (Armijo); any other one must improve cost or
    infeasibility on the current point and on all that the filter remembers. A full step that fails and adds
    infeasibility is corrected, unless it is itself the rough result of a few iterations.

    After a full step the next one is tried by expanding there, which then need not be done again.

    Args:
        evaluator: Evaluator with the trajectory from which steps start.
        lengths: Step lengths, decreasing [-].
        rough: Whether programs are cut short on purpose; such a step is not corrected.
    """

    def __init__(self, evaluator: Evaluator, lengths: tuple[float, ...], *, rough: bool) -> None:
        self._e, self._lengths, self._rough = evaluator, lengths, rough
        self.trial = LinearTrial(evaluator)
        certain = Retraction.available(evaluator) and not evaluator.can_fail
        self._retraction = Retraction(evaluator) if certain and lengths[0] == 1.0 else None

    def prepare(self) -> None:
        """Compiles the code that the search runs."""
        self.trial.prepare()
        if self._retraction is not None:
            self._retraction.prepare()

    def along(
        self, run: SQPProgress, rows: RowBounds, step: QPSolution, before: float, slope: float, correct: Correct
    ) -> Taken | None:
        """Returns the first acceptable step along a direction; None if no step is acceptable."""
        at = run.infeasibility
        if run.largest == math.inf:
            run.largest = LARGEST * max(1.0, at)
        judge = _Judge(run, at, before, slope)
        if run.full and self._retraction is not None:
            taken = self._expanded(run, rows, step, judge)
            if taken is not None:
                return taken
        for length in self._lengths:
            taken, theta = self._tried(run, rows, step, length)
            if judge.accepts(theta, taken.merit, length):
                return taken
            cut = self._rough and step.status is QPStatus.MAX_ITERATIONS
            if length == self._lengths[0] == 1.0 and theta >= at and not cut:
                corrected = correct(self.trial.f, self.trial.c)
                if corrected.status is QPStatus.SOLVED:
                    taken, theta = self._tried(run, rows, corrected, length)
                    if judge.accepts(theta, taken.merit, length):
                        return taken
        return None

    def _expanded(self, run: SQPProgress, rows: RowBounds, step: QPSolution, judge: _Judge) -> Taken | None:
        """The full step, expanded, if it is acceptable."""
        e, x0 = self._e, None if rows.chosen else run.x0
        assert self._retraction is not None
        self._retraction.move(step.dx, rows.within_limits(step.du, e.us))
        e.expand(x0)
        reached = merit(run, rows, e.cost, e.c)
        theta = infeasibility(run.units.sum_of_gaps(e.f), rows.sum_of_violations(e.c))
        if judge.accepts(theta, reached, 1.0):
            return Taken(1.0, e.xs.copy(), e.us.copy(), e.c, reached, step, expanded=True)
        e.xs[:], e.us[:] = run.trajectory
        e.expand(x0)
        return None

    def _tried(self, run: SQPProgress, rows: RowBounds, step: QPSolution, length: float) -> tuple[Taken, float]:
        """A trial, and its infeasibility."""
        trial = self.trial
        trial.dx[:], trial.du[:] = step.dx, rows.within_limits(step.du, self._e.us)
        reached = merit(run, rows, trial.go(length), trial.c)
        theta = infeasibility(run.units.sum_of_gaps(trial.f), rows.sum_of_violations(trial.c))
        return Taken(length, trial.xs.copy(), trial.us.copy(), trial.c.copy(), reached, step), theta


class _Judge:
    """Whether trials are acceptable, from infeasibility θ and merit φ of the current point, and the slope of φ."""

    def __init__(self, run: SQPProgress, theta: float, phi: float, slope: float) -> None:
        self._run, self._theta, self._phi, self._slope = run, theta, phi, slope
        self._small = run.largest * SMALL / LARGEST

    def accepts(self, theta: float, phi: float, length: float) -> bool:
        """Whether a trial is acceptable; if it is not for its decrease alone, the filter remembers the point."""
        if not (theta <= self._run.largest and phi < math.inf):
            return False
        if max(theta, self._theta) <= HELD:
            return phi <= sufficient(self._run, self._phi, self._slope, length)
        if any(not _better(theta, phi, *entry) for entry in self._run.filter):
            return False
        if self._switches(length):
            return phi <= sufficient(self._run, self._phi, self._slope, length)
        if not _better(theta, phi, self._theta, self._phi):
            return False
        self._run.filter.append((self._theta, self._phi))
        return True

    def _switches(self, length: float) -> bool:
        """Whether the slope promises so much that the cost must decrease."""
        promised = length * max(-self._slope, 0.0) ** POWER_SLOPE
        return self._theta <= self._small and promised > self._theta**POWER_INFEASIBILITY


def _better(theta: float, phi: float, than_theta: float, than_phi: float) -> bool:
    """Whether one measure is better by the margin."""
    return theta <= (1.0 - MARGIN) * than_theta or phi <= than_phi - MARGIN * than_theta
