"""Files that are whole at any time: each is written beside its place and takes it when it is done."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

UNFINISHED = ".tmp"
"""Suffix of a file that is being written, or whose writer was killed."""


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file to write, which takes the place of `path` at the end of the block; none if the block raises.

    A link stays one: the file that it leads to is replaced.

    Raises:
        OSError: The folder cannot be written.
    """
    path = Path(os.path.realpath(path))
    temporary = path.with_name(f"{path.stem[:40]}.{os.getpid()}.{threading.get_ident()}{UNFINISHED}")
    try:
        with temporary.open("wb") as file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
