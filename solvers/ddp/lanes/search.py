"""Line search in lanes: machine code tries step lengths in each lane until one is accepted."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from trajopt.solvers.ddp.lanes.memory import LaneMemory
from trajopt.solvers.ddp.lanes.rules import Flags, Promises, Rules
from trajopt.solvers.ddp.lanes.trials import FIRST, SEARCH
from trajopt.types import Ints, Reals


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

    A lane that has its step rolls it out again, with the same result, as long as others of its group search.

    Args:
        memory: Memory of the lanes.
        rules: Rules of the solver.
    """

    def __init__(self, memory: LaneMemory, rules: Rules) -> None:
        self._memory, self._first = memory, rules.options.step_lengths[0]
        memory.rules[0] = np.reshape(rules.numbers, (-1, 1))

    def along(self, lanes: Ints, promises: Promises, cost: Reals, feasible: Flags, excess: Reals) -> LaneSteps:
        """Returns the first accepted step in each of the lanes (m,), in ascending order.

        Args:
            lanes: The lanes.
            promises: Predicted decrease in each.
            cost: Cost of each trajectory before the step (m,) [cost].
            feasible: Whether that trajectory has no gaps (m,).
            excess: A full step that brings so many times what it promised is tried longer (m,) [-].
        """
        m, p = self._memory, promises
        m.write("promise", lanes, (p.d0, p.d1, p.scale, p.least, p.open, cost, feasible, excess))
        begin = {"alpha": self._first, "phase": FIRST, "left": 1.0}
        m.write("search", lanes, [begin.get(name, 0.0) for name in SEARCH])
        m.search(m.groups_of(lanes))
        s = dict(zip(SEARCH, m.numbers("search", lanes)))
        accepted, unbounded = s["accepted"] != 0.0, s["unbounded"] != 0.0
        return LaneSteps(s["length"], accepted, s["cost"], s["decrease"], s["expected"], unbounded)
