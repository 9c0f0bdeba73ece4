"""Line search in lanes: the first step length in all lanes, then further ones for the lanes that need them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajopt.shooting.trials import LARGEST
from trajopt.solvers.ddp.lanes.memory import DIRECTION, LaneMemory
from trajopt.solvers.ddp.lanes.rules import Flags, Promises, Rules
from trajopt.solvers.ddp.searches import NOISE
from trajopt.types import Ints, Reals

TRIAL = (("xs_try", "xs_try"), ("us_try", "us_try"))


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

    def put(self, where: Ints, other: LaneSteps) -> None:
        """Replaces the outcome of lanes `where` (m,)."""
        for name in ("length", "accepted", "cost", "decrease", "expected"):
            getattr(self, name)[where] = getattr(other, name)
        self.unbounded[where] |= other.unbounded


class LaneSearch:
    """Tries step lengths in order, in each lane until one is accepted, with the rules of `LineSearch`.

    Further trials run in extra groups, which copies of the lanes that need them fill.

    Args:
        memory: Memory of the lanes; groups from `first_extra` on are the extra ones.
        rules: Rules of the solver.
        first_extra: First extra group [-].
    """

    def __init__(self, memory: LaneMemory, rules: Rules, first_extra: int) -> None:
        self._memory, self._rules, self._first = memory, rules, first_extra
        self._extra = np.arange(first_extra * memory.W, memory.groups * memory.W)

    def along(self, lanes: Ints, promises: Promises, cost: Reals, feasible: Flags, excess: float) -> LaneSteps:
        """Returns the first accepted step in each of the lanes (m,), in ascending order.

        Args:
            lanes: The lanes.
            promises: Predicted decrease in each.
            cost: Cost of each trajectory before the step (m,) [cost].
            feasible: Whether that trajectory has no gaps (m,).
            excess: A full step that brings so many times what it promised is tried longer [-].
        """
        o = self._rules.options
        steps = self._tried(lanes, np.ones(len(lanes)) * o.step_lengths[0], promises, cost, feasible)
        self._shorten(lanes, steps, promises, cost, feasible)
        steps.unbounded &= ~steps.accepted
        if o.step_growth > 1.0:
            least = NOISE * promises.scale
            grows = steps.accepted & feasible & (steps.length == 1.0) & (excess * steps.expected > least)
            self._grow(lanes, np.flatnonzero(grows & (steps.decrease > excess * steps.expected)), steps, promises, cost)
        steps.cost = np.where(steps.accepted, steps.cost, cost)
        return steps

    def _tried(self, places: Ints, lengths: Reals, promises: Promises, cost: Reals, feasible: Flags) -> LaneSteps:
        """Rolls out in the lanes `places` (m,), with one length each, and judges the trials."""
        m, W = self._memory, self._memory.W
        reached, dv = self._rolled(places, lengths, wanted=bool(promises.open.any()))
        inside = np.abs(reached) < LARGEST  # false for NaN
        latest = promises.at(dv)
        expected, decrease = latest.decrease(lengths), cost - reached
        accepted = inside & self._rules.accepts(latest, expected, decrease, feasible)
        if accepted.any():
            states = m.arrays["xs_try"][np.unique(places // W)]
            if not np.vdot(states, states) < LARGEST**2:
                accepted &= self._in_range(places)
        return LaneSteps(lengths.copy(), accepted, reached, decrease, expected, reached <= -LARGEST)

    def _rolled(self, places: Ints, lengths: Reals, *, wanted: bool) -> tuple[Reals, Reals]:
        """Costs (m,) of rollouts [cost], and Σ V f · dx if it is wanted."""
        arrays, W = self._memory.arrays, self._memory.W
        groups, group = np.unique(places // W, return_inverse=True)
        arrays["alpha"][places // W, 0, 0, places % W] = lengths
        self._memory.roll_out(groups)
        costs = np.add.reduce(arrays["costs"][groups, :, 0, :], axis=1)[group, places % W]
        dv = np.zeros(len(places))
        if wanted:
            dv = np.einsum("gtnl,gtnl->gl", arrays["Vf"][groups], arrays["dx"][groups])[group, places % W]
        return costs, dv

    def _in_range(self, places: Ints) -> Flags:
        """Whether the norm of all states of a trial is below LARGEST in each lane (m,)."""
        states = self._memory.arrays["xs_try"][places // self._memory.W, :, :, places % self._memory.W]
        with np.errstate(over="ignore", invalid="ignore"):
            inside: Flags = np.square(states).sum(axis=(1, 2)) < LARGEST**2
        return inside

    def _shorten(self, lanes: Ints, steps: LaneSteps, promises: Promises, cost: Reals, feasible: Flags) -> None:
        """Tries shorter steps where none is accepted yet, several at once where lanes are free."""
        lengths, done = self._rules.options.step_lengths, 1
        while done < len(lengths):
            left = np.flatnonzero(~steps.accepted)
            if not len(left):
                return
            count = min(len(lengths) - done, max(1, self._room(len(left)) // len(left)))
            some = np.array(lengths[done : done + count])
            for part in np.array_split(left, -(-len(left) * count // len(self._extra))):
                self._try_several(lanes, part, some, steps, promises, cost, feasible)
            done += count

    def _room(self, wanted: int) -> int:
        """Extra lanes in groups that hold so many lanes at least [-]."""
        W = self._memory.W
        return min(-(-wanted // W) * W, len(self._extra))

    def _try_several(
        self,
        lanes: Ints,
        part: Ints,
        lengths: Reals,
        steps: LaneSteps,
        promises: Promises,
        cost: Reals,
        feasible: Flags,
    ) -> None:
        """Tries lengths for lanes `part`, side by side, and notes the first that is accepted, or else the last."""
        who = np.repeat(part, len(lengths))
        places = self._borrow(lanes[who])
        trials = self._tried(places, np.tile(lengths, len(part)), promises.take(who), cost[who], feasible[who])
        table = trials.accepted.reshape(len(part), -1)
        first = np.where(table.any(axis=1), table.argmax(axis=1), len(lengths) - 1)
        number = np.arange(len(part)) * len(lengths) + first
        before = np.arange(len(lengths)) <= first[:, None]
        chosen = _chosen(trials, number)
        chosen.unbounded = (trials.unbounded.reshape(len(part), -1) & before).any(axis=1)
        steps.put(part, chosen)
        good = chosen.accepted
        self._memory.copy(TRIAL, places[number[good]], lanes[part[good]])

    def _borrow(self, lanes: Ints) -> Ints:
        """Copies lanes (m,) to extra lanes, which are returned (m,)."""
        places = self._extra[: len(lanes)]
        names = DIRECTION if self._rules.gaps else tuple(name for name in DIRECTION if name not in ("f", "Vf"))
        self._memory.copy([(name, name) for name in names], lanes, places)
        return places

    def _grow(self, lanes: Ints, growing: Ints, steps: LaneSteps, promises: Promises, cost: Reals) -> None:
        """Tries longer steps as long as the cost falls."""
        for part in np.array_split(growing, max(1, -(-len(growing) // len(self._extra)))):
            length, left = self._rules.options.step_growth, part
            places = self._borrow(lanes[part]) if len(part) else part
            while len(left):
                trials = self._tried(
                    places, np.full(len(left), length), promises.take(left), cost[left], np.ones(len(left), np.bool_)
                )
                with np.errstate(invalid="ignore"):
                    better = (trials.cost < steps.cost[left]) & (np.abs(trials.cost) < LARGEST) & self._in_range(places)
                steps.unbounded[left] = trials.unbounded & ~better
                trials.accepted[:] = True
                steps.put(left[better], _chosen(trials, np.flatnonzero(better)))
                self._memory.copy(TRIAL, places[better], lanes[left[better]])
                left, places, length = left[better], places[better], length * self._rules.options.step_growth


def _chosen(steps: LaneSteps, number: Ints) -> LaneSteps:
    """Steps of these numbers."""
    names = ("length", "accepted", "cost", "decrease", "expected", "unbounded")
    return LaneSteps(*(getattr(steps, name)[number] for name in names))
