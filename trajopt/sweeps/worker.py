"""Main loop of a worker process of `processes.Processes`: reads calls, and answers each with its result or error.

This module runs as a file, so that no main script is imported, and it imports only the standard library until the
first call.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
from typing import Any, BinaryIO

LENGTH = struct.Struct("<Q")  # header of a message: its length [bytes]


def send(stream: BinaryIO, message: Any) -> None:
    """Pickles an object and writes it with its length.

    Raises:
        OSError: The reader has closed the stream.
    """
    write(stream, pickle.dumps(message, protocol=5))


def write(stream: BinaryIO, data: bytes) -> None:
    """Writes bytes with their length.

    Raises:
        OSError: The reader has closed the stream.
    """
    stream.write(LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """Reads and unpickles an object.

    Raises:
        EOFError: The writer has closed the stream.
    """
    return pickle.loads(read(stream))


def read(stream: BinaryIO) -> bytes:
    """Reads bytes that `write` wrote.

    Raises:
        EOFError: The writer has closed the stream.
    """
    (length,) = LENGTH.unpack(_exactly(stream, LENGTH.size))
    return _exactly(stream, length)


def _exactly(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def main() -> None:
    """Answers calls until the standard input ends."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # printed text of models must not enter the answers
    try:
        sys.path[:] = receive(requests)
        while True:
            write(answers, answer(read(requests)))
    except (EOFError, OSError):  # the parent process has ended
        return


def answer(request: bytes) -> bytes:
    """Returns the pickled result of a call: (True, result) or (False, error)."""
    try:
        function, arguments = pickle.loads(request)
        return pickle.dumps((True, function(*arguments)), protocol=5)
    except BaseException as error:
        try:
            pickle.loads(data := pickle.dumps((False, error), protocol=5))
            return data
        except Exception:  # an error that cannot be restored from its arguments
            return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")), protocol=5)


if __name__ == "__main__":
    main()
