"""Executors for tests: calls are done at once, here, and may be cut off."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any


class Here(Executor):
    """Calls a function when it is submitted.

    Args:
        end: Number of calls after which `error` comes.
        error: What comes then.
    """

    def __init__(self, end: int | None = None, error: BaseException | None = None) -> None:
        self.calls: list[Any] = []
        self._end, self._error = end, error

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self._error is not None and len(self.calls) == self._end:
            raise self._error
        self.calls.append(args)
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


class Closed(Here):
    """Cancels what it has, as a cluster does that is closed."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(asyncio.CancelledError())
        return future
