"""Threads that share a job with their caller, and look for another one for a while before they sleep.

Waking a thread takes some 60 us. No one waits for a helper that has not begun: the caller does the remaining work, so
that a helper without a core costs nothing. Several callers may share at a time; each helper works for one.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import threading
import time
from types import SimpleNamespace

import numpy as np

from trajopt.kernels import compiler, threads
from trajopt.kernels.thread_pool_text import BOX, BOX_BYTES, CONDITION, MUTEX, thread_pool_text

# Time for which a helper looks for another job [ns]. With two threads, solves of the arm with 100 knots are 1.06 times
# faster with 0 and 1.22 times with 200 us or more; HyQ's trot 1.22 and 1.30 times; its walk gains little beyond 1 ms.
PATIENCE = 1_000_000
LATE = 300_000  # a caller that waits for helpers this much longer than it works stops using them for a while [ns]
REST = 20  # length of this while, as a multiple of the waiting time

_guard = threading.Lock()
_pool: ThreadPool | None = None
_ending = False


class ThreadPool:
    """Pool of helper threads that work on jobs together with the calling thread.

    Args:
        size: Number of helpers.

    Attributes:
        helpers: The helpers; fewer than `size` if the system provides no more threads.
        resting: Time until which helpers are not used, by `time.monotonic_ns`.
    """

    def __init__(self, size: int) -> None:
        self._memory = np.zeros((size + 1) * BOX_BYTES // 8, dtype=np.int64)
        self.boxes = -(-int(self._memory.ctypes.data) // BOX_BYTES) * BOX_BYTES
        self.resting = 0
        self.helpers: list[Helper] = []
        try:
            for i in range(size):
                self.helpers.append(Helper(self, i))
        except RuntimeError:  # the system provides no more threads
            pass
        except BaseException:
            self.close()
            raise

    def share(self, job: int, helpers: int, read: int | None, matter: int | None) -> None:
        """Runs a job in this thread and in at most `helpers` others, see the function `share`."""
        helpers = min(helpers, len(self.helpers)) if time.monotonic_ns() > self.resting else 0
        late = _native().share(job, self.boxes, helpers, read, matter)
        if late > LATE:
            self.resting = time.monotonic_ns() + REST * late

    def close(self) -> None:
        """Ends the helpers once their current jobs are done."""
        for helper in self.helpers:
            helper.close()


class Helper:
    """A thread that works on the jobs posted in its box.

    Args:
        pool: Its pool.
        i: Its index in the pool.
    """

    def __init__(self, pool: ThreadPool, i: int) -> None:
        self._pool = pool  # keeps its memory alive
        self._box = pool.boxes + i * BOX_BYTES
        self._field("number").value = i + 1
        native = _native()
        native.new_mutex(self._box + MUTEX, None)
        native.new_condition(self._box + CONDITION, None)
        self.thread = threading.Thread(target=self._run, name=f"trajopt-{i + 1}", daemon=True)
        self.thread.start()

    def _field(self, name: str) -> ctypes.c_int64:
        return ctypes.c_int64.from_address(self._box + 8 * BOX.index(name))

    def _run(self) -> None:
        _native().help(self._box, PATIENCE)

    @property
    def asleep(self) -> bool:
        """True if the helper is asleep or about to be."""
        return bool(self._field("asleep").value)

    def close(self) -> None:
        """Ends the helper's thread once its current job is done."""
        self._field("closed").value = 1
        _native().wake(self._box)


def share(job: int, helpers: int, read: int | None = None, matter: int | None = None) -> None:
    """Runs a job in this thread and in at most `helpers` others.

    Args:
        job: Address of the job, see `thread_pool_text`.
        helpers: Largest number of helpers.
        read: Address of a function `long read(void *matter)` that this thread runs first, while helpers work.
        matter: Argument of this function.
    """
    (_pool or _started()).share(job, helpers, read, matter)


def ready() -> int:
    """Address of the function that a reader calls before it reads a row, see `thread_pool_text`."""
    return int(_native().ready)


def _started() -> ThreadPool:
    global _pool
    with _guard:
        if _pool is None:
            _pool = ThreadPool(0 if _ending else threads.get_num_threads() - 1)
        return _pool


@functools.cache
def _native() -> SimpleNamespace:
    image = compiler.object_code(thread_pool_text, "pool")
    addresses = compiler.load([image], [f"trajopt_{name}" for name in ("share", "ready", "help", "wake")], {})
    pointer, integer = ctypes.c_void_p, ctypes.c_int64
    library, new = ctypes.CDLL(None), ctypes.CFUNCTYPE(ctypes.c_int, pointer, pointer)
    return SimpleNamespace(
        ready=addresses["trajopt_ready"],
        share=ctypes.CFUNCTYPE(integer, pointer, pointer, integer, pointer, pointer)(addresses["trajopt_share"]),
        help=ctypes.CFUNCTYPE(None, pointer, integer)(addresses["trajopt_help"]),
        wake=ctypes.CFUNCTYPE(None, pointer)(addresses["trajopt_wake"]),
        new_mutex=new(("pthread_mutex_init", library)),
        new_condition=new(("pthread_cond_init", library)),
    )


def _disband() -> None:
    """Ends the helpers; the next job starts new ones."""
    global _pool
    with _guard:
        pool, _pool = _pool, None
    if pool is not None:
        pool.close()


def _end() -> None:
    """Ends all threads before the interpreter shuts down."""
    global _ending
    _ending, pool = True, _pool
    _disband()
    for helper in pool.helpers if pool else ():
        helper.thread.join(timeout=1.0)


def _forget() -> None:
    """Clears the pool in a forked process, which has none of the threads."""
    global _pool, _guard
    _pool, _guard = None, threading.Lock()


threads.when_number_changes(_disband)
atexit.register(_end)
os.register_at_fork(after_in_child=_forget)
