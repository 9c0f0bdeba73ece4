"""State of the solves in all lanes: rows, times, and the numbers that machine code works on."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.solvers.ddp.lanes.memory import LaneMemory
from trajopt.solvers.ddp.lanes.numbers import STATE
from trajopt.types import Ints, Reals

IDLE = -1


class LaneNumbers:
    """One of the numbers of the state, read and written by lane.

    Args:
        array: The numbers (G, W) of all groups.
    """

    def __init__(self, array: Reals) -> None:
        self.array, self._W = array, array.shape[1]

    def __getitem__(self, lanes: Ints) -> Reals:
        found: Reals = self.array[lanes // self._W, lanes % self._W]
        return found

    def __setitem__(self, lanes: Ints, values: Any) -> None:
        self.array[lanes // self._W, lanes % self._W] = values


class LaneState:
    """Rows that lanes solve, and the numbers of their solves by name, see `STATE`.

    Args:
        memory: Memory of the lanes.
        n: Number of lanes that solve rows [-]; the others are extra ones.

    Attributes:
        row: Row of the batch that each lane solves (n,); IDLE for none.
        seconds: Part of the wall time (n,) [s].
    """

    def __init__(self, memory: LaneMemory, n: int) -> None:
        self._memory = memory
        self.row, self.seconds = np.full(n, IDLE, dtype=np.int64), np.zeros(n)
        whole = memory.arrays["state"]
        whole[:] = 0.0
        self._numbers = {name: LaneNumbers(whole[: n // memory.W, 0, i]) for i, name in enumerate(STATE)}

    def __getitem__(self, name: str) -> LaneNumbers:
        return self._numbers[name]

    def begin(self, chosen: Ints, rows: Ints, rho: float) -> None:
        """Sets chosen lanes (m,) to the beginning of a solve of rows (m,), whose costs and scales are still unknown."""
        first = {"active": 1.0, "rho": rho, "fresh": 1.0, "loose": -1.0, "promised": np.inf, "unit": 1.0}
        numbers = np.array([first.get(name, 0.0) for name in STATE])
        self._memory.put("state", chosen, np.tile(numbers[:, None], len(chosen)))
        self.row[chosen], self.seconds[chosen] = rows, 0.0

    def move(self, source: Ints, target: Ints) -> None:
        """Moves the numbers of lanes (m,) to other lanes (m,); the former are idle then."""
        self._memory.put("state", target, self._memory.numbers("state", source))
        self.row[target], self.seconds[target] = self.row[source], self.seconds[source]
        self.leave(source)

    def leave(self, lanes: Ints) -> None:
        """Makes lanes (m,) idle."""
        self.row[lanes], self["active"][lanes] = IDLE, 0.0

    @property
    def active(self) -> Ints:
        """Lanes that solve a row."""
        return np.flatnonzero(self.row != IDLE)
