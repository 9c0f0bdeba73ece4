"""Digests of the package's own source code. With them the disk cache drops entries that older code has written.

A room is a folder or a file directly in the package. The results of a room depend on its own files and on the rooms
that it imports, so an edit elsewhere leaves stored programs valid.

`trajopt` imports this module first, so that it notices a file that changes after it was loaded.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import sys
import time
from collections.abc import Iterable
from pathlib import Path

PACKAGE = Path(__file__).parent

MOMENT = 250_000_000
"""Period during which files are assumed unchanged if no module is imported [ns]; a problem checks 60 times in 0.1 s."""

_STARTED = time.time()
_UNKNOWN = os.urandom(32)  # digest of code that differs from its file; no cache entry of another process matches it

_FOR_TYPE_CHECKERS = re.compile(rb"\nif TYPE_CHECKING:(?:\n[ \t]+.*|\n)*")
_IMPORT = re.compile(rb"(?:from|import) trajopt(?:\.(\w+)| import (\([^)]*\)|.*))")


def digest(folder: Path) -> bytes:
    """Digest of the loaded Python files of a folder and its subfolders.

    If a file has changed since it was loaded, or there are no files (a frozen program), the digest is unique to this
    process.
    """
    return _as_loaded((folder,))


def digest_of_rooms(names: Iterable[str]) -> bytes:
    """Digest (see `digest`) of the files of these rooms and of all rooms that they import.

    Args:
        names: Names of the rooms, such as "shooting".
    """
    return _as_loaded(_places(frozenset(names)))


def rooms_below(names: Iterable[str]) -> set[str]:
    """These rooms and all rooms that they import, directly or indirectly; imports for type checkers do not count."""
    rooms, new = set[str](), set(names)
    while new:
        rooms |= new
        new = {other for name in new for other in _imports(name)} - rooms
    return rooms


def belongs(file: Path, room: str) -> bool:
    """True if a file belongs to a room."""
    return str(file) in _files(_place(room))


@functools.cache
def _places(names: frozenset[str]) -> tuple[Path, ...]:
    return tuple(_place(name) for name in sorted(rooms_below(names)))


def _place(room: str) -> Path:
    file = PACKAGE / f"{room}.py"
    return file if file.is_file() else PACKAGE / room


@functools.cache
def _imports(room: str) -> frozenset[str]:
    text = b"\n".join(_read(file) for file in _files(_place(room)))
    names = set[bytes]()
    for room_of_module, of_package in _IMPORT.findall(_FOR_TYPE_CHECKERS.sub(b"", text)):
        names.update([room_of_module] if room_of_module else re.findall(rb"\w+", of_package))
    return frozenset(name for name in (n.decode() for n in names) if _files(_place(name)))


def _as_loaded(places: tuple[Path, ...]) -> bytes:
    moment = (time.monotonic_ns() // MOMENT, len(sys.modules))
    return _digest(places) if _is_as_loaded(places, moment) else _UNKNOWN


@functools.lru_cache(maxsize=64)
def _is_as_loaded(places: tuple[Path, ...], moment: tuple[int, int]) -> bool:
    """True if there are files and none has changed since this process started."""
    files = [file for place in places for file in _files(place)]
    return bool(files) and all(os.stat(file).st_ctime <= _STARTED for file in files)


@functools.cache
def _files(place: Path) -> tuple[str, ...]:
    if place.suffix == ".py":
        return (str(place),)
    paths = [os.path.join(folder, name) for folder, _, names in os.walk(place) for name in names]
    return tuple(sorted(file for file in paths if file.endswith(".py")))


@functools.cache
def _digest(places: tuple[Path, ...]) -> bytes:
    content = hashlib.sha256()
    for place in places:
        for file in _files(place):
            data = _read(file)
            content.update(f"{file.removeprefix(f'{place.parent}{os.sep}')} {len(data)}\n".encode() + data)
    return content.digest()


def _read(file: str) -> bytes:
    with open(file, "rb", buffering=0) as opened:
        return opened.read()
