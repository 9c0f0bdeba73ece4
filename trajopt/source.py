"""Digest of the package's own source code: the disk cache uses it to drop entries that older code has written.

`trajopt` imports this module before all others, so that it notices a file that changes after it was loaded.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import time
from pathlib import Path

PACKAGE = Path(__file__).parent
ON_TOP = (
    *("analysis", "callbacks", "cli.py", "gaits", "kinematics", "plotting", "problems", "solution", "solvers"),
    "sweeps",
)
"""Folders and files that models do not depend on: an edit of them leaves stored programs valid.

A model class may be defined in one of these folders; its stored programs then depend on that folder too.
"""

MOMENT = 50_000_000
"""Time for which files count as unchanged while no module is imported [ns]: a problem asks 60 times in 0.1 s."""

_STARTED = time.time()
_UNKNOWN = os.urandom(32)  # digest of code that differs from its file: no entry of another process has it


def digest(folder: Path, *, without: tuple[str, ...] = ()) -> bytes:
    """Digest of the Python files in a folder and its subfolders, as this process has loaded them.

    If a file has changed since, or there are no files (a frozen program), the digest is unique to this process.

    Args:
        folder: The folder.
        without: Names of folders and files in the folder to leave out.
    """
    moment = (time.monotonic_ns() // MOMENT, len(sys.modules))
    return _digest(folder, without) if _is_as_loaded(folder, without, moment) else _UNKNOWN


@functools.lru_cache(maxsize=64)
def _is_as_loaded(folder: Path, without: tuple[str, ...], moment: tuple[int, int]) -> bool:
    """Whether there are files, and none has changed since this process started."""
    files = _files(folder, without)
    return bool(files) and all(os.stat(file).st_ctime <= _STARTED for file in files)


@functools.cache
def _files(folder: Path, without: tuple[str, ...]) -> tuple[str, ...]:
    found = []
    for place, folders, names in os.walk(folder):
        if place == str(folder):
            folders[:] = [name for name in folders if name not in without]
            names = [name for name in names if name not in without]
        found += [os.path.join(place, name) for name in names if name.endswith(".py")]
    return tuple(sorted(found))


@functools.cache
def _digest(folder: Path, without: tuple[str, ...]) -> bytes:
    content = hashlib.sha256()
    for file in _files(folder, without):
        with open(file, "rb", buffering=0) as opened:
            data = opened.read()
        content.update(f"{file.removeprefix(f'{folder}{os.sep}')} {len(data)}\n".encode() + data)
    return content.digest()
