"""Reading and writing files. Whatever a file contains, reading it raises errors of this package only.

Each file is written under a temporary name and renamed when it is complete, so none is ever half written.
"""

from __future__ import annotations

import csv
import io
import os
import threading
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from trajopt.checks import check_path
from trajopt.errors import InvalidArgumentError, pass_on_signal, shown

UNFINISHED = ".tmp"
"""Suffix of a file that is still being written, or whose writer was killed."""

LONGEST_NAME = 255
"""Most bytes of a file's name on usual file systems [-]."""

MALFORMED = (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Errors that content of a file can cause which is not what its writer wrote."""


class DamagedFileError(ValueError):
    """Content of a file cannot be read; the message is the reason."""


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Opens a temporary file that replaces `path` when the block ends; if the block raises, `path` stays unchanged.

    If `path` is a symbolic link, its target is replaced.

    Raises:
        OSError: The folder cannot be written.
    """
    path = Path(os.path.realpath(path))
    temporary = _temporary(path)
    try:
        with temporary.open("wb") as file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def output_file(path: Path, argument: str = "path") -> Iterator[BinaryIO]:
    """Same as `replacing`, with errors for users.

    Raises:
        InvalidArgumentError: The file cannot be written, for example on a full disk.
    """
    try:
        with replacing(path) as file:
            yield file
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidArgumentError(f"{argument}: {shown(str(path))} cannot be written: {reason}") from error


def write_rows(path: Path, rows: Iterable[Iterable[Any]]) -> None:
    """Writes rows to a .csv file.

    Raises:
        InvalidArgumentError: The file cannot be written.
    """
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    with output_file(path) as file:
        file.write(text.getvalue().encode())


def write_columns(path: str | os.PathLike[str], table: Mapping[str, Any]) -> Path:
    """Writes columns (n,) by header to a .csv file, with enough digits to restore every number exactly.

    Raises:
        InvalidArgumentError: The folder does not exist, the file cannot be written, or the suffix is not .csv.
    """
    path = check_output_path(path, "path", (".csv",))
    write_rows(path, [list(table), *zip(*(column.tolist() for column in table.values()))])
    return path


def read_rows(path: Path, argument: str) -> list[list[str]]:
    """Rows of a .csv file in UTF-8, without empty ones.

    Raises:
        InvalidArgumentError: The file cannot be read, or is no table in UTF-8; the message names the argument.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as lines:
            return [row for row in csv.reader(lines) if row]
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(
            f"{argument}: expected text in UTF-8, got byte {error.object[error.start]:#x} in {shown(str(path))}; save "
            "the file again with this encoding"
        ) from error
    except (OSError, csv.Error) as error:
        raise InvalidArgumentError(f"{argument}: {shown(str(path))} cannot be read as a table: {error}") from error


@contextmanager
def arrays_of(path: Path) -> Iterator[Any]:
    """Opens a .npz file for the block, which takes arrays by name from NumPy's NpzFile.

    Raises:
        DamagedFileError: The file or an array cannot be read; readers raise errors of any type for damaged content.
    """
    try:
        with path.open("rb") as file:
            zipfile.ZipFile(file).close()  # np.load would read a single array
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                yield arrays
    except Exception as error:
        pass_on_signal(error)
        raise DamagedFileError(str(error) or type(error).__name__) from error


def read_arrays(path: Path) -> dict[str, Any]:
    """All arrays of a .npz file by name.

    Raises:
        DamagedFileError: The file cannot be read.
    """
    with arrays_of(path) as arrays:
        return {name: arrays[name] for name in arrays.files}


def check_output_path(path: str | os.PathLike[str], argument: str, suffixes: tuple[str, ...]) -> Path:
    """Returns the path after checking that a file can be written there.

    Raises:
        InvalidArgumentError: The suffix is not one of `suffixes`, the name is too long, or no file can be written.
    """
    path = check_path(argument, path)
    if path.suffix.lower() not in suffixes:
        raise InvalidArgumentError(f"{argument}: expected a file ending in {' or '.join(suffixes)}, got {str(path)!r}")
    folder = path.parent
    if not os.path.isdir(folder):  # Path.is_dir raises for names that are too long
        raise InvalidArgumentError(f"{argument}: expected an existing folder, got {str(folder)!r}; create it first")
    if os.path.isdir(path):
        raise InvalidArgumentError(f"{argument}: expected a file, got the folder {str(path)!r}")
    if len(os.fsencode(path.name)) > LONGEST_NAME:
        raise InvalidArgumentError(f"{argument}: expected a shorter file name, got {shown(str(path))}")
    if os.path.exists(path) and not os.access(path, os.W_OK):
        raise InvalidArgumentError(f"{argument}: expected a writable file or folder, got {str(path)!r}")
    try:
        temporary = _temporary(Path(os.path.realpath(path)))
        temporary.open("wb").close()  # os.access grants root folders that the system refuses, such as /proc
        temporary.unlink()
    except OSError as error:
        raise InvalidArgumentError(
            f"{argument}: expected a writable file or folder, got {str(path)!r}: {error.strerror}"
        ) from error
    return path


def _temporary(path: Path) -> Path:
    """File in the folder of `path` that is written first, one for each thread."""
    return path.with_name(f"{path.stem[:40]}.{os.getpid()}.{threading.get_ident()}{UNFINISHED}")
