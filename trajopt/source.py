"""The package's own source, as a digest: what is kept on disk is as good as the code that made it.

`trajopt` imports this module first, so that a file which changes after any other was loaded is noticed.
"""

from __future__ import annotations

import functools
import hashlib
import os
import time
from pathlib import Path

PACKAGE = Path(__file__).parent
ON_TOP = ("analysis", "callbacks", "cli.py", "gaits", "plotting", "problems", "solution", "solvers")
"""Rooms and files on top of the models: an edit of them makes no stored program stale.

A model may still be defined in one of these rooms; then that room counts too.
"""

_STARTED = time.time()
_UNKNOWN = os.urandom(32)  # stands for code that differs from its file: it fits nothing that another process keeps


def digest(folder: Path, *, without: tuple[str, ...] = ()) -> bytes:
    """Digest of the Python files in a folder and below, as this process has loaded them.

    If one of them has changed since, or there is none (a frozen program), a digest that only this process has.

    Args:
        folder: The folder.
        without: Names of folders and files in it that are left out.
    """
    files = _files(folder, without)
    if not files or any(os.stat(file).st_ctime > _STARTED for file in files):
        return _UNKNOWN
    return _digest(folder, without)


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
        with open(file, "rb") as opened:
            data = opened.read()
        content.update(f"{os.path.relpath(file, folder)} {len(data)}\n".encode() + data)
    return content.digest()
