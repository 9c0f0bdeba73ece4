"""Calls whose blocks do not depend on each other, run by several threads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trajopt.kernels import team
from trajopt.kernels.driver import KernelCall, aligned
from trajopt.kernels.rows import Reals
from trajopt.kernels.threads import get_num_threads

# Instructions of eight lanes, summed over blocks, that are worth a thread: some 50 us. Derivatives of an arm with 100
# knots, 43 us, still take 26 on two threads, but then half of them lie in the other core's cache.
SMALL_WORK = 100_000


class ParallelCalls:
    """Runs calls, which must not depend on each other, on the threads of `set_num_threads`.

    Their blocks are handed out one by one, so that nobody waits for the longest; the last rows come first. It does not
    matter who runs which.

    Args:
        calls: The calls; whoever has them in one of these does not run them otherwise at the same time.
    """

    def __init__(self, calls: Sequence[KernelCall]) -> None:
        self.calls = list(calls)
        units = sorted((unit for call in self.calls for unit in call.blocks), key=lambda unit: -unit[0])
        self._units = np.array([how for _, how in units], dtype=np.int64).reshape(-1, 3)
        self._worth = min(int(sum(call.work for call in self.calls) / SMALL_WORK), len(units))
        self._scratch: list[tuple[Reals, int]] = []

    def __call__(self) -> None:
        """Runs all blocks of all calls."""
        if self._worth > 1 and (count := min(get_num_threads(), self._worth)) > 1:
            for call in self.calls:
                if not call.settled:
                    call.prepare()
            if count > len(self._scratch):
                self._make_room(count)
            team.share(self._job_address, count - 1)
        else:
            for call in self.calls:
                call()

    def _make_room(self, count: int) -> None:
        """Scratch for this many threads."""
        size = max(call.scratch_bytes for call in self.calls)
        self._scratch += [aligned(size) for _ in range(count - len(self._scratch))]
        self._scratches = np.array([address for _, address in self._scratch], dtype=np.int64)
        tables = [int(table.ctypes.data) for table in (self._units, self._scratches)]
        self._job = np.array([0, len(self._units), *tables], dtype=np.int64)
        self._job_address = int(self._job.ctypes.data)
