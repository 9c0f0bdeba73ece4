"""Compiling on several processor cores, in one short-lived process each: llvmlite lets one thread at a time into LLVM.

A worker is an ordinary run of `codegen.py` that reads texts and writes each object file when it is done. Whatever goes
wrong with it, the caller compiles the text itself.
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

# Measured: 71,821 instructions (5.3 MB of text) take 9.7 s and 1.9 s here, half of it in two workers.
SECONDS_PER_BYTE = {OPTIMISED: 2e-6, QUICK: 4e-7}
WORTH_A_WORKER = 1.0  # one starts in 0.15 s [s]
BACKGROUND_NICENESS = 10

_logger = logging.getLogger(__name__)
_running: set[subprocess.Popen[bytes]] = set()
_closed = False


def compile_apart(
    texts: Sequence[str], level: int, cores: int, *, begin: Callable[[int], None], background: bool = False
) -> list[bytes | None]:
    """Object file of each text, compiled by other processes; None where there is none.

    Args:
        texts: LLVM modules.
        level: OPTIMISED or QUICK.
        cores: Processes at most [-].
        begin: Is called with the number of each text when it is begun.
        background: Compile even on one core apart and with low priority, so that this process is not disturbed.
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
        for i, found in enumerate(_results(workers, lambda i, k: begin(begun[i][k]) if k < len(begun[i]) else None)):
            images[i::count] = _checked(found, len(begun[i]))
    except OSError as error:
        _logger.info("no process for compiling (%s): compiling here", error)
    finally:
        with Held():
            for worker in workers:
                _end(worker)
    return images


def close() -> None:
    """Ends all workers and starts no more: the process is about to end."""
    global _closed
    _closed = True
    for worker in list(_running):
        worker.kill()


def forget() -> None:
    """In a forked process: the workers are those of the parent."""
    _running.clear()


def _python() -> bool:
    """Whether the interpreter can be started once more: not so in a program that embeds Python."""
    return Path(sys.executable or "").name.startswith("python")


def _start() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", str(Path(__file__).with_name("codegen.py"))]
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    # a process group of its own: Ctrl-C is for this process, which then ends its workers
    with Held():
        worker = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nothing, process_group=0)
        _running.add(worker)
    if _closed:  # between the question and the start
        worker.kill()
    return worker


def _feed(worker: subprocess.Popen[bytes], task: object) -> None:
    assert worker.stdin is not None
    with contextlib.suppress(BrokenPipeError), worker.stdin as stdin:  # it died: `_result` finds nothing
        pickle.dump(task, stdin)


def _results(workers: Sequence[subprocess.Popen[bytes]], begin: Callable[[int, int], None]) -> list[list[bytes]]:
    """Object files of each worker; `begin` is called with the numbers of a worker and of the text that it is at."""
    data = [bytearray() for _ in workers]
    found: list[list[bytes]] = [[] for _ in workers]
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
                    found[i].append(image)
                    begin(i, len(found[i]))
    return found


def _next(data: bytearray) -> bytes | None:
    """Takes the first object file from what a worker has written, if it is complete."""
    start = len(TAG) + 8
    end = start + int.from_bytes(data[len(TAG) : start], "little")
    if not data.startswith(TAG) or len(data) < max(start, end):
        return None
    image = bytes(data[start:end])
    del data[:end]
    return image


def _checked(found: list[bytes], count: int) -> list[bytes | None]:
    if len(found) == count:
        return list(found)
    if not _closed:
        _logger.info("a compiling process gave %d of %d results: compiling the others here", len(found), count)
    return [*found[:count], *[None] * (count - len(found))]


def _end(worker: subprocess.Popen[bytes]) -> None:
    worker.kill()
    worker.wait()
    for pipe in (worker.stdin, worker.stdout):
        with contextlib.suppress(OSError):
            if pipe is not None:
                pipe.close()
    _running.discard(worker)
