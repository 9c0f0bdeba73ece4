"""Says that models are being compiled, once it takes longer than one likes to wait without a word."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from types import TracebackType

from trajopt import cache

PATIENCE = 1.0
"""Time of compiling after which the notice comes [s]."""

PAUSE = 10.0
"""Time without compiling after which it may come once more [s]."""

COMPILING = "compiling the models"
CACHED = "; later starts take their code from the cache (trajopt cache info)"

_logger = logging.getLogger(__name__)


class Compiling:
    """Context of work that takes long if it is not in the cache: building programs, compiling them.

    What comes at short distances, such as the programs of one problem, counts together and is told once: on a terminal
    or in a notebook by standard error, else by the logger of this module as information. Contexts may be nested, and
    entered by several threads.
    """

    def __enter__(self) -> None:
        with _lock:
            self._entered = _work
            self._entered.begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with _lock:
            self._entered.end()


class _Work:
    """Work that goes on now, or ended a moment ago; the lock is held in all methods."""

    def __init__(self) -> None:
        self._depth = 0
        self._spent, self._since, self._ended = 0.0, 0.0, 0.0
        self._timer: threading.Timer | None = None
        self._told = False

    def begin(self) -> None:
        """Waits for the end, or for the moment to tell."""
        self._depth += 1
        if self._depth > 1:
            return
        self._since = time.monotonic()
        if self._since - self._ended > PAUSE:
            self._spent, self._told = 0.0, False
        if not self._told:
            self._timer = threading.Timer(PATIENCE - self._spent, self._tell)
            self._timer.daemon = True
            self._timer.start()

    def end(self) -> None:
        """Tells nothing from here on."""
        self._depth -= 1
        if self._depth:
            return
        self._ended = time.monotonic()
        self._spent += self._ended - self._since
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tell(self) -> None:
        with _lock:
            late, self._told = not self._told and self._depth > 0, True
        if late:
            say(COMPILING + (CACHED if cache.directory() else ""))


def say(text: str) -> None:
    """Tells the user by standard error if somebody looks at it, else by the log."""
    looked_at = "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
    if looked_at:
        print(text, file=sys.stderr, flush=True)
    else:
        _logger.info(text)


def _forget() -> None:
    """A forked process has neither the threads nor what they were at."""
    global _lock, _work
    _lock, _work = threading.Lock(), _Work()


_lock, _work = threading.Lock(), _Work()
os.register_at_fork(after_in_child=_forget)
