"""Rollouts along a direction, with several step lengths at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from trajopt.kernels import CallSequence, KernelCall, Reduction, SideBySide
from trajopt.shooting.arrays import padded
from trajopt.shooting.kinds import KnotsCall, by_class
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.shooting.evaluator import Evaluator

LARGEST = 1e30  # costs and states beyond have diverged, as in Crocoddyl 3.2.1
WILD = 1e6  # a trial that is not finite counts as diverging if states or controls have exceeded this
_SQUARE = LARGEST**2


class Trials:
    """Rollouts with feedback along a direction, one step length per lane.

    Args:
        evaluator: Evaluator with the trajectory and the feedback law.
        width: Number of lanes.
        clipped: Whether controls are clipped to their limits.

    Attributes:
        alphas: Step lengths (width, 1).
        xs: States (width, T + 1, nx); the caller sets row 0.
        us: Controls (width, T, nu).
        costs: Costs (width, T + 1) [cost].
        dx: xs ⊖ the evaluator's xs (width, T + 1, ndx).
        c: Constraint rows (width, T + 1, nc).
        lower, upper: Limits of clipped controls (T, nu); set by the caller.
        gaps: Gaps (T + 1, ndx), of which a step of length α closes the fraction α; set by the caller.
        start: Initial state (nx,) of a lane by its step length; None for the x0 that is passed.
        calls: Calls of a rollout: the running knots, then the end.
        run: Rolls out from row 0 of `xs` in every lane.
        finish: Runs the terminal knot after the running knots.
    """

    start: Callable[[float], Reals] | None = None

    def __init__(self, evaluator: Evaluator, width: int, *, clipped: bool = False) -> None:
        e, state, T = evaluator, evaluator.state, evaluator.T
        self.evaluator, self.width, self.clipped = e, width, clipped
        self.lower, self.upper = padded((T, e.nu)), padded((T, e.nu))
        self.alphas = padded((width, 1))
        self.xs, self.us = padded((width, T + 1, state.nx)), padded((width, T, e.nu))
        self.costs, self.dx = padded((width, T + 1)), padded((width, T + 1, state.ndx))
        self.c = padded((width, T + 1, e.nc))
        self.gaps = padded((T + 1, state.ndx))
        self._of_lanes = list(zip(self.xs, self.us))
        self._sums, self._squares = Reduction(self.costs), Reduction(self.xs.reshape(width, -1), "sum of squares")
        self._lengths, self._starts = self.alphas[:, 0], self.xs[:, 0]
        calls = {family: family.steps(kinds, self) for family, kinds in by_class(e.running).items()}
        end = e.terminal.terminal_step(self)
        self.calls = [*calls.values(), end]
        family_at = {t: type(kind) for kind in e.running for t in kind.knots}
        spans = [(family, list(knots)) for family, knots in groupby(range(T), key=family_at.__getitem__)]
        running: list[Callable[[], None]] = [partial(calls[f], span[0], span[-1] + 1) for f, span in spans]
        last: list[KnotsCall | Reduction] = [end, self._sums, self._squares]
        self.finish = CallSequence(last)
        self.run = CallSequence([*(running if len(spans) > 1 else calls.values()), *last])

    @property
    def compiled_run(self) -> KernelCall | None:
        """The call of all running knots, if there is a single one and it is compiled; else None."""
        call = self.calls[0]
        return call if len(self.calls) == 2 and isinstance(call, KernelCall) else None

    def roll_out(self, x0: Reals, lengths: Sequence[float], gaps: Reals | None) -> list[float]:
        """Rolls out with at most `width` step lengths and returns the costs [cost].

        Args:
            x0: Initial state (nx,).
            lengths: Step lengths, one per lane; remaining lanes repeat the last one.
            gaps: Gaps (T + 1, ndx), of which a step of length α closes the fraction α; None closes all gaps.
        """
        self.begin(x0, lengths, gaps)
        self.run()
        return self.totals(len(lengths))

    def begin(self, x0: Reals, lengths: Sequence[float], gaps: Reals | None) -> None:
        """Sets step lengths, start and gaps of the next rollout; arguments as in `roll_out`."""
        count = len(lengths)
        self._lengths[:count] = lengths
        if count < self.width:
            self._lengths[count:] = lengths[-1]
        if self.start is None:
            self._starts[:] = x0
        else:
            self._starts[:] = [self.start(length) for length in self._lengths]
        if gaps is None:
            self.gaps.fill(0.0)
        else:
            self.gaps[:] = gaps
            if gaps[0].any():
                state = self.evaluator.state
                for lane in range(self.width):
                    self._starts[lane] = state.integrate_unchecked(
                        self._starts[lane], (self._lengths[lane] - 1.0) * gaps[0]
                    )

    def totals(self, count: int) -> list[float]:
        """Total costs of the first `count` lanes of the last run [cost]."""
        return self._sums.latest()[:count]

    def trajectory(self, lane: int) -> tuple[Reals, Reals]:
        """States (T + 1, nx) and controls (T, nu) of a lane, as copies."""
        xs, us = self._of_lanes[lane]
        return xs.copy(), us.copy()

    def nonfinite_trial(self, lane: int) -> tuple[int, Reals, Reals] | None:
        """Knot, state (nx,) and control (nu,) at which a lane left the domain of a cost or of the dynamics.

        At the end, the control is that of the last running knot. Returns None if all values are finite, or if the lane
        had diverged before.
        """
        xs, us = self._of_lanes[lane]
        bad = ~np.isfinite(self.costs[lane])
        bad[:-1] |= ~np.isfinite(xs[1:]).all(axis=1)
        knot = int(bad.argmax())
        x, u = xs[knot], us[min(knot, len(us) - 1)]
        if not (bad[knot] and max(np.abs(x).max(initial=0.0), np.abs(u).max(initial=0.0)) < WILD):
            return None
        return knot, x.copy(), u.copy()

    def in_range(self, lane: int, cost: float) -> bool:
        """True if the cost [cost] and the norm of all states of a lane are finite and below LARGEST."""
        return abs(cost) < LARGEST and self._squares.latest()[lane] < _SQUARE


class Turn:
    """Sets of trials that are tried one after another.

    If a thread is free, a set is rolled out ahead of time, before it is certain that it is needed.

    Args:
        trials: Trials and their step lengths; each of several trials has its own arrays.

    Attributes:
        trials: The same trials.
    """

    def __init__(self, trials: Sequence[tuple[Trials, tuple[float, ...]]]) -> None:
        self.trials = list(trials)
        runs = [each.compiled_run for each, _ in self.trials]
        calls = [call for call in runs if call is not None]
        self._together = SideBySide(calls) if len(calls) == len(runs) > 1 else None

    def roll_out(self, number: int, x0: Reals, gaps: Reals | None) -> list[float]:
        """Costs [cost] of the trials with this number; call in ascending order. Arguments as in `Trials.roll_out`."""
        trials, lengths = self.trials[number]
        if self._together is None or not self._together.shared:
            return trials.roll_out(x0, lengths, gaps)
        if number == 0:
            for each, some in self.trials:
                each.begin(x0, some, gaps)
            self._together()
        trials.finish()
        return trials.totals(len(lengths))
