"""Configurations that descend in parallel, in blocks of lanes; new rows take the lanes of rows that have ended."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trajopt.ik.collisions import refilled
from trajopt.ik.descent import FIRST_DAMPING, MEMORY, SCALARS, SETTINGS, START, DescentBuilder
from trajopt.ik.tasks import TaskModel
from trajopt.kernels import Kernel, KernelCall, Program, Rows, kernel, lane_count, rows
from trajopt.model.programs import kept
from trajopt.types import Reals

Ints = npt.NDArray[np.int64]

PASSES = 4
"""Iterations of a call, after which rows that have ended free their lanes; 2 cost more calls, 8 more idle lanes."""
FEW = 32
"""Number of rows up to which one call serves all of them."""


class Kernels:
    """Compiled programs of a task model's descent.

    Args:
        model: The tasks.

    Attributes:
        start: First iteration, and length of the step after it.
        descent: `PASSES` iterations.
    """

    def __init__(self, model: TaskModel) -> None:
        self.model = model
        start, descent = kept(model, "inverse kinematics", lambda: _programs(model))
        self.start: Kernel = kernel(start, lane_count())
        self.descent: Kernel = kernel(descent, lane_count())


def _programs(model: TaskModel) -> tuple[Program, Program]:
    builder = DescentBuilder(model)
    return builder.start(), builder.descent(PASSES)


class Lanes:
    """Memory of n descents, and the calls that iterate them.

    Args:
        kernels: Compiled programs.
        n: Number of configurations.
        low: Lower limits of q ⊖ neutral (nv,); -inf for no limit.
        high: Upper limits of q ⊖ neutral (nv,); inf for no limit.

    Attributes:
        q: Configurations (n, nq).
        scalars: Memory of each lane, in the order of `SCALARS` (n, 7).
        lengths: Squared lengths of the first step, after `start` (n, 1).
        left: 0 for rows that have ended (n, 1).
        p: Parameters of each row (n, np).
        settings: Settings, in the order of `SETTINGS` (3,).
    """

    def __init__(self, kernels: Kernels, n: int, low: Reals, high: Reals) -> None:
        self.n, self._kernels = n, kernels
        sizes = dict(zip(MEMORY, kernels.start.lengths))
        self._memory = {name: np.zeros((n, size)) for name, size in sizes.items()}
        self.q, self.scalars = self._memory["q"], self._memory["scalars"]
        self.p = np.zeros((n, kernels.start.lengths[len(MEMORY)]))
        self.lengths, self.left = np.zeros((n, 1)), np.zeros((n, 1))
        self._limits, self.settings = (low.copy(), high.copy()), np.zeros(len(SETTINGS))
        self._calls: dict[str, KernelCall] = {}

    def begin(self) -> None:
        """Resets all memory except q; the next iteration is a first one."""
        for name in MEMORY[1:]:
            self._memory[name][:] = 0.0
        self.scalars[:, SCALARS.index("damping")] = FIRST_DAMPING
        self.scalars[:, SCALARS.index("penalty")] = 1.0
        self.scalars[:, SCALARS.index("phase")] = START
        self.left[:] = 1.0
        for slots in self._kernels.model.collisions:
            slots.switch_off(self.p)

    def start(self) -> None:
        """Evaluates all rows, as the first iteration."""
        self._run("start", self._kernels.start, self.lengths, np.arange(self.n))

    def take(self, other: Lanes, chosen: Ints) -> None:
        """Copies the memory of chosen rows from other lanes."""
        for name, array in self._memory.items():
            np.take(other._memory[name], chosen, axis=0, out=array)
        np.take(other.p, chosen, axis=0, out=self.p)
        self.left[:] = 1.0

    def descend(self, active: npt.NDArray[np.bool_]) -> int:
        """Runs up to `PASSES` iterations of the active rows (n,); returns how many."""
        chosen = np.flatnonzero(active) if self.n > FEW else np.arange(self.n)
        self["ended"][~active] = 1.0
        self._run("descent", self._kernels.descent, self.left, chosen)
        if self._kernels.model.collisions:
            self._look_for_collisions(np.flatnonzero(active & (self.left[:, 0] == 0.0)))
        return PASSES

    def _look_for_collisions(self, ended: Ints) -> None:
        """Lets rows that have ended with bodies too near go on, with collision rows for the nearest ones."""
        if not len(ended):
            return
        p = self.p[ended]
        changed = ended[refilled(self._kernels.model, self.q[ended], p, self.settings[0])]
        self.p[ended], self.left[changed] = p, 1.0
        for name, value in (("phase", START), ("ended", 0.0), ("violation", np.inf)):
            self[name][changed] = value

    def __getitem__(self, name: str) -> Reals:
        """Memory of all rows, by a name in `SCALARS` (n,)."""
        return self.scalars[:, SCALARS.index(name)]

    def _run(self, name: str, which: Kernel, last: Reals, chosen: Ints) -> None:
        if name in self._calls and len(chosen) == self.n:
            self._calls[name]()
            return
        filled = np.concatenate([chosen, np.full(-len(chosen) % lane_count(), chosen[-1])]).reshape(-1, lane_count())
        memory = [rows(each) for each in self._memory.values()]
        constants = [rows(self.p), *(Rows(each, 0) for each in (*self._limits, self.settings))]
        call = KernelCall([which], np.zeros(len(filled)), filled, [*memory, *constants, *memory, rows(last)])
        if len(chosen) == self.n:
            self._calls[name] = call
        call()
