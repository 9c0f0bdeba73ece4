"""Says what is being built or compiled, once it takes longer than one likes to wait without a word."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from trajopt import cache

PATIENCE = 1.0
"""Time of work after which the first notice comes [s]."""

EVERY = 1.0
"""Time from one notice to the next at least [s]."""

PAUSE = 10.0
"""Time without work after which patience is as at the start [s]."""

CACHED = "; later starts take their code from the cache (trajopt cache info)"

_logger = logging.getLogger(__name__)


class Working:
    """Context of work that takes long if its results are not in the cache: building programs, compiling them.

    What comes at short distances, such as the programs of one problem, counts together. After `PATIENCE` the piece at
    work is said, then each other one that is at work `EVERY` second: on a terminal or in a notebook by standard error,
    else by the logger of this module as information. Contexts may be nested, and entered by several threads; the
    context that was entered last is said.

    Args:
        doing: "building" or "compiling".
        pieces: What is to be done; the first one is at work from the start.
        silent: Whether nothing is said, as nobody waits for it.
    """

    def __init__(self, doing: str, pieces: Sequence[str], *, silent: bool = False) -> None:
        self._doing, self._pieces, self._silent = doing, pieces, silent
        self._begun = {0}
        self._at = 0

    @property
    def words(self) -> str:
        """The piece at work, such as "compiling costs of go2: 3 of 7"."""
        n = len(self._pieces)
        return f"{self._doing} {self._pieces[self._at]}" + (f": {len(self._begun)} of {n}" if n > 1 else "")

    def begin(self, piece: int) -> None:
        """Says that another piece is at work, by its number; or the same one still."""
        self._begun.add(piece)
        self._at = piece

    def __enter__(self) -> Self:
        if not self._silent:
            with _lock:
                self._entered = _work
                self._entered.begin(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._silent:
            with _lock:
                self._entered.end(self)


class _Work:
    """Work that goes on now, or ended a moment ago; the lock is held in all methods."""

    def __init__(self) -> None:
        self._at_work: list[Working] = []
        self._spent, self._since, self._ended = 0.0, 0.0, 0.0
        self._timer: threading.Timer | None = None
        self._said, self._said_at = "", 0.0

    def begin(self, work: Working) -> None:
        """Waits for the end, or for the moment to say something."""
        self._at_work.append(work)
        if len(self._at_work) > 1:
            return
        self._since = time.monotonic()
        if self._since - self._ended > PAUSE:
            self._spent, self._said = 0.0, ""
        self._wait(EVERY - (self._since - self._said_at) if self._said else PATIENCE - self._spent)

    def end(self, work: Working) -> None:
        """Says nothing of it from here on."""
        self._at_work.remove(work)
        if self._at_work:
            return
        self._ended = time.monotonic()
        self._spent += self._ended - self._since
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self, seconds: float) -> None:
        self._timer = threading.Timer(max(seconds, 0.0), self._say)
        self._timer.daemon = True
        self._timer.start()

    def _say(self) -> None:
        with _lock:
            if threading.current_thread() is not self._timer:  # the work that it waited for has ended
                return
            words, first = self._at_work[-1].words, not self._said
            new, self._said, self._said_at = words != self._said, words, time.monotonic()
            self._wait(EVERY)
        if new:
            say(words + (CACHED if first and cache.directory() else ""))


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
