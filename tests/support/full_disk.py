"""A disk without room for a file."""

from __future__ import annotations

import contextlib
import resource
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def full_disk(free: int) -> Iterator[None]:
    """Context in which no file can be longer than a number of bytes.

    Imports write no bytecode in it: Python would keep files that are cut off, and fail to load them later.
    """
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (free, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        sys.dont_write_bytecode = written
