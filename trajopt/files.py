"""Files to write: paths that are checked first, and files that are whole at any time.

Each file is written beside its place and takes it when it is done.
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


def check_output_path(path: str | os.PathLike[str], argument: str, suffixes: tuple[str, ...]) -> Path:
    """Returns the path after checking that a file with one of the suffixes can be written there.

    Raises:
        InvalidArgumentError: The suffix is another one, or the folder does not exist or cannot be written.
    """
    path = check_path(argument, path)
    if path.suffix.lower() not in suffixes:
        raise InvalidArgumentError(f"{argument}: expected a file ending in {' or '.join(suffixes)}, got {str(path)!r}")
    folder = path.parent
    if not folder.is_dir():
        raise InvalidArgumentError(f"{argument}: expected an existing folder, got {str(folder)!r}; make it first")
    if path.is_dir():
        raise InvalidArgumentError(f"{argument}: expected a file, got the folder {str(path)!r}")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise InvalidArgumentError(f"{argument}: expected a writable file or folder, got {str(path)!r}")
    return path
