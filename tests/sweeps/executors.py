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


class Deserted(Executor):
    """Has no workers until someone has asked for their number so many times, as a Dask cluster whose workers are lost.

    Args:
        asked: How often.
    """

    def __init__(self, asked: int) -> None:
        self._left = asked
        self._waiting: list[Callable[[], None]] = []
        self._client = self

    def nthreads(self) -> dict[str, int]:
        """Threads of workers by their addresses, as Dask's client has them."""
        self._left -= 1
        while self._waiting and self._left <= 0:
            self._waiting.pop()()
        return {}

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._waiting.append(lambda: future.set_result(fn(*args, **kwargs)))
        return future
