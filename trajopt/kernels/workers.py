"""Compilation on several processor cores by short-lived processes, since llvmlite admits one thread at a time.

A worker runs `codegen.py`, which reads texts and writes each object file as soon as it is done. If a worker fails, the
caller compiles the text itself.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import selectors
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from trajopt.kernels.codegen import OPTIMISED, QUICK, TAG
from trajopt.kernels.interrupts import Held

# Measured: 71,821 instructions (5.3 MB of text) take 9.7 s and 1.9 s here, half as long in two workers.
SECONDS_PER_BYTE = {OPTIMISED: 2e-6, QUICK: 4e-7}
WORTH_A_WORKER = 1.0  # work that justifies a worker, which starts in 0.15 s [s]
BACKGROUND_NICENESS = 10

_logger = logging.getLogger(__name__)
_running: set[subprocess.Popen[bytes]] = set()
_closed = False


def compile_apart(
    texts: Sequence[str], level: int, cores: int, *, begin: Callable[[int], None], background: bool = False
) -> list[bytes | None]:
    """Compiles texts in other processes; returns an object file for each, or None if that failed.

    Args:
        texts: LLVM modules.
        level: OPTIMISED or QUICK.
        cores: Largest number of processes [-].
        begin: Called with the index of each text when its compilation begins.
        background: Whether to use a process of low priority even on one core, so that this process is not disturbed.
    """
    seconds = SECONDS_PER_BYTE[level] * sum(len(text) for text in texts)
    count = min(cores, len(texts), int(seconds / WORTH_A_WORKER))
    images: list[bytes | None] = [None] * len(texts)
    if _closed or count < (1 if background else 2) or not _python():
        return images
    workers: list[subprocess.Popen[bytes]] = []
    try:
        for i in range(count):
            workers.append(_start())
            _feed(workers[i], (sys.path, list(texts[i::count]), level, BACKGROUND_NICENESS if background else 0))
        begun = [range(len(texts))[i::count] for i in range(count)]
        for i, results in enumerate(_results(workers, lambda i, k: begin(begun[i][k]) if k < len(begun[i]) else None)):
            images[i::count] = _checked(results, len(begun[i]))
    except OSError as error:
        _logger.info("cannot start a process for compiling (%s); this process compiles instead", error)
    finally:
        with Held():
            for worker in workers:
                _end(worker)
    return images


def close() -> None:
    """Ends all workers and starts no more, since the process is about to end."""
    global _closed
    _closed = True
    for worker in list(_running):
        worker.kill()


def forget() -> None:
    """Clears the list of workers in a forked process; they belong to the parent."""
    _running.clear()


def _python() -> bool:
    """True if the interpreter can be started again; not so in a program that embeds Python."""
    return Path(sys.executable or "").name.startswith("python")


def _start() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", str(Path(__file__).with_name("codegen.py"))]
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    # In a process group of its own: Ctrl-C reaches this process only, which then ends its workers.
    with Held():
        worker = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nothing, process_group=0)
        _running.add(worker)
    if _closed:  # it was closed during the start
        worker.kill()
    return worker


def _feed(worker: subprocess.Popen[bytes], task: object) -> None:
    assert worker.stdin is not None
    with contextlib.suppress(BrokenPipeError), worker.stdin as stdin:  # a dead worker; `_results` finds nothing
        pickle.dump(task, stdin)


def _results(workers: Sequence[subprocess.Popen[bytes]], begin: Callable[[int, int], None]) -> list[list[bytes]]:
    """Object files of each worker; calls `begin` with the indices of a worker and of its current text."""
    data = [bytearray() for _ in workers]
    results: list[list[bytes]] = [[] for _ in workers]
    with selectors.DefaultSelector() as waiting:
        for i, worker in enumerate(workers):
            assert worker.stdout is not None
            waiting.register(worker.stdout, selectors.EVENT_READ, i)
            begin(i, 0)
        while waiting.get_map():
            for key, _ in waiting.select():
                i, chunk = key.data, os.read(key.fd, 2**20)
                data[i] += chunk
                if not chunk:
                    waiting.unregister(key.fileobj)
                while (image := _next(data[i])) is not None:
                    results[i].append(image)
                    begin(i, len(results[i]))
    return results


def _next(data: bytearray) -> bytes | None:
    """Removes the first object file from a worker's output and returns it; None if it is incomplete."""
    start = len(TAG) + 8
    end = start + int.from_bytes(data[len(TAG) : start], "little")
    if not data.startswith(TAG) or len(data) < max(start, end):
        return None
    image = bytes(data[start:end])
    del data[:end]
    return image


def _checked(images: list[bytes], count: int) -> list[bytes | None]:
    if len(images) == count:
        return list(images)
    if not _closed:
        _logger.info("a compiling process gave %d of %d results; this process compiles the others", len(images), count)
    return [*images[:count], *[None] * (count - len(images))]


def _end(worker: subprocess.Popen[bytes]) -> None:
    worker.kill()
    worker.wait()
    for pipe in (worker.stdin, worker.stdout):
        with contextlib.suppress(OSError):
            if pipe is not None:
                pipe.close()
    _running.discard(worker)
