"""Search along straight lines, all knots at once, with a filter."""

from __future__ import annotations

from collections.abc import Iterator

from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.linear_trial import LinearTrial, Retraction
from trajopt.solvers.sqp.filter import Filter
from trajopt.solvers.sqp.merit import Descent, Taken, infeasibility
from trajopt.solvers.sqp.rows import RowBounds
from trajopt.solvers.sqp.units import Units
from trajopt.types import Reals


class LineSearch:
    """Tries xs ⊕ α dx, us + α du, all knots at once.

    After a full step the next one is tried by expanding there, which then need not be done again.

    Source: Wächter, Biegler, On the implementation of an interior-point filter line-search algorithm, 2006, section
    2.3; cost and infeasibility are those of the problem, without a barrier.

    Args:
        evaluator: Evaluator with the trajectory from which steps start.
        lengths: Step lengths, decreasing [-].
    """

    def __init__(self, evaluator: Evaluator, lengths: tuple[float, ...]) -> None:
        self._e, self._lengths = evaluator, lengths
        self.trial = LinearTrial(evaluator)
        certain = Retraction.available(evaluator) and not evaluator.can_fail
        self._retraction = Retraction(evaluator) if certain and lengths[0] == 1.0 else None

    def prepare(self) -> None:
        """Compiles the code that the search runs."""
        self.trial.prepare()
        if self._retraction is not None:
            self._retraction.prepare()

    def along(
        self, descent: Descent, filter_: Filter, theta: float, units: Units, *, x0: Reals | None, full: bool
    ) -> Taken | None:
        """Returns the first acceptable step along a direction; None if no step is acceptable.

        Args:
            descent: The direction.
            filter_: Judge of the trials.
            theta: Infeasibility at the start of the step.
            units: Sizes that infeasibilities are relative to.
            x0: The start (nx,); None where it is chosen.
            full: Whether a full step is likely, as the last one was.
        """
        at, rows = (theta, descent.before), descent.merit.rows
        for taken, f in self._trials(descent, rows, x0, full):
            trial = infeasibility(units.sum_of_gaps(f), rows.sum_of_violations(taken.c)), taken.merit
            if filter_.accepts(at, trial, descent.slope, taken.length, descent.enough(taken.length)):
                return taken
        return None

    def _trials(self, descent: Descent, rows: RowBounds, x0: Reals | None, full: bool) -> Iterator[tuple[Taken, Reals]]:
        """Trials with their gaps; the evaluator is at the first one, expanded, until the next is tried."""
        e, step, trial, merit = self._e, descent.step, self.trial, descent.merit
        du = rows.within_limits(step.du, e.us)
        if full and self._retraction is not None:
            before = e.xs.copy(), e.us.copy()
            self._retraction.move(step.dx, du)
            e.expand(x0)
            yield Taken(1.0, e.xs.copy(), e.us.copy(), e.c, merit.value(e.cost, e.c), step, expanded=True), e.f
            e.xs[:], e.us[:] = before
            e.expand(x0)
        trial.dx[:], trial.du[:] = step.dx, du
        for length in self._lengths:
            reached = merit.value(trial.go(length), trial.c)
            yield Taken(length, trial.xs.copy(), trial.us.copy(), trial.c.copy(), reached, step), trial.f
