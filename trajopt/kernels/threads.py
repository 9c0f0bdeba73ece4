"""The process's worker threads, which work on knots without the interpreter lock."""

from __future__ import annotations

import contextlib
import functools
import glob
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from trajopt.errors import InvalidArgumentError

_guard = threading.Lock()
_size: int | None = None
_executor: ThreadPoolExecutor | None = None


def set_num_threads(n: int) -> None:
    """Sets how many threads work on the knots of a problem; the default is the number of physical cores.

    As many processes compile a large model.

    Args:
        n: Number of threads, at least 1 [-].

    Raises:
        InvalidArgumentError: `n` is not a positive integer.
    """
    global _size, _executor
    if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 1:
        raise InvalidArgumentError(f"n: expected an integer >= 1 (threads), got {n!r}")
    with _guard:
        _size, _executor = int(n), None  # the old threads end when the last call that uses them has ended


def get_num_threads() -> int:
    """How many threads work on the knots of a problem."""
    return _size or physical_cores()


def executor() -> ThreadPoolExecutor:
    """The threads beside the caller's own, started when they are first needed."""
    global _executor
    with _guard:
        if _executor is None:
            _executor = ThreadPoolExecutor(max(get_num_threads() - 1, 1), thread_name_prefix="trajopt")
        return _executor


def _forget() -> None:
    """A forked process has none of the threads."""
    global _executor, _guard
    _executor, _guard = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)


@functools.cache
def physical_cores() -> int:
    """Physical cores that this process may use."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    siblings = set()
    for path in glob.glob("/sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list"):
        with contextlib.suppress(OSError), open(path) as file:
            siblings.add(file.read().strip())
    return max(1, min(allowed, len(siblings) or allowed))
