"""Handling of signals while code is prepared: no signal is lost, and no LLVM object stays half constructed.

A Python handler of a signal may raise between any two instructions of Python: KeyboardInterrupt for Ctrl-C, or the
error of a timeout (SIGALRM) or of a service that is to end (SIGTERM). Inside LLVM's bindings this can leave objects
that are later freed in the wrong order. Inside CasADi's bindings, finalizers or C callbacks it is swallowed or becomes
another error, such as NotImplementedError from an overload that CasADi tried.
"""

from __future__ import annotations

import _signal  # the functions under `signal`: 0.05 us instead of 0.5, since they convert no enumerations
import _thread
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import FrameType, MappingProxyType, TracebackType
from typing import Any

MOMENT = 5e-3  # time within which finalizers end [s]
NUMBERS = tuple(sorted(_signal.valid_signals()))

Handler = Callable[[int, FrameType | None], Any]


class _Guard(ABC):
    """Context that handles signals first. It has no effect in threads other than the main one, which get no signals.

    It replaces the Python handlers that exist when it begins. One that raises meanwhile leaves some of them replaced;
    until and after the time of the context, those pass signals on.
    """

    _handlers: Mapping[int, Handler] = MappingProxyType({})  # the outer handlers
    _active = False

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        handlers = zip(NUMBERS, map(_signal.getsignal, NUMBERS))
        self._handlers = {number: handler for number, handler in handlers if callable(handler)}
        try:
            for number in self._handlers:
                _signal.signal(number, self._handle)
        except BaseException:
            self._restore()
            raise
        self._active = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._active:
            self._active = False
            self._restore()
            self._leave(kind)

    def _restore(self) -> None:
        try:
            for number, handler in self._handlers.items():
                if _signal.getsignal(number) == self._handle:  # the user may have set another one meanwhile
                    _signal.signal(number, handler)
        except BaseException:  # from a handler that is restored; each further one needs a further signal
            self._restore()
            raise

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._active:
            self._note(number, frame)
        else:
            self._handlers[number](number, frame)

    @abstractmethod
    def _note(self, number: int, frame: FrameType | None) -> None:
        """Handles a signal inside the context."""

    @abstractmethod
    def _leave(self, kind: type[BaseException] | None) -> None:
        """Passes on signals at the end; `kind` is the class of an error that leaves the context, or None."""


class Held(_Guard):
    """Context that delays signals until its end, for short work that must not be interrupted."""

    def __init__(self) -> None:
        self._came: set[int] = set()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._came.add(number)

    def _leave(self, kind: type[BaseException] | None) -> None:
        if self._came:
            number = self._came.pop()
            try:
                self._handlers[number](number, sys._getframe())
            finally:
                self._leave(kind)


class Postponed(_Guard):
    """Context that repeats signals a moment after its end, for finalizers, whose errors Python swallows."""

    def _note(self, number: int, frame: FrameType | None) -> None:
        _thread.start_new_thread(_again, (number,))

    def _leave(self, kind: type[BaseException] | None) -> None:
        pass


def _again(number: int) -> None:
    time.sleep(MOMENT)
    _thread.interrupt_main(number)  # type: ignore[arg-type]  # real-time signals are no Signals


class Heard(_Guard):
    """Context in which handlers raise at once, and again at the end if CasADi swallowed or changed their error."""

    _raised: BaseException | None = None

    def _note(self, number: int, frame: FrameType | None) -> None:
        try:
            self._handlers[number](number, frame)
        except BaseException as error:
            self._raised = error
            raise

    def _leave(self, kind: type[BaseException] | None) -> None:
        error, self._raised = self._raised, None
        try:
            if error is not None and kind is not type(error):
                raise error
        finally:
            del error  # an error in a frame of its own traceback is a cycle
