"""Line search by rollouts, several step lengths in one pass."""

from __future__ import annotations

import math
from dataclasses import dataclass

from trajopt.kernels import LANES
from trajopt.shooting.evaluator import Evaluator, Trials
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
    """Tries step lengths in order, the first ones alone, then eight at once.

    The accepted step is the one that a sequential search would have accepted.

    Args:
        evaluator: What rolls out.
        lengths: Step lengths, decreasing [-].
        acceptance: What is enough.
    """

    def __init__(self, evaluator: Evaluator, lengths: tuple[float, ...], acceptance: Acceptance) -> None:
        self._evaluator, self._acceptance = evaluator, acceptance
        single, many = evaluator.trials(1), evaluator.trials(LANES)
        self._turns: list[tuple[Trials, tuple[float, ...]]] = [(single, (length,)) for length in lengths[:ALONE]]
        self._turns += [(many, lengths[i : i + LANES]) for i in range(ALONE, len(lengths), LANES)]

    def along(self, promise: Promise, x0: Reals, cost: float, *, feasible: bool) -> Step:
        """The first accepted step along the direction that the evaluator's k and K hold.

        Args:
            promise: What the direction promises.
            x0: Initial state (nx,).
            cost: Cost of the trajectory before the step [cost].
            feasible: Whether that is a rollout.
        """
        latest, expected, decrease = promise, math.nan, math.nan
        for trials, lengths in self._turns:
            costs = trials.roll_out(x0, lengths, promise.gaps)
            for lane, (length, reached) in enumerate(zip(lengths, costs)):
                if not math.isfinite(reached):
                    continue
                latest = promise.at(trials.dx[lane])
                expected, decrease = latest.decrease(length), cost - reached
                if self._acceptance.accepts(latest, expected, decrease, feasible=feasible):
                    trajectory = (trials.xs[lane].copy(), trials.us[lane].copy())
                    return Step(length, True, trajectory, reached, decrease, expected, latest)
        return Step(self._turns[-1][1][-1], False, None, cost, decrease, expected, latest)
