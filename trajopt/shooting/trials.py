"""Rollouts along a direction, with several step lengths at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from trajopt.kernels import KernelCall, SideBySide
from trajopt.shooting.arrays import padded
from trajopt.shooting.kinds import by_class
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.shooting.evaluator import Evaluator

LARGEST = 1e30  # of costs and states; what is beyond has diverged. As Crocoddyl 3.2.1


class Trials:
    """Rollouts with feedback along a direction, one step length a lane.

    Args:
        evaluator: Whose trajectory and feedback law they use.
        width: Lanes, 1 or 8.
        clipped: Whether controls are clipped to limits.

    Attributes:
        alphas: Step lengths (width, 1).
        xs: States (width, T + 1, nx); row 0 is set by the caller.
        us: Controls (width, T, nu).
        costs: Costs (width, T + 1) [cost].
        dx: xs ⊖ the evaluator's xs (width, T + 1, ndx).
        c: Constraint rows (width, T + 1, nc).
        lower, upper: Limits of the controls (T, nu) if they are clipped; set by the caller.
        gaps: Gaps of which a step of length α closes the part α (T + 1, ndx); set by the caller.
        calls: What a rollout runs: the running knots, and the end.
    """

    def __init__(self, evaluator: Evaluator, width: int, *, clipped: bool = False) -> None:
        e, state, T = evaluator, evaluator.state, evaluator.T
        self.evaluator, self.width, self.clipped = e, width, clipped
        self.lower, self.upper = padded((T, e.nu)), padded((T, e.nu))
        self.alphas = padded((width, 1))
        self.xs, self.us = padded((width, T + 1, state.nx)), padded((width, T, e.nu))
        self.costs, self.dx = padded((width, T + 1)), padded((width, T + 1, state.ndx))
        self.c = padded((width, T + 1, e.nc))
        self.gaps = padded((T + 1, state.ndx))
        self._states = [states.reshape(-1) for states in self.xs]
        self._lengths, self._starts = self.alphas[:, 0], self.xs[:, 0]
        calls = {family: family.steps(kinds, self) for family, kinds in by_class(e.running).items()}
        end = e.terminal.terminal_step(self)
        self.calls = [*calls.values(), end]
        family_at = {t: type(kind) for kind in e.running for t in kind.knots}
        self._parts: list[Callable[[], None]] = []
        for family, knots in groupby(range(T), key=family_at.__getitem__):
            span = list(knots)
            self._parts.append(partial(calls[family], span[0], span[-1] + 1))
        self._parts.append(end)

    @property
    def compiled_run(self) -> KernelCall | None:
        """The call of the running knots, if there is one for all of them, and it is compiled."""
        call = self.calls[0]
        return call if len(self.calls) == 2 and isinstance(call, KernelCall) else None

    def run(self) -> None:
        """Rolls out from row 0 of `xs` in every lane."""
        for part in self._parts:
            part()

    def roll_out(self, x0: Reals, lengths: Sequence[float], gaps: Reals | None) -> list[float]:
        """Rolls out with step lengths, at most `width` of them, and gives their costs [cost].

        Args:
            x0: Initial state (nx,).
            lengths: One a lane; lanes that are left repeat the last one.
            gaps: Gaps (T + 1, ndx) of which a step of length α closes the part α; None if it closes all.
        """
        self.begin(x0, lengths, gaps)
        self.run()
        return self.totals(len(lengths))

    def begin(self, x0: Reals, lengths: Sequence[float], gaps: Reals | None) -> None:
        """Prepares the running knots for `roll_out`."""
        count = len(lengths)
        self._lengths[:count] = lengths
        if count < self.width:
            self._lengths[count:] = lengths[-1]
        self._starts[:] = x0
        if gaps is None:
            self.gaps.fill(0.0)
        else:
            self.gaps[:] = gaps
            if gaps[0].any():
                for lane in range(self.width):
                    part = (self._lengths[lane] - 1.0) * gaps[0]
                    self._starts[lane] = self.evaluator.state._integrate(x0, part)  # without checks of what was checked

    def totals(self, count: int) -> list[float]:
        """Costs of the first `count` lanes [cost]."""
        costs: list[float] = np.add.reduce(self.costs, axis=1)[:count].tolist()
        return costs

    def in_range(self, lane: int, cost: float) -> bool:
        """Whether the cost [cost] and the norm of all states of a lane are finite and below LARGEST."""
        states = self._states[lane]
        norm = np.vdot(states, states)  # unlike dot, it overflows without a warning
        return abs(cost) < LARGEST and bool(norm < LARGEST**2)


class Turn:
    """Trials that are tried one after the other.

    Where a thread is free they are rolled out at once, before anybody knows whether all of them are needed.

    Args:
        trials: The trials, each with arrays of its own if there are several.
    """

    def __init__(self, trials: Sequence[Trials]) -> None:
        self._trials = list(trials)
        runs = [each.compiled_run for each in self._trials]
        calls = [call for call in runs if call is not None]
        self._together = SideBySide(calls) if len(calls) == len(runs) > 1 else None

    def roll_out(
        self, x0: Reals, lengths: Sequence[Sequence[float]], gaps: Reals | None
    ) -> Iterator[tuple[Trials, list[float]]]:
        """Gives trial by trial its costs [cost]; `lengths` has the step lengths of each, other arguments as there."""
        if self._together is None or not self._together.shared:
            for trials, some in zip(self._trials, lengths):
                yield trials, trials.roll_out(x0, some, gaps)
            return
        for trials, some in zip(self._trials, lengths):
            trials.begin(x0, some, gaps)
        self._together()
        for trials, some in zip(self._trials, lengths):
            trials.calls[-1]()
            yield trials, trials.totals(len(some))
