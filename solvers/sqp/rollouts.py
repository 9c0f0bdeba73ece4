"""Rollouts of a policy, with controls clipped to their limits."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from trajopt.kernels import lane_count
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.trials import Trials
from trajopt.solvers.norms import total
from trajopt.solvers.sqp.merit import Descent, Taken
from trajopt.solvers.sqp.rows import RowBounds
from trajopt.types import Reals

LEAST = 1e-12  # a step, relative to the sizes of the states
FAR = 1.5  # largest rotation of a state by one step [rad]; without a limit drones ended with a needless full turn


class PolicyRollouts:
    """Rolls out x⁺ = f(x, clip(u + α du - K (x ⊖ xs ⊖ α dx))), one step length first, then one a lane at once.

    A start that is to be chosen is xs_0 ⊕ α dx_0, within its bounds.

    Args:
        evaluator: Evaluator with the trajectory and the feedback law.
        lengths: Step lengths, decreasing [-].

    Attributes:
        nonfinite: Place of the first trial along the last step that was not finite, see `Trials.nonfinite_trial`.
    """

    nonfinite: tuple[int, Reals, Reals] | None = None

    def __init__(self, evaluator: Evaluator, lengths: tuple[float, ...]) -> None:
        self._e, lanes = evaluator, lane_count()
        self._rotations = np.flatnonzero(evaluator.state.curved_directions)
        single, many = self._trials = [Trials(evaluator, width, clipped=True) for width in (1, lanes)]
        self._turns = [(single, lengths[:1])]
        self._turns += [(many, lengths[i : i + lanes]) for i in range(1, len(lengths), lanes)]

    def prepare(self) -> None:
        """Compiles the code of the rollouts."""
        for trials in self._trials:
            for call in trials.calls:
                call.prepare()

    def limit(self, rows: RowBounds) -> None:
        """Sets the limits that rollouts keep: `u_lower` and `u_upper` of the rows, and those of a start."""
        self._rows = rows
        for trials in self._trials:
            trials.lower[:], trials.upper[:] = rows.u_lower, rows.u_upper

    def roll_out(self, x0: Reals, us: Reals) -> bool:
        """Makes the evaluator's trajectory the rollout of controls (T, nu); whether that does not diverge."""
        e, trials = self._e, self._trials[0]
        stays = trials.in_range(0, self._cost_without_feedback(x0, us))
        if stays:
            e.xs[:], e.us[:] = trials.xs[0], trials.us[0]
        return stays

    def _cost_without_feedback(self, x0: Reals, us: Reals) -> float:
        """Rolls out controls in the single lane, and returns their cost [cost]."""
        e = self._e
        kept, e.us[:], e.k[:], e.K[:] = e.us.copy(), us, 0.0, 0.0
        (cost,) = self._trials[0].roll_out(x0, [1.0], None)
        e.us[:] = kept
        return cost

    def along(self, descent: Descent, below: float = math.inf) -> Iterator[Taken]:
        """Rollouts of a step's policy, the longest `below` a length first, without any that diverge or turn too far."""
        e, step, rows = self._e, descent.step, self._rows
        assert step.K is not None
        e.K[:] = step.K
        e.k[:] = -step.du - (step.K @ step.dx[:-1, :, None])[:, :, 0]
        self.nonfinite = None
        for trials, lengths in self._turns:
            if lengths[-1] >= below:
                continue
            trials.begin(e.xs[0], lengths, None)
            if rows.chosen:
                for lane, alpha in enumerate(trials.alphas[:, 0]):
                    trials.xs[lane, 0] = rows.within_start(e.state.integrate(e.xs[0], alpha * step.dx[0]))
            trials.run()
            for lane, cost in enumerate(trials.totals(len(lengths))):
                if lengths[lane] >= below:
                    continue
                reached = descent.merit.value(cost, trials.c[lane])
                if not math.isfinite(reached):
                    self.nonfinite = self.nonfinite or trials.nonfinite_trial(lane)
                elif np.abs(trials.dx[lane][:, self._rotations]).max(initial=0.0) <= FAR:
                    yield _taken(trials, lane, lengths[lane], reached, descent)

    def plain(self, descent: Descent) -> float:
        """The merit of the rollout of the guess's controls; infinite if it diverges."""
        cost = self._cost_without_feedback(self._e.xs[0], self._e.us.copy())
        return descent.merit.value(cost, self._trials[0].c[0])

    def departure(self, descent: Descent, sizes: Reals) -> float:
        """Mean distance of the states of the last longest rollout from those of its program, as a part of the step.

        `sizes` are those of the states (ndx,).
        """
        alone, lengths = self._turns[0]
        step, moved = lengths[0] * descent.step.dx, alone.dx[0]
        return total((moved - step) / sizes) / max(total(step / sizes), LEAST)


def _taken(trials: Trials, lane: int, length: float, reached: float, descent: Descent) -> Taken:
    """The rollout of a lane."""
    return Taken(length, *trials.trajectory(lane), trials.c[lane].copy(), reached, descent.step)
