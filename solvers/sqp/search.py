"""Line search by rollouts of a policy, with controls clipped to their limits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trajopt.kernels import LANES
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.trials import Trials
from trajopt.solvers.qp import QPSolution
from trajopt.solvers.sqp.progress import SQPProgress
from trajopt.solvers.sqp.rows import ConstraintRows
from trajopt.types import Reals

DECREASE = 1e-4  # part of the promised decrease of the merit that must come
ROUNDING = 1e-9  # increase of the merit that rounding may bring, relative to it
LEAST_MERIT = 1e-3  # of which rounding is counted
WILD = 1e3  # times the merit of the guess's rollout: what the first rollout of a policy must not exceed


@dataclass(frozen=True)
class PolicyStep:
    """An accepted rollout.

    Attributes:
        length: Its step length [-].
        xs: States (T + 1, nx).
        us: Controls (T, nu).
        c: Constraint rows (T + 1, nc).
        merit: The merit after it.
    """

    length: float
    xs: Reals
    us: Reals
    c: Reals
    merit: float

    @classmethod
    def of(cls, trials: Trials, lane: int, length: float, merit: float) -> PolicyStep:
        """The rollout of a lane."""
        return cls(length, trials.xs[lane].copy(), trials.us[lane].copy(), trials.c[lane].copy(), merit)


class PolicySearch:
    """Rolls out x⁺ = f(x, clip(u + α du - K (x ⊖ xs ⊖ α dx))), one step length first, then eight at once.

    Args:
        evaluator: Whose trajectory, and feedback law, it uses.
        lengths: Step lengths, decreasing [-].
    """

    def __init__(self, evaluator: Evaluator, lengths: tuple[float, ...]) -> None:
        self._e, self._lengths = evaluator, lengths
        self._trials = [Trials(evaluator, width, clipped=True) for width in (1, LANES)]

    def prepare(self) -> None:
        """Compiles what it runs."""
        for trials in self._trials:
            for call in trials.calls:
                call.prepare()

    def limit(self, rows: ConstraintRows) -> None:
        """Takes the limits of the controls."""
        for trials in self._trials:
            trials.lower[:], trials.upper[:] = rows.u_lower, rows.u_upper

    def roll_out(self, x0: Reals, us: Reals) -> None:
        """Makes the evaluator's trajectory the rollout of controls."""
        e, trials = self._e, self._trials[0]
        e.us[:], e.k[:], e.K[:] = us, 0.0, 0.0
        trials.roll_out(x0, [1.0], None)
        e.xs[:], e.us[:] = trials.xs[0], trials.us[0]

    def along(
        self, run: SQPProgress, rows: ConstraintRows, step: QPSolution, merit: float, slope: float
    ) -> PolicyStep | None:
        """The first rollout with enough decrease of the merit.

        From a guess with gaps, whose merit says little, it is the first one that is not far worse than the rollout of
        the guess's controls, or that rollout.
        """
        e, plain = self._e, None if run.repaired else self._plain(run, rows)
        assert step.K is not None
        e.K[:] = step.K
        e.k[:] = -step.du - (step.K @ step.dx[:-1, :, None])[:, :, 0]
        for trials, lane, length, cost in self._tried(run.x0):
            reached = self._merit(run, rows, trials, lane, cost)
            enough = merit + DECREASE * length * min(slope, 0.0) + ROUNDING * max(LEAST_MERIT, abs(merit))
            if reached <= (enough if plain is None else WILD * abs(plain.merit)):
                return PolicyStep.of(trials, lane, length, reached)
        return plain

    def _plain(self, run: SQPProgress, rows: ConstraintRows) -> PolicyStep:
        """The rollout of the guess's controls."""
        trials, self._e.k[:], self._e.K[:] = self._trials[0], 0.0, 0.0
        (cost,) = trials.roll_out(run.x0, [1.0], None)
        return PolicyStep.of(trials, 0, 0.0, self._merit(run, rows, trials, 0, cost))

    def _merit(self, run: SQPProgress, rows: ConstraintRows, trials: Trials, lane: int, cost: float) -> float:
        reached = run.scale * cost + run.penalty.value(rows.penalized(trials.c[lane]))
        return reached if math.isfinite(reached) else math.inf

    def _tried(self, x0: Reals) -> Iterator[tuple[Trials, int, float, float]]:
        single, many = self._trials
        turns = [(single, self._lengths[:1])]
        turns += [(many, self._lengths[i : i + LANES]) for i in range(1, len(self._lengths), LANES)]
        for trials, lengths in turns:
            for lane, cost in enumerate(trials.roll_out(x0, lengths, None)):
                yield trials, lane, lengths[lane], cost


def is_noisy(xs: Reals) -> bool:
    """Whether states (T + 1, nx) are noise rather than a motion: second differences rival the first ones."""
    steps, bends = (float(np.linalg.norm(np.diff(xs, order, axis=0), axis=1).sum()) for order in (1, 2))
    return bends > 0.5 * steps
