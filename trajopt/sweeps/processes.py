"""Processes of this machine as an executor: one that is killed takes its chunk with it, and no other."""

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
    """Calls functions in processes that need no main script, have one thread each, and are started anew when they end.

    A thread for each process asks it and waits for its answer. The executor of the standard library fails all calls
    when one process is killed, and imports the main script in each.

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
        """Numbers of the processes that run now."""
        return [process.pid for process in list(self._running)]

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Calls a function with arguments, by their places, in a process."""
        if self._closed or kwargs:
            raise RuntimeError("expected arguments by place, and an executor that was not shut down")
        future: Future[Any] = Future()
        self._calls.put((future, fn, args))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the processes, by force with `cancel_futures`, else when all calls are done."""
        self._closed, self._killed = True, cancel_futures
        for _ in self._threads:
            self._calls.put(None)
        for process in list(self._running) if cancel_futures else ():
            process.kill()
        for thread in self._threads if wait else ():
            thread.join()

    def _serve(self) -> None:
        """Hands calls to one process after the other; a new one is started when it is needed."""
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
            except Exception as error:  # what cannot be pickled
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
        # a process group of its own: Ctrl-C is for this process, which then ends its workers
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=os.environ | _ONE_THREAD, process_group=0)
        self._running.add(process)
        if self._killed:  # between the question and the start
            process.kill()
        return process

    def _end(self, process: subprocess.Popen[bytes] | None) -> str:
        """Closes the pipes of a process and waits for its end; words on it."""
        if process is None:
            return "could not be started"
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]
        code = process.wait()
        self._running.discard(process)
        return f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
