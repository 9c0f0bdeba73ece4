"""Handling of Ctrl-C while code is prepared: no interrupt is lost, and no LLVM object stays half constructed.

Python may raise KeyboardInterrupt between any two of its instructions. Inside LLVM's bindings this can leave objects
that are later freed in the wrong order. Inside CasADi's bindings, finalizers or C callbacks it is swallowed or becomes
another error, such as NotImplementedError from an overload that CasADi tried.
"""

from __future__ import annotations

import _signal  # the functions under `signal`: 0.5 us instead of 5, since they convert no enumerations
import _thread
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

MOMENT = 5e-3  # time within which finalizers end [s]

Handler = Callable[[int, FrameType | None], Any]


class _Guard(ABC):
    """Context that handles Ctrl-C first. It has no effect in threads other than the main one, which get no signals."""

    _handler: Handler | None = None  # the outer handler of Ctrl-C

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
        """Handles Ctrl-C inside the context."""

    @abstractmethod
    def _leave(self, handler: Handler, kind: type[BaseException] | None) -> None:
        """Passes on the interrupt at the end; `kind` is the class of an error that leaves the context, or None."""


class Held(_Guard):
    """Context that delays Ctrl-C until its end, for short work that must not be interrupted."""

    _came = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._came = True

    def _leave(self, handler: Handler, kind: type[BaseException] | None) -> None:
        if self._came:
            handler(_signal.SIGINT, None)


class Postponed(_Guard):
    """Context that repeats Ctrl-C a moment after its end, for finalizers, whose errors Python swallows."""

    def _note(self, number: int, frame: FrameType | None) -> None:
        _thread.start_new_thread(_again, ())

    def _leave(self, handler: Handler, kind: type[BaseException] | None) -> None:
        pass


def _again() -> None:
    time.sleep(MOMENT)
    _thread.interrupt_main()


class Heard(_Guard):
    """Context in which Ctrl-C raises at once, and again at the end if it was swallowed or became another error."""

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
