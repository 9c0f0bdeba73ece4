"""Calls with independent blocks, run by several threads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trajopt.errors import InvalidArgumentError
from trajopt.kernels import thread_pool
from trajopt.kernels.call_sequence import CallSequence
from trajopt.kernels.driver import KernelCall, aligned
from trajopt.kernels.reductions import Reduction
from trajopt.kernels.rows import Ints, Reals
from trajopt.kernels.thread_pool_text import JOB
from trajopt.kernels.threads import get_num_threads

# Instructions of several lanes, summed over blocks, that justify a thread: some 20 us. Solves of an arm with 100 knots,
# whose derivatives take 40 us, are 1.2 times faster on two threads.
SMALL_WORK = 50_000


class Job:
    """Memory of a job, see `thread_pool_text`.

    Args:
        units: Function, call and block of each unit.
        rows: Unit that computes each row; empty by default.
    """

    def __init__(self, units: Sequence[tuple[int, int, int]], rows: Ints | None = None) -> None:
        self._units = np.array([(*unit, 0) for unit in units], dtype=np.int64).reshape(-1, 4)
        self._rows = np.zeros(0, dtype=np.int64) if rows is None else rows
        self._scratch: list[tuple[Reals, int]] = []
        self._job = np.zeros(len(JOB), dtype=np.int64)
        self.address = int(self._job.ctypes.data)
        self._fill(units=len(units), table=self._units, rows=self._rows, row_count=len(self._rows))

    def _fill(self, **fields: int | Ints) -> None:
        for name, value in fields.items():
            self._job[JOB.index(name)] = value if isinstance(value, int) else int(value.ctypes.data)

    def share(self, count: int, scratch: int, read: int | None = None, matter: int | None = None) -> int:
        """Runs the units on `count` threads with `scratch` bytes each; returns the reader's result."""
        if self._scratch and self._scratch[0][0].nbytes < scratch:
            self._scratch.clear()  # the code has changed and needs more
        if count > len(self._scratch):
            self._scratch += [aligned(scratch) for _ in range(count - len(self._scratch))]
            self._scratches = np.array([address for _, address in self._scratch], dtype=np.int64)
            self._fill(scratches=self._scratches)
        thread_pool.share(self.address, count - 1, read, matter)
        return int(self._job[JOB.index("result")])


class ParallelCalls:
    """Runs independent calls on the threads of `set_num_threads`.

    Blocks are handed out one by one, so that no thread waits long for another; the last rows come first. Results do
    not depend on the distribution.

    Args:
        calls: The calls; do not run them elsewhere at the same time.
        then: Reductions of their results, run at the end.
    """

    def __init__(self, calls: Sequence[KernelCall], then: Sequence[Reduction] = ()) -> None:
        self.calls, self._then = list(calls), list(then)
        self._sequence = CallSequence([*self.calls, *self._then])
        blocks = sorted((block for call in self.calls for block in call.blocks), key=lambda block: -block[0].max())
        self._worth = min(int(sum(call.work for call in self.calls) / SMALL_WORK), len(blocks))
        unit_of = np.full(1 + max((int(rows.max()) for rows, _ in blocks), default=-1), -1, dtype=np.int64)
        for unit, (rows, _) in enumerate(blocks):
            unit_of[rows] = unit
        self._readable = sum(len(set(rows.tolist())) for rows, _ in blocks) == np.count_nonzero(unit_of >= 0)
        self._job = Job([unit for _, unit in blocks], unit_of)

    @property
    def _count(self) -> int:
        """Number of threads that the work justifies."""
        return min(get_num_threads(), self._worth) if self._worth > 1 else 1

    @property
    def shared(self) -> bool:
        """Whether the calls run on several threads: there are several, and enough work for them."""
        return self._worth > 1 and self._count > 1

    def __call__(self, most: int | None = None) -> None:
        """Runs all blocks of all calls, on at most `most` threads [-]."""
        count = self._count if most is None else min(most, self._count)
        if count > 1:
            self._share(count)
        else:
            self._sequence()

    @property
    def ready(self) -> tuple[int, int]:
        """Addresses of the function that a reader calls before it reads a row, and of that function's first argument.

        `void ready(void *job, long row)` returns when the row is done, or at once if these calls do not compute it.
        """
        return thread_pool.ready(), self._job.address

    def read_by(self, read: int, matter: int) -> int:
        """Runs all blocks and, at the same time, a function that reads the rows as they are completed, last row first.

        Args:
            read: Address of the function, `long read(void *matter)`. It may return before it has read all rows.
            matter: Its argument.

        Returns:
            The function's result, when all blocks are done.

        Raises:
            InvalidArgumentError: Several blocks compute the same row.
        """
        if not self._readable:
            raise InvalidArgumentError("calls: expected one block per row that is read, got rows in several blocks")
        return self._share(self._count, read, matter)

    def _share(self, count: int, read: int | None = None, matter: int | None = None) -> int:
        for call in self.calls:
            if not call.settled:
                call.prepare()
        result = self._job.share(count, self._scratch_bytes, read, matter)
        for sums in self._then:
            sums()
        return result

    @property
    def _scratch_bytes(self) -> int:
        return max((call.scratch_bytes for call in self.calls), default=0)


class SideBySide:
    """Runs independent calls side by side on the threads of `set_num_threads`.

    Each call runs its blocks in order, as rollouts do.

    Args:
        calls: The calls; do not run them elsewhere at the same time.
    """

    def __init__(self, calls: Sequence[KernelCall]) -> None:
        self._calls = list(calls)
        self._worth = all(call.work >= SMALL_WORK for call in self._calls)
        self._job = Job([call.aim() for call in self._calls])

    @property
    def shared(self) -> bool:
        """Whether the calls run on several threads: there are several, and enough work for them."""
        return self._worth and get_num_threads() > 1

    def __call__(self) -> None:
        """Runs all blocks of all calls."""
        for call in self._calls:
            call.aim()
        self._job.share(min(get_num_threads(), len(self._calls)), 0)
