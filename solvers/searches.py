"""Line search by rollouts, several step lengths in one pass."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from trajopt.kernels import LANES
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.trials import Trials, Turn
from trajopt.solvers.acceptance import Acceptance, Promise
from trajopt.types import Reals

ALONE = 2  # step lengths that are tried one by one: mostly one of them is accepted. Measured: whole solves 1.0 to 1.15


@dataclass(frozen=True)
class Step:
    """Outcome of a line search.

    Attributes:
        length: Accepted step length, or the last one that was tried [-].
        accepted: Whether it was accepted.
        trajectory: The accepted states and controls.
        cost: Their cost [cost].
        decrease: Decrease of the cost [cost].
        expected: Decrease that was expected [cost].
        promise: The promise at the last trial that was judged.
    """

    length: float
    accepted: bool
    trajectory: tuple[Reals, Reals] | None
    cost: float
    decrease: float
    expected: float
    promise: Promise


class LineSearch:
    """Tries step lengths in order, the first ones alone, side by side on several threads, then eight at once.

    The accepted step is the one that a sequential search would have accepted.

    Args:
        evaluator: What rolls out.
        lengths: Step lengths, decreasing [-].
        acceptance: What is enough.
    """

    def __init__(self, evaluator: Evaluator, lengths: tuple[float, ...], acceptance: Acceptance) -> None:
        self._acceptance, self._last = acceptance, lengths[-1]
        alone = [(length,) for length in lengths[:ALONE]]
        singles, many = (
            [evaluator.trials(1), *(Trials(evaluator, 1) for _ in alone[1:])],
            Turn([evaluator.trials(LANES)]),
        )
        self._turns: list[tuple[Turn, list[tuple[float, ...]]]] = [(Turn(singles[: len(alone)]), alone)]
        self._turns += [(many, [lengths[i : i + LANES]]) for i in range(ALONE, len(lengths), LANES)]

    def along(self, promise: Promise, x0: Reals, cost: float, *, feasible: bool) -> Step:
        """The first accepted step along the direction that the evaluator's k and K hold.

        Args:
            promise: What the direction promises.
            x0: Initial state (nx,).
            cost: Cost of the trajectory before the step [cost].
            feasible: Whether that is a rollout.
        """
        latest, expected, decrease = promise, math.nan, math.nan
        for trials, lane, length, reached in self._tried(x0, promise.gaps):
            if not math.isfinite(reached):
                continue
            latest = promise.at(trials.dx[lane])
            expected, decrease = latest.decrease(length), cost - reached
            if self._acceptance.accepts(latest, expected, decrease, feasible=feasible):
                trajectory = (trials.xs[lane].copy(), trials.us[lane].copy())
                return Step(length, True, trajectory, reached, decrease, expected, latest)
        return Step(self._last, False, None, cost, decrease, expected, latest)

    def _tried(self, x0: Reals, gaps: Reals | None) -> Iterator[tuple[Trials, int, float, float]]:
        """Trial, lane, step length and cost of one step length after the other, rolled out when it is asked for."""
        for turn, lengths in self._turns:
            for some, (trials, costs) in zip(lengths, turn.roll_out(x0, lengths, gaps)):
                for lane, (length, reached) in enumerate(zip(some, costs)):
                    yield trials, lane, length, reached
