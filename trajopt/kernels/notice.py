"""Notices about long builds or compilations, for users who would otherwise wait without an explanation."""

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
"""Time of work before the first notice [s]."""

EVERY = 1.0
"""Smallest time between notices [s]."""

PAUSE = 10.0
"""Time without work after which the wait for the first notice starts again [s]."""

CACHED = "; later starts take their code from the cache (trajopt cache info)"

_logger = logging.getLogger(__name__)


class Working:
    """Context for slow work, such as compiling, that tells the user which piece is under way.

    Pieces that follow each other closely, such as the programs of one problem, count together. After `PATIENCE` seconds
    a notice names the current piece; further notices follow at most every `EVERY` seconds. On a terminal or in a
    notebook they go to standard error, otherwise to this module's logger at level INFO. Contexts may be nested and
    entered by several threads; notices name the context that was entered last.

    Args:
        doing: "building" or "compiling".
        pieces: Labels of the pieces; the first one is current from the start.
        silent: Whether to issue no notices, if no one waits for the work.
    """

    def __init__(self, doing: str, pieces: Sequence[str], *, silent: bool = False) -> None:
        self._doing, self._pieces, self._silent = doing, pieces, silent
        self._begun = {0}
        self._at = 0

    @property
    def words(self) -> str:
        """Text about the current piece, such as "compiling costs of go2: 3 of 7"."""
        n = len(self._pieces)
        return f"{self._doing} {self._pieces[self._at]}" + (f": {len(self._begun)} of {n}" if n > 1 else "")

    def begin(self, piece: int) -> None:
        """Marks a piece of the work as begun, by its index, and shows it in the notices.

        The index may be that of the current piece.
        """
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
    """Work that is in progress or has just ended; callers of its methods hold the lock."""

    def __init__(self) -> None:
        self._at_work: list[Working] = []
        self._spent, self._since, self._ended = 0.0, 0.0, 0.0
        self._timer: threading.Timer | None = None
        self._said, self._said_at = "", 0.0

    def begin(self, work: Working) -> None:
        """Starts the timer for the next notice."""
        self._at_work.append(work)
        if len(self._at_work) > 1:
            return
        self._since = time.monotonic()
        if self._since - self._ended > PAUSE:
            self._spent, self._said = 0.0, ""
        self._wait(EVERY - (self._since - self._said_at) if self._said else PATIENCE - self._spent)

    def end(self, work: Working) -> None:
        """Removes a context from the notices."""
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
            if threading.current_thread() is not self._timer:  # another timer has replaced this one
                return
            words, first = self._at_work[-1].words, not self._said
            new, self._said, self._said_at = words != self._said, words, time.monotonic()
            self._wait(EVERY)
        if new:
            say(words + (CACHED if first and cache.directory() else ""))


def say(text: str) -> None:
    """Writes a notice to standard error if a user can see it, else to the log."""
    looked_at = "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
    if looked_at:
        print(text, file=sys.stderr, flush=True)
    else:
        _logger.info(text)


def _forget() -> None:
    """Clears the state in a forked process, which has neither the threads nor their work."""
    global _lock, _work
    _lock, _work = threading.Lock(), _Work()


_lock, _work = threading.Lock(), _Work()
os.register_at_fork(after_in_child=_forget)
