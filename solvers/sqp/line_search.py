"""Search along straight lines, all knots at once, with a filter and a second-order correction."""

from __future__ import annotations

from collections.abc import Callable

from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.linear_trial import LinearTrial, Retraction
from trajopt.solvers.qp import QPSolution, QPStatus
from trajopt.solvers.sqp.filter import Filter
from trajopt.solvers.sqp.merit import Descent, Taken, infeasibility
from trajopt.solvers.sqp.units import Units
from trajopt.types import Reals

Correct = Callable[[Reals, Reals], QPSolution]
"""Gives the step with a second-order correction, from gaps and rows after the full step."""


class LineSearch:
    """Tries xs ⊕ α dx, us + α du, all knots at once.

    A full step that adds infeasibility is corrected, unless its program was cut short. After a full step the next one
    is tried by expanding there, which then need not be done again.

    Source: Wächter, Biegler, On the implementation of an interior-point filter line-search algorithm, 2006, section
    2.3 and 2.4; cost and infeasibility are those of the problem, without a barrier.

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
        at = theta, descent.before

        def accepts(trial: tuple[float, Taken]) -> bool:
            new_theta, taken = trial
            enough = descent.enough(taken.length)
            return filter_.accepts(at, (new_theta, taken.merit), descent.slope, taken.length, enough)

        if full and self._retraction is not None:
            before = self._e.xs.copy(), self._e.us.copy()
            if accepts(trial := self._expanded(descent, units, x0)):
                return trial[1]
            self._e.xs[:], self._e.us[:] = before
            self._e.expand(x0)
        for length in self._lengths:
            if accepts(trial := self._tried(descent, descent.step, units, length)):
                return trial[1]
            cut = descent.step.status is QPStatus.MAX_ITERATIONS  # a correction would be cut short too
            if length == self._lengths[0] == 1.0 and trial[0] >= theta and not cut:
                corrected = correct(self.trial.f, self.trial.c)
                solved = corrected.status is QPStatus.SOLVED
                if solved and accepts(trial := self._tried(descent, corrected, units, length)):
                    return trial[1]
        return None

    def _expanded(self, descent: Descent, units: Units, x0: Reals | None) -> tuple[float, Taken]:
        """The full step, expanded, and its infeasibility."""
        e, step, rows = self._e, descent.step, descent.merit.rows
        assert self._retraction is not None
        self._retraction.move(step.dx, rows.within_limits(step.du, e.us))
        e.expand(x0)
        theta = infeasibility(units.sum_of_gaps(e.f), rows.sum_of_violations(e.c))
        reached = descent.merit.value(e.cost, e.c)
        return theta, Taken(1.0, e.xs.copy(), e.us.copy(), e.c, reached, step, expanded=True)

    def _tried(self, descent: Descent, step: QPSolution, units: Units, length: float) -> tuple[float, Taken]:
        """A trial, and its infeasibility."""
        trial, rows = self.trial, descent.merit.rows
        trial.dx[:], trial.du[:] = step.dx, rows.within_limits(step.du, self._e.us)
        reached = descent.merit.value(trial.go(length), trial.c)
        theta = infeasibility(units.sum_of_gaps(trial.f), rows.sum_of_violations(trial.c))
        return theta, Taken(length, trial.xs.copy(), trial.us.copy(), trial.c.copy(), reached, step)
