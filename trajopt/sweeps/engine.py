"""Execution of chunks on an executor with a sliding window; each finished chunk is written at once."""

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
"""Number of attempts for a chunk whose worker is lost; after so many its rows probably kill the workers [-]."""

QUIET = 30.0
"""Time without a finished chunk before the number of workers is checked; after twice this time it warns [s]."""

_log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class Engine:
    """Submits chunks to an executor and writes their results.

    Attributes:
        executor: The executor.
        store: The store.
        ahead: Largest number of chunks that the executor has at a time [-].
        tell: Function that shows progress.
        begin: Function that is called with the first chunk to solve, before it is submitted.
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
        """Solves all chunks that the store lacks; stored chunks are checked once.

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
        except Exception as error:  # after their end, executors raise errors of their own
            raise self._ended(error) from error
        self._pending[future] = key, chunk, tries
        future.add_done_callback(self._done.put)

    def _collect(self) -> None:
        """Waits for one chunk and writes it, or submits it again."""
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
                    f"sweep: {rows} failed in attempt {tries} of {TRIES} with {type(error).__name__}: {error}; "
                    f"finished rows are in {self.store.folder}; repeat the call to continue from there"
                ) from error
            _log.info("%s are solved again: %s", rows, error)
            self._submit(key, chunk, tries + 1)
            return
        self.tell(chunk.n, 0)

    def _next(self) -> Future[Any]:
        """Waits for a finished call; warns if there are no workers."""
        alone = 0  # number of consecutive checks without workers
        while True:
            try:
                return self._done.get(timeout=QUIET)
            except queue.Empty:
                alone = alone + 1 if count_workers(self.executor) == 0 else 0
                if alone == 2:  # a single check may fall between a worker's end and its successor
                    _log.warning(NO_WORKERS, self.store.folder)

    def _ended(self, error: BaseException) -> SweepError:
        return SweepError(
            f"executor: it ended before the sweep ({type(error).__name__}: {error}); finished rows are in "
            f"{self.store.folder}; repeat the call with a new executor to continue; Dask and executor=None replace "
            "workers that were killed"
        )
