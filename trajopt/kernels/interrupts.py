"""Ctrl-C while code is prepared: none gets lost, and none leaves an object of LLVM half made.

Python raises KeyboardInterrupt between any two of its instructions. Inside LLVM's bindings that can leave objects which
are freed in the wrong order later; inside CasADi's, in a finalizer or in a callback of C it is swallowed, or comes out
as another error, such as NotImplementedError from an overload that CasADi tried.
"""

from __future__ import annotations

import _signal  # the functions of `signal` themselves: 0.5 us in place of 5, as they convert no enumerations
import _thread
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

MOMENT = 5e-3  # in which finalizers end [s]

Handler = Callable[[int, FrameType | None], Any]


class _Guard(ABC):
    """Context in which Ctrl-C comes here first; in other threads than the main one, which never get any, no change."""

    _handler: Handler | None = None  # what handles Ctrl-C outside

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        handler = _signal.getsignal(_signal.SIGINT)
        if callable(handler):
            self._handler = handler
            _signal.signal(_signal.SIGINT, self._note)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._handler is not None:
            _signal.signal(_signal.SIGINT, self._handler)
            self._leave(self._handler, kind)

    @abstractmethod
    def _note(self, number: int, frame: FrameType | None) -> None:
        """Ctrl-C inside."""

    @abstractmethod
    def _leave(self, handler: Handler, kind: type[BaseException] | None) -> None:
        """Passes on what came inside, from where an error of this kind comes, or none."""


class Held(_Guard):
    """Context that Ctrl-C waits for: around short work that must not stop half way."""

    _came = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._came = True

    def _leave(self, handler: Handler, kind: type[BaseException] | None) -> None:
        if self._came:
            handler(_signal.SIGINT, None)


class Postponed(_Guard):
    """Context after which Ctrl-C comes again, by a moment: in a finalizer, whose errors Python swallows."""

    def _note(self, number: int, frame: FrameType | None) -> None:
        _thread.start_new_thread(_again, ())

    def _leave(self, handler: Handler, kind: type[BaseException] | None) -> None:
        pass


def _again() -> None:
    time.sleep(MOMENT)
    _thread.interrupt_main()


class Heard(_Guard):
    """Context in which Ctrl-C raises at once, and at the end again where that was swallowed or became another error."""

    _raised: tuple[type[BaseException], tuple[Any, ...]] | None = None

    def _note(self, number: int, frame: FrameType | None) -> None:
        assert self._handler is not None
        try:
            self._handler(number, frame)
        except BaseException as error:
            self._raised = type(error), error.args
            raise

    def _leave(self, handler: Handler, kind: type[BaseException] | None) -> None:
        if self._raised is not None and kind is not self._raised[0]:
            raise self._raised[0](*self._raised[1])
