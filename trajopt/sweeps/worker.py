"""Process of `processes.Processes`: reads a path, then calls, and answers each with its result or with its error.

It runs as a file, so that no main script is imported, and needs Python alone until the first call.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
from typing import Any, BinaryIO

LENGTH = struct.Struct("<Q")  # bytes of a message, in front of it


def send(stream: BinaryIO, message: Any) -> None:
    """Writes an object.

    Raises:
        OSError: Nobody reads.
    """
    write(stream, pickle.dumps(message, protocol=5))


def write(stream: BinaryIO, data: bytes) -> None:
    """Writes bytes.

    Raises:
        OSError: Nobody reads.
    """
    stream.write(LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """Reads an object.

    Raises:
        EOFError: Whoever writes has ended.
    """
    return pickle.loads(read(stream))


def read(stream: BinaryIO) -> bytes:
    """Reads bytes.

    Raises:
        EOFError: Whoever writes has ended.
    """
    (length,) = LENGTH.unpack(_exactly(stream, LENGTH.size))
    return _exactly(stream, length)


def _exactly(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def main() -> None:
    """Answers until its standard input ends."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what models print is no answer
    try:
        sys.path[:] = receive(requests)
        while True:
            write(answers, answer(read(requests)))
    except (EOFError, OSError):  # the process that asks has ended
        return


def answer(request: bytes) -> bytes:
    """The answer to a call: (True, result), or (False, error)."""
    try:
        function, arguments = pickle.loads(request)
        return pickle.dumps((True, function(*arguments)), protocol=5)
    except BaseException as error:
        try:
            pickle.loads(data := pickle.dumps((False, error), protocol=5))
            return data
        except Exception:  # an error that holds more than its arguments
            return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")), protocol=5)


if __name__ == "__main__":
    main()
