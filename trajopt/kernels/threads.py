"""Number of threads that work on knots; `trajopt.kernels.thread_pool` contains the threads."""

from __future__ import annotations

import contextlib
import functools
import glob
import os
from collections.abc import Callable

import numpy as np

from trajopt.errors import InvalidArgumentError

_size: int | None = None
_listeners: list[Callable[[], None]] = []


def set_num_threads(n: int) -> None:
    """Sets the number of threads that work on the knots of a problem; by default the number of physical cores.

    The same number of processes compile a large model.

    Args:
        n: Number of threads, at least 1 [-].

    Raises:
        InvalidArgumentError: `n` is not a positive integer.
    """
    global _size
    if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 1:
        raise InvalidArgumentError(f"n: expected an integer >= 1 (threads), got {n!r}")
    _size = int(n)
    for listener in _listeners:
        listener()


def get_num_threads() -> int:
    """Returns the number of threads that work on the knots of a problem [-]."""
    return _size or physical_cores()


def when_number_changes(listener: Callable[[], None]) -> None:
    """Registers a function to be called after each `set_num_threads`."""
    _listeners.append(listener)


@functools.cache
def physical_cores() -> int:
    """Number of physical cores that this process may use."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    siblings = set()
    for path in glob.glob("/sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list"):
        with contextlib.suppress(OSError), open(path) as file:
            siblings.add(file.read().strip())
    return max(1, min(allowed, len(siblings) or allowed))
