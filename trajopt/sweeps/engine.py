"""Sliding window of chunks on an executor: never more than some ahead, each written as soon as it is done."""

from __future__ import annotations

import asyncio
import logging
import queue
from collections.abc import Callable, Iterable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from dataclasses import dataclass, field
from typing import Any

from trajopt.sweeps.cluster import NO_WORKERS, count_workers
from trajopt.sweeps.errors import SweepError
from trajopt.sweeps.progress import Tell
from trajopt.sweeps.store import Store
from trajopt.sweeps.work import Chunk, solve_chunk

TRIES = 5
"""A chunk whose worker is lost is tried as often; by then it is its rows that end workers [-]."""

QUIET = 30.0
"""Time without a chunk after which it looks whether there are workers; after twice as long it tells [s]."""

_log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class Engine:
    """Hands chunks to an executor and writes what comes back.

    Attributes:
        executor: The executor.
        store: The store.
        ahead: Chunks at most that the executor has at a time [-].
        tell: Function that shows progress.
        begin: Function that is called with the first chunk that has to be solved, before it is.
        keys: Names of all chunks so far, in order.
    """

    executor: Executor
    store: Store
    ahead: int
    tell: Tell
    begin: Callable[[Chunk], None]
    keys: list[str] = field(default_factory=list)
    _done: queue.SimpleQueue[Future[Any]] = field(default_factory=queue.SimpleQueue)
    _pending: dict[Future[Any], tuple[str, Chunk, int]] = field(default_factory=dict)

    def run(self, chunks: Iterable[Chunk]) -> None:
        """Solves all chunks that the store does not hold; each of the others is read once.

        Raises:
            SweepError: The executor ended, or a chunk failed `TRIES` times.
        """
        begun = False
        try:
            for chunk in chunks:
                self.keys.append(key := self.store.key(chunk))
                if self.store.holds(key):
                    self.tell(0, chunk.n)
                    continue
                if not begun:
                    self.begin(chunk)
                    begun = True
                while len(self._pending) >= self.ahead:
                    self._collect()
                self._submit(key, chunk, tries=1)
            while self._pending:
                self._collect()
        finally:
            for future in list(self._pending):
                future.cancel()

    def _submit(self, key: str, chunk: Chunk, tries: int) -> None:
        try:
            future = self.executor.submit(solve_chunk, chunk)
        except Exception as error:  # executors raise errors of their own after their end
            raise self._ended(error) from error
        self._pending[future] = key, chunk, tries
        future.add_done_callback(self._done.put)

    def _collect(self) -> None:
        """Waits for one chunk and writes it, or tries it again."""
        future = self._next()
        key, chunk, tries = self._pending.pop(future)
        try:
            self.store.write(key, future.result())
        except (BrokenExecutor, CancelledError, asyncio.CancelledError) as error:
            raise self._ended(error) from error
        except Exception as error:
            rows = f"rows {chunk.start} to {chunk.start + chunk.n - 1}"
            if tries >= TRIES or isinstance(error, OSError):
                raise SweepError(
                    f"sweep: {rows} failed, at try {tries} of {TRIES} with {type(error).__name__}: {error}; rows "
                    f"that are done are in {self.store.folder}, the same call goes on from there"
                ) from error
            _log.info("%s are solved again: %s", rows, error)
            self._submit(key, chunk, tries + 1)
            return
        self.tell(chunk.n, 0)

    def _next(self) -> Future[Any]:
        """Waits for a call that is done; tells if there are no workers that could do one."""
        alone = 0  # how often one after the other there were none
        while True:
            try:
                return self._done.get(timeout=QUIET)
            except queue.Empty:
                alone = alone + 1 if count_workers(self.executor) == 0 else 0
                if alone == 2:  # once may be between the end of a worker and its successor
                    _log.warning(NO_WORKERS, self.store.folder)

    def _ended(self, error: BaseException) -> SweepError:
        return SweepError(
            f"executor: it ended before the sweep ({type(error).__name__}: {error}); rows that are done are in "
            f"{self.store.folder}, the same call with a new executor goes on from there; Dask, and executor=None, "
            "replace workers that are killed"
        )
