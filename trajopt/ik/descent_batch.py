"""Rows of configurations that descend side by side, in blocks of lanes; rows that have ended make room for others."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trajopt.ik.descent import FIRST_DAMPING, MEMORY, SCALARS, SETTINGS, START, DescentBuilder
from trajopt.ik.tasks import TaskModel
from trajopt.kernels import Kernel, KernelCall, Program, Rows, kernel, lane_count, rows
from trajopt.model.programs import kept
from trajopt.types import Reals

Ints = npt.NDArray[np.int64]

PASSES = 4
"""Passes of a call: afterwards rows that have ended make room. Two cost more calls, eight more idle lanes."""
FEW = 32
"""Rows up to which a call is kept, and makes room for nobody."""


class Kernels:
    """The compiled programs of a task model.

    Args:
        model: The tasks.

    Attributes:
        start: First pass and length of the step after it.
        descent: `PASSES` passes.
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
    """Memory of n configurations, and calls that move them.

    Args:
        kernels: What moves them.
        n: Number of configurations.
        low: Limits of q ⊖ neutral (nv,), -inf where there are none.
        high: Limits likewise.

    Attributes:
        q: Configurations (n, nq).
        scalars: What a lane remembers by `SCALARS`, (n, 7).
        lengths: Squared lengths of the first step, after `start`, (n, 1).
        left: 0 where nothing is left to do, (n, 1).
        p: Parameters of each, (n, np).
        settings: By `SETTINGS`, (3,).
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
        """Forgets all but q: the next pass is a first one."""
        for name in MEMORY[1:]:
            self._memory[name][:] = 0.0
        self.scalars[:, SCALARS.index("damping")] = FIRST_DAMPING
        self.scalars[:, SCALARS.index("penalty")] = 1.0
        self.scalars[:, SCALARS.index("phase")] = START
        self.left[:] = 1.0

    def start(self) -> None:
        """Evaluates all rows."""
        self._run("start", self._kernels.start, self.lengths, np.arange(self.n))

    def take(self, other: Lanes, chosen: Ints) -> None:
        """Goes on with rows of others."""
        for name, array in self._memory.items():
            np.take(other._memory[name], chosen, axis=0, out=array)
        np.take(other.p, chosen, axis=0, out=self.p)
        self.left[:] = 1.0

    def descend(self, active: npt.NDArray[np.bool_]) -> int:
        """Up to `PASSES` passes of rows that are active (n,); gives how many passes those are."""
        chosen = np.flatnonzero(active) if self.n > FEW else np.arange(self.n)
        self["ended"][~active] = 1.0
        self._run("descent", self._kernels.descent, self.left, chosen)
        return PASSES

    def __getitem__(self, name: str) -> Reals:
        """Memory of all rows by a name of `SCALARS`, (n,)."""
        return self.scalars[:, SCALARS.index(name)]

    def _run(self, name: str, which: Kernel, last: Reals, chosen: Ints) -> None:
        if name in self._calls and len(chosen) == self.n:
            self._calls[name]()
            return
        filled = np.concatenate([chosen, np.full(-len(chosen) % lane_count(), chosen[-1])]).reshape(-1, lane_count())
        memory = [rows(each) for each in self._memory.values()]
        given = [rows(self.p), *(Rows(each, 0) for each in (*self._limits, self.settings))]
        call = KernelCall([which], np.zeros(len(filled)), filled, [*memory, *given, *memory, rows(last)])
        if len(chosen) == self.n:
            self._calls[name] = call
        call()
