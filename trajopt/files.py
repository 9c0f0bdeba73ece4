"""Writing files: paths are checked first, and a file is never half written.

Each file is written under a temporary name and renamed when it is complete.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from trajopt.checks import check_path
from trajopt.errors import InvalidArgumentError

UNFINISHED = ".tmp"
"""Suffix of a file that is still being written, or whose writer was killed."""


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Opens a temporary file that replaces `path` when the block ends; if the block raises, `path` stays unchanged.

    If `path` is a symbolic link, its target is replaced.

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


def check_output_path(path: str | os.PathLike[str], argument: str, suffixes: tuple[str, ...]) -> Path:
    """Returns the path after checking that a file can be written there.

    Raises:
        InvalidArgumentError: The suffix is not one of `suffixes`, or the folder is missing or not writable.
    """
    path = check_path(argument, path)
    if path.suffix.lower() not in suffixes:
        raise InvalidArgumentError(f"{argument}: expected a file ending in {' or '.join(suffixes)}, got {str(path)!r}")
    folder = path.parent
    if not folder.is_dir():
        raise InvalidArgumentError(f"{argument}: expected an existing folder, got {str(folder)!r}; create it first")
    if path.is_dir():
        raise InvalidArgumentError(f"{argument}: expected a file, got the folder {str(path)!r}")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise InvalidArgumentError(f"{argument}: expected a writable file or folder, got {str(path)!r}")
    return path
