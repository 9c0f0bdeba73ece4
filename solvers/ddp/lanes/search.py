"""Line search in lanes: the first step length in all lanes, then further ones for the lanes that need them."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from trajopt.shooting.trials import LARGEST
from trajopt.solvers.ddp.lanes.memory import DIRECTION, TRIAL, LaneMemory
from trajopt.solvers.ddp.lanes.rules import Flags, Promises, Rules
from trajopt.solvers.ddp.searches import NOISE
from trajopt.types import Ints, Reals

WORTH = 128
"""Rollouts that take as long as one more round of trials from Python; so many lengths are tried side by side."""


@dataclass
class LaneSteps:
    """Outcome of the line search in each lane, see `LineStep`; arrays (n,).

    Attributes:
        length: Accepted step length, or the last one that was tried [-].
        accepted: Whether a step was accepted; its trajectory is then in `xs_try` and `us_try` of the lane.
        cost: Cost of the accepted trajectory, or the old one [cost].
        decrease: Decrease of the cost [cost].
        expected: Decrease that was expected [cost].
        unbounded: Whether the cost of a trial was below what counts as a number.
    """

    length: Reals
    accepted: Flags
    cost: Reals
    decrease: Reals
    expected: Reals
    unbounded: Flags

    def put(self, where: Ints, other: LaneSteps, chosen: Flags) -> None:
        """Replaces the outcome of lanes `where` (m,) by that of another search in them, where it is chosen (m,)."""
        for field in fields(self):
            getattr(self, field.name)[where[chosen]] = getattr(other, field.name)[chosen]


class LaneSearch:
    """Tries step lengths in order, in each lane until one is accepted, with the rules of `LineSearch`.

    Further trials run in extra groups, which copies of the lanes that need them fill.

    Args:
        memory: Memory of the lanes; groups from `first_extra` on are the extra ones.
        rules: Rules of the solver.
        first_extra: First extra group [-].
    """

    def __init__(self, memory: LaneMemory, rules: Rules, first_extra: int) -> None:
        self._memory, self._rules = memory, rules
        self._extra = np.arange(first_extra * memory.W, memory.groups * memory.W)
        self._lengths = np.array(rules.options.step_lengths)

    def along(
        self, lanes: Ints, promises: Promises, cost: Reals, feasible: Flags, excess: Reals, *, apart: bool = False
    ) -> LaneSteps:
        """Returns the first accepted step in each of the lanes (m,), in ascending order.

        Args:
            lanes: The lanes.
            promises: Predicted decrease in each.
            cost: Cost of each trajectory before the step (m,) [cost].
            feasible: Whether that trajectory has no gaps (m,).
            excess: A full step that brings so many times what it promised is tried longer (m,) [-].
            apart: Whether the trials of other lanes in their groups are still needed; at most as many as extra ones.
        """
        o, count = self._rules.options, len(self._lengths)
        places = self._borrow(lanes) if apart else lanes
        steps = self._tried(places, np.full(len(lanes), self._lengths[0]), promises, cost, feasible)
        if apart:
            self._memory.copy(TRIAL, places[steps.accepted], lanes[steps.accepted])
        least = NOISE * promises.scale
        grows = steps.accepted & feasible & (steps.length == 1.0) & (excess * steps.expected > least)
        grows &= (steps.decrease > excess * steps.expected) & (o.step_growth > 1.0)
        done = np.where(grows | ~steps.accepted, 1, count)  # lengths that are tried; a growing step has no end
        while len(left := np.flatnonzero(grows | (done < count))):
            left = left[: len(self._extra)]
            several = max(1, min(min(WORTH, len(self._extra)) // len(left), count - 1))
            self._try_more(lanes, left, several, done, grows, steps, promises, cost, feasible)
        steps.cost = np.where(steps.accepted, steps.cost, cost)
        return steps

    def _try_more(
        self,
        lanes: Ints,
        left: Ints,
        several: int,
        done: Ints,
        grows: Flags,
        steps: LaneSteps,
        promises: Promises,
        cost: Reals,
        feasible: Flags,
    ) -> None:
        """Tries the next `several` lengths of the lanes `left`: longer ones where steps grow, else shorter ones."""
        o, table, turn = self._rules.options, (len(left), several), np.arange(several)
        growing = grows[left]
        number = np.minimum(done[left, None] + turn, len(self._lengths) - 1)
        longer = steps.length[left, None] * o.step_growth ** (turn + 1.0)
        lengths = np.where(growing[:, None], longer, self._lengths[number])
        who = np.repeat(left, several)
        places = self._borrow(lanes[who])
        trials = self._tried(places, lengths.ravel(), promises.take(who), cost[who], feasible[who])
        reached, inside = trials.cost.reshape(table), self._in_range(places, trials.cost).reshape(table)
        before = np.column_stack([steps.cost[left], reached[:, :-1]])
        falls = np.logical_and.accumulate((reached < before) & inside, axis=1)  # a step grows as long as the cost falls
        accepted = trials.accepted.reshape(table)
        first = np.where(accepted.any(axis=1), accepted.argmax(axis=1), several - 1)
        chosen = np.where(growing, falls.sum(axis=1) - 1, first)  # -1: the step before was better
        self._note(left, chosen, np.where(growing, chosen >= 0, accepted.any(axis=1)), steps, trials, several)
        last = np.where(growing, np.minimum(chosen + 1, several - 1), first)
        below = (reached <= -LARGEST) & (turn <= last[:, None]) & (growing[:, None] <= (turn == last[:, None]))
        steps.unbounded[left] = below.any(axis=1) & (growing | ~steps.accepted[left])
        good = steps.accepted[left] & (chosen >= 0)
        source = places[(np.arange(len(left)) * several + chosen)[good]]
        self._memory.copy(TRIAL, source, lanes[left[good]])
        grows[left] = growing & (chosen == several - 1)
        done[left] = np.where(growing | good, len(self._lengths), done[left] + several)

    def _note(self, left: Ints, chosen: Ints, good: Flags, steps: LaneSteps, trials: LaneSteps, several: int) -> None:
        """Takes over the chosen trial of each lane in `left`, where there is one."""
        there = chosen >= 0
        number = (np.arange(len(left)) * several + chosen)[there]
        for name in ("length", "cost", "decrease", "expected"):
            getattr(steps, name)[left[there]] = getattr(trials, name)[number]
        steps.accepted[left] |= good

    def _tried(self, places: Ints, lengths: Reals, promises: Promises, cost: Reals, feasible: Flags) -> LaneSteps:
        """Rolls out in the lanes `places` (m,), with one length each, and judges the trials."""
        reached, dv = self._rolled(places, lengths, wanted=self._rules.gaps and bool(promises.open.any()))
        latest = promises.at(dv)
        expected, decrease = latest.decrease(lengths), cost - reached
        accepted = self._rules.accepts(latest, expected, decrease, feasible)
        accepted &= self._in_range(places, reached)
        return LaneSteps(lengths.copy(), accepted, reached, decrease, expected, reached <= -LARGEST)

    def _rolled(self, places: Ints, lengths: Reals, *, wanted: bool) -> tuple[Reals, Reals]:
        """Costs (m,) of rollouts [cost], and Σ V f · dx if it is wanted."""
        arrays, W = self._memory.arrays, self._memory.W
        group, lane = places // W, places % W
        arrays["alpha"][group, 0, 0, lane] = lengths
        self._memory.roll_out(self._memory.groups_of(places))
        first, end = int(group.min()), int(group.max()) + 1
        costs = np.add.reduce(arrays["costs"][first:end, :, 0, :], axis=1)[group - first, lane]
        dv = np.zeros(len(places))
        if wanted:
            dv = np.einsum("gtnl,gtnl->gl", arrays["Vf"][first:end], arrays["dx"][first:end])[group - first, lane]
        return costs, dv

    def _in_range(self, places: Ints, reached: Reals) -> Flags:
        """Whether the cost [cost] and the norm of all states of a trial are finite and below LARGEST in lanes (m,)."""
        W, states = self._memory.W, self._memory.arrays["xs_try"]
        group = places // W
        first = int(group.min())
        some = states[first : int(group.max()) + 1]
        inside: Flags = np.abs(reached) < LARGEST  # false for NaN
        if not np.vdot(some, some) < LARGEST**2:
            inside &= np.einsum("gtnl,gtnl->gl", some, some)[group - first, places % W] < LARGEST**2
        return inside

    def _borrow(self, lanes: Ints) -> Ints:
        """Copies lanes (m,) to extra lanes, which are returned (m,)."""
        places = self._extra[: len(lanes)]
        self._memory.copy(DIRECTION, lanes, places)
        return places
