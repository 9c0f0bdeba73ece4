"""Executor with processes of this machine; a killed process affects its own chunk only."""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

from trajopt.sweeps import worker
from trajopt.sweeps.errors import WorkerLostError

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_Call = tuple["Future[Any]", Callable[..., Any], tuple[Any, ...]]


class Processes(Executor):
    """Executor with processes of one thread each that need no main script, and are restarted when they end.

    One thread for each process sends its calls and waits for the answers. The executor of the standard library would
    fail all calls if one process is killed, and would import the main script in each process.

    Args:
        count: Number of processes [-].
    """

    def __init__(self, count: int) -> None:
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._closed = self._killed = False
        self._threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    @property
    def pids(self) -> list[int]:
        """Process ids of the running processes."""
        return [process.pid for process in list(self._running)]

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submits a call with positional arguments to a process, and returns its future."""
        if self._closed or kwargs:
            raise RuntimeError("expected positional arguments, and an executor that was not shut down")
        future: Future[Any] = Future()
        self._calls.put((future, fn, args))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the processes, at once with `cancel_futures`, otherwise when all calls are done."""
        self._closed, self._killed = True, cancel_futures
        for _ in self._threads:
            self._calls.put(None)
        for process in list(self._running) if cancel_futures else ():
            process.kill()
        for thread in self._threads if wait else ():
            thread.join()

    def _serve(self) -> None:
        """Sends calls to one process after the other; starts a process when one is needed."""
        process: subprocess.Popen[bytes] | None = None
        while (call := self._calls.get()) is not None:
            future, function, arguments = call
            if self._killed:
                future.cancel()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                if process is None:
                    process = self._start()
                    worker.send(process.stdin, sys.path)  # type: ignore[arg-type]
                worker.send(process.stdin, (function, arguments))  # type: ignore[arg-type]
                good, answer = worker.receive(process.stdout)  # type: ignore[arg-type]
            except (OSError, EOFError):
                good, answer = False, WorkerLostError(f"a worker process {self._end(process)}")
                process = None
            except Exception as error:  # the call or its result cannot be pickled
                good, answer = False, error
            if good:
                future.set_result(answer)
            else:
                future.set_exception(answer)
        if process is not None:
            self._end(process)

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", str(Path(worker.__file__))]
        pipe = subprocess.PIPE
        # an own process group: Ctrl-C reaches only the main process, which then ends its workers
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=os.environ | _ONE_THREAD, process_group=0)
        self._running.add(process)
        if self._killed:  # shutdown ran between the check and the start
            process.kill()
        return process

    def _end(self, process: subprocess.Popen[bytes] | None) -> str:
        """Closes the pipes of a process, waits for its end, and returns how it ended as text."""
        if process is None:
            return "could not be started"
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]
        code = process.wait()
        self._running.discard(process)
        return f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
