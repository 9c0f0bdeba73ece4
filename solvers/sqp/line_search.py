"""Search along straight lines, all knots at once, with a filter and a second-order correction."""

from __future__ import annotations

from collections.abc import Callable

from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.linear_trial import LinearTrial, Retraction
from trajopt.solvers.qp import QPSolution, QPStatus
from trajopt.solvers.sqp.filter import Filter
from trajopt.solvers.sqp.merit import Descent, Taken, infeasibility
from trajopt.solvers.sqp.rows import RowBounds
from trajopt.solvers.sqp.units import Units
from trajopt.types import Reals

Correct = Callable[[Reals, Reals], QPSolution]
"""Gives the step with a second-order correction, from gaps and rows after the full step."""


class LineSearch:
    """Tries xs ⊕ α dx, us + α du, all knots at once.

    A full step that fails and adds infeasibility is corrected, unless it is itself the rough result of a few
    iterations. After a full step the next one is tried by expanding there, which then need not be done again.

    Source: Wächter, Biegler, On the implementation of an interior-point filter line-search algorithm, 2006, section
    2.3 and 2.4; cost and infeasibility are those of the problem, without a barrier.

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
        self,
        descent: Descent,
        filter_: Filter,
        theta: float,
        units: Units,
        correct: Correct,
        *,
        x0: Reals | None,
        full: bool,
    ) -> Taken | None:
        """Returns the first acceptable step along a direction; None if no step is acceptable.

        Args:
            descent: The direction.
            filter_: Judge of the trials.
            theta: Infeasibility at the start of the step.
            units: Sizes that infeasibilities are relative to.
            correct: Gives a corrected step.
            x0: The start (nx,); None where it is chosen.
            full: Whether a full step is likely, as the last one was.
        """
        rows = descent.merit.rows

        def accepts(new_theta: float, taken: Taken) -> bool:
            at, trial = (theta, descent.before), (new_theta, taken.merit)
            return filter_.accepts(at, trial, descent.slope, taken.length, descent.enough(taken.length))

        if full and self._retraction is not None:
            before = self._e.xs.copy(), self._e.us.copy()
            new_theta, taken = self._expanded(descent, rows, units, x0)
            if accepts(new_theta, taken):
                return taken
            self._e.xs[:], self._e.us[:] = before
            self._e.expand(x0)
        for length in self._lengths:
            new_theta, taken = self._tried(descent, descent.step, rows, units, length)
            if accepts(new_theta, taken):
                return taken
            cut = self._rough and descent.step.status is QPStatus.MAX_ITERATIONS
            if length == self._lengths[0] == 1.0 and new_theta >= theta and not cut:
                corrected = correct(self.trial.f, self.trial.c)
                if corrected.status is QPStatus.SOLVED:
                    new_theta, taken = self._tried(descent, corrected, rows, units, length)
                    if accepts(new_theta, taken):
                        return taken
        return None

    def _expanded(self, descent: Descent, rows: RowBounds, units: Units, x0: Reals | None) -> tuple[float, Taken]:
        """The full step, expanded, and its infeasibility."""
        e, step = self._e, descent.step
        assert self._retraction is not None
        self._retraction.move(step.dx, rows.within_limits(step.du, e.us))
        e.expand(x0)
        theta = infeasibility(units.sum_of_gaps(e.f), rows.sum_of_violations(e.c))
        reached = descent.merit.value(e.cost, e.c)
        return theta, Taken(1.0, e.xs.copy(), e.us.copy(), e.c, reached, step, expanded=True)

    def _tried(
        self, descent: Descent, step: QPSolution, rows: RowBounds, units: Units, length: float
    ) -> tuple[float, Taken]:
        """A trial, and its infeasibility."""
        trial = self.trial
        trial.dx[:], trial.du[:] = step.dx, rows.within_limits(step.du, self._e.us)
        reached = descent.merit.value(trial.go(length), trial.c)
        theta = infeasibility(units.sum_of_gaps(trial.f), rows.sum_of_violations(trial.c))
        return theta, Taken(length, trial.xs.copy(), trial.us.copy(), trial.c.copy(), reached, step)
