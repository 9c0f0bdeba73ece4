"""Line search by rollouts, several step lengths in one pass."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from trajopt.kernels import lane_count
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.trials import LARGEST, Trials, Turn
from trajopt.solvers.ddp.acceptance import Acceptance, Promise
from trajopt.types import Reals

EXCESS = 1.5  # a full step that brings so many times what it promised is tried longer
NOISE = 1e-12  # of the scale of the costs: below, rounding decides what a step brings
ALONE = 2  # step lengths that are tried one by one: mostly one of them is accepted. Measured: whole solves 1.0 to 1.15

SHORT = 0.25
"""Step length from which down other directions are tried beside. With 1/2 as many are solved, in more time."""


@dataclass(slots=True)
class LineStep:
    """Outcome of a line search.

    Attributes:
        length: Accepted step length, or the last one that was tried [-].
        accepted: Whether a step was accepted.
        trajectory: The accepted states and controls.
        cost: Cost of the accepted trajectory [cost].
        decrease: Decrease of the cost [cost].
        expected: Decrease that was expected [cost].
        promise: The promise at the last trial that was judged.
        unbounded: Whether the cost of a trial was below what counts as a number, -1e30.
        nonfinite_trial: Place of the first trial that was not finite, see `Trials.nonfinite_trial`.
    """

    length: float
    accepted: bool
    trajectory: tuple[Reals, Reals] | None
    cost: float
    decrease: float
    expected: float
    promise: Promise
    unbounded: bool = False
    nonfinite_trial: tuple[int, Reals, Reals] | None = None

    @property
    def short(self) -> bool:
        """Whether no step was accepted, or one so short that other directions are worth a try."""
        return not self.accepted or self.length <= SHORT


class LineSearch:
    """Tries step lengths in order, the first ones alone, side by side on several threads, then one a lane at once.

    The accepted step is the one that a sequential search would have accepted. If it is a full one, and the cost has
    fallen by far more than the direction promised, it grows as long as the cost falls further.

    Args:
        evaluator: Evaluator with the trajectory from which rollouts start.
        lengths: Step lengths, decreasing [-].
        growth: Factor by which a full step grows, 1 for never [-].
        acceptance: Rule that accepts or rejects a step.
        clipped: Whether controls are clipped to limits, see `limit`.

    Attributes:
        single: Room for one rollout.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        lengths: tuple[float, ...],
        growth: float,
        acceptance: Acceptance,
        *,
        clipped: bool = False,
    ) -> None:
        self._acceptance, self._last, self._growth = acceptance, lengths[-1], growth
        self.single, many = (evaluator.trials(width, clipped=clipped) for width in (1, lane_count()))
        alone = [(length,) for length in lengths[:ALONE]]
        singles = [self.single, *(Trials(evaluator, 1, clipped=clipped) for _ in alone[1:])]
        self._rooms = [*singles, many]
        turns = [Turn(list(zip(singles, alone)))]
        turns += [Turn([(many, lengths[i : i + lane_count()])]) for i in range(ALONE, len(lengths), lane_count())]
        self._tries = [(turn, i, *trials) for turn in turns for i, trials in enumerate(turn.trials)]

    def limit(self, lower: Reals, upper: Reals) -> None:
        """Sets the lower and upper limits, (T, nu) each, to which rollouts clip the controls."""
        for trials in self._rooms:
            trials.lower[:], trials.upper[:] = lower, upper

    def start_from(self, start: Callable[[float], Reals]) -> None:
        """Sets the initial state (nx,) of rollouts by their step length, in place of the x0 of `along`."""
        for trials in self._rooms:
            trials.start = start

    def along(self, promise: Promise, x0: Reals, cost: float, *, feasible: bool, excess: float = EXCESS) -> LineStep:
        """Returns the first accepted step along the direction given by the evaluator's k and K.

        Args:
            promise: Predicted decrease along the direction.
            x0: Initial state (nx,).
            cost: Cost of the trajectory before the step [cost].
            feasible: Whether the trajectory before the step has no gaps.
            excess: A full step that brings so many times what it promised is tried longer [-].
        """
        latest, expected, decrease, unbounded, outside = promise, math.nan, math.nan, False, None
        for turn, number, trials, lengths in self._tries:
            for lane, reached in enumerate(turn.roll_out(number, x0, promise.gaps)):
                if not abs(reached) < LARGEST:
                    unbounded, outside = unbounded or reached <= -LARGEST, outside or trials.nonfinite_trial(lane)
                    continue
                latest, length = promise.at(trials.dx[lane]), lengths[lane]
                expected, decrease = latest.decrease(length), cost - reached
                accepted = self._acceptance.accepts(latest, expected, decrease, feasible=feasible)
                if accepted and trials.in_range(lane, reached):
                    results = reached, decrease, expected, latest
                    step = LineStep(length, True, trials.trajectory(lane), *results, nonfinite_trial=outside)
                    return self._grown(step, x0, cost) if feasible and self._is_to_grow(step, excess) else step
        return LineStep(self._last, False, None, cost, decrease, expected, latest, unbounded, nonfinite_trial=outside)

    def _is_to_grow(self, step: LineStep, excess: float) -> bool:
        """Whether a step from a rollout is a full one that brought far more than promised, rounding apart."""
        least = NOISE * step.promise.scale
        return step.length == 1.0 < self._growth and step.decrease > excess * step.expected > least

    def _grown(self, full: LineStep, x0: Reals, cost: float) -> LineStep:
        """The full step, or a longer one, as long as the cost falls."""
        best, length, trials = full, self._growth, self.single
        while True:
            (reached,) = trials.roll_out(x0, (length,), None)
            if not (reached < best.cost and trials.in_range(0, reached)):
                return replace(best, unbounded=reached <= -LARGEST)
            expected = full.promise.decrease(length)
            best = LineStep(length, True, trials.trajectory(0), reached, cost - reached, expected, full.promise)
            length *= self._growth
