"""Disk cache of compiled code and programs: private to the user, written atomically, verified before it is loaded.

Each entry is a file `KEY.kernel`: a header with the SHA-256 of key, label and content, then label and content. The
label describes the content. An entry counts as absent if it is damaged, is a link or folder, or could have been written
by another user. Several processes may use one cache, since a file appears complete or not at all.

Environment:
    TRAJOPT_CACHE_DIR: Folder of the cache; "off" switches the cache off.
    TRAJOPT_CACHE_SIZE: Largest size [MiB], default 1024; the least recently used entries are removed first.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import math
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trajopt import source

MAGIC = b"trajopt kernel 2\n"
HEAD = len(MAGIC) + 34  # plus the checksum and the length of the label
LABEL = 400  # longer labels are cut [bytes]
SUFFIX, UNFINISHED = ".kernel", ".part"
STALE = 3600.0  # older unfinished files count as left by a dead process [s]
PART = 0.01  # of the limit; examining 4,000 entries takes 25 ms, storing one 0.2 ms

_written = math.inf  # since all entries were examined [bytes]
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class CacheInfo:
    """State of the cache.

    Attributes:
        directory: Folder of the cache; None if the cache is off or not usable.
        entries: Number of entries, one file each [-].
        size: Total size of the entries [bytes].
        limit: Largest total size [bytes].
    """

    directory: Path | None
    entries: int
    size: int
    limit: int


def _source_digest() -> bytes:
    """Digest of the source code of `trajopt.kernels`; an edit there invalidates every entry."""
    return source.digest(source.PACKAGE / "kernels")


def key(*parts: str) -> str:
    """Returns the key of an entry: a hash of the parts that determine its content."""
    digest = hashlib.sha256(MAGIC + _source_digest())  # so that files of another format never match
    for part in parts:
        digest.update(hashlib.sha256(part.encode()).digest())
    return digest.hexdigest()


def directory() -> Path | None:
    """Folder of the cache, created if needed; None if the cache is off or cannot be used safely."""
    setting = os.environ.get("TRAJOPT_CACHE_DIR", "")
    if setting == "off":
        return None
    return _usable_directory(setting)


@functools.lru_cache(maxsize=8)
def _usable_directory(setting: str) -> Path | None:
    if setting:
        folder = Path(setting).expanduser().absolute()
    else:
        import platformdirs

        folder = Path(platformdirs.user_cache_dir("trajopt", appauthor=False)) / "kernels"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _private(folder.stat()):
            problem = "belongs to another user or is open to other users"
        elif not os.access(folder, os.W_OK):
            problem = "cannot be written"
        else:
            return folder
    except OSError as error:
        problem = f"cannot be used: {error}"
    _logger.warning("cache folder %s %s; every start compiles: set TRAJOPT_CACHE_DIR or chmod 700", folder, problem)
    return None


def _private(status: os.stat_result) -> bool:
    """True if only this user can write."""
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _checksum(entry: str, labelled: bytes) -> bytes:
    """Checksum of the key and of everything that follows the checksum in the file."""
    return hashlib.sha256(entry.encode() + labelled).digest()


def _end_of_label(head: bytes) -> int:
    """Offset at which the content of a file begins, from the first bytes of the file."""
    return HEAD + int.from_bytes(head[HEAD - 2 : HEAD], "little")


def contains(entry: str) -> bool:
    """True if the cache has an entry with this key. The entry's content is not verified."""
    folder = directory()
    try:
        return folder is not None and stat.S_ISREG((folder / (entry + SUFFIX)).lstat().st_mode)
    except OSError:
        return False


def load(entry: str) -> bytes | None:
    """Returns the content of an entry; None if the entry is absent or damaged."""
    folder = directory()
    if folder is None:
        return None
    path = folder / (entry + SUFFIX)
    try:
        data = _read(path)
        if data is None:
            return None
        magic, digest, labelled = data[: len(MAGIC)], data[len(MAGIC) : HEAD - 2], data[HEAD - 2 :]
        if magic != MAGIC or _checksum(entry, labelled) != digest:
            _logger.warning("cache entry %s is damaged; it is compiled again", path)
            path.unlink(missing_ok=True)
            return None
        return data[_end_of_label(data) :]
    except FileNotFoundError:
        return None
    except OSError as error:
        _logger.warning("cache entry %s cannot be read (%s); it is compiled again", path, error)
        return None


def _open(path: str, flags: int) -> int:
    """Opens a file; raises OSError for a link and does not wait for a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _read(path: Path) -> bytes | None:
    """Reads a file that only this user can have written and marks it as used; returns None for any other file.

    The checks use the open file rather than the path, which may be replaced at any time.
    """
    with open(path, "rb", opener=_open) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            _logger.warning("cache entry %s is not a file; it is compiled again", path)
            return None
        if not _private(status):
            _logger.warning("cache entry %s is writable by other users; it is compiled again", path)
            return None
        os.utime(file.fileno())
        return file.read()


def store(entry: str, content: bytes, label: str = "") -> None:
    """Writes an entry. A failure is logged, not raised, since a solve works without the cache.

    Args:
        entry: Key of the entry.
        content: Content.
        label: Description "FORM: WHAT", such as "quick code: costs of go2"; see `trajopt.cache.contents`.
    """
    folder = directory()
    if folder is None:
        return
    name = label.encode()[:LABEL]
    labelled = len(name).to_bytes(2, "little") + name + content
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".", suffix=UNFINISHED, delete=False) as file:
            try:
                file.write(MAGIC + _checksum(entry, labelled) + labelled)
                file.flush()
                _replace(Path(file.name), folder / (entry + SUFFIX))
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise
        _shrink_sometimes(folder, len(content))
    except OSError as error:
        _warn_of_writing(folder, error.strerror or str(error))


@functools.cache
def _warn_of_writing(folder: Path, reason: str) -> None:
    """Warns once for each reason."""
    _logger.warning("cache folder %s cannot be written: %s; compiled code is not stored", folder, reason)


def _replace(source: Path, target: Path) -> None:
    try:
        os.replace(source, target)
    except IsADirectoryError:
        _remove(target)
        os.replace(source, target)


def _remove(path: Path) -> None:
    """Removes an entry, whether it is a file, a link or a folder."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        if not path.is_dir() or path.is_symlink():
            raise
        shutil.rmtree(path)


def limit() -> int:
    """Largest total size of the entries [bytes]."""
    setting = os.environ.get("TRAJOPT_CACHE_SIZE", "1024")
    try:
        return int(float(setting) * 2**20)
    except (ValueError, OverflowError):
        _logger.warning("TRAJOPT_CACHE_SIZE: expected a number of MiB, got %r; 1024 is used", setting)
        return 2**30


def _files(folder: Path, pattern: str) -> list[tuple[float, int, Path]]:
    """Time of last use, size and path of each file that matches a pattern."""
    files = []
    for path in folder.glob(pattern):
        with contextlib.suppress(FileNotFoundError):  # another process has removed it
            status = path.lstat()
            files.append((status.st_mtime, status.st_size, path))
    return files


def _shrink_sometimes(folder: Path, size: int) -> None:
    """Shrinks the cache at the first write of this process, then each time it has written a fraction of the limit.

    Args:
        folder: Folder of the cache.
        size: Size of the entry just written [bytes].
    """
    global _written
    _written += size
    if _written > PART * limit():
        _written = 0.0
        _shrink(folder)


def _shrink(folder: Path) -> None:
    """Removes the least recently used entries beyond the limit, and unfinished files of dead processes."""
    entries = _files(folder, "*" + SUFFIX)
    excess = sum(size for _, size, _ in entries) - limit()
    for _, size, path in sorted(entries):
        if excess <= 0:
            break
        _remove(path)
        excess -= size
    for written, _, path in _files(folder, ".*" + UNFINISHED):
        if written < time.time() - STALE:
            _remove(path)


def info() -> CacheInfo:
    """Returns the folder of the cache, the number of its entries, their size, and the largest size allowed [bytes]."""
    folder = directory()
    entries = [] if folder is None else _files(folder, "*" + SUFFIX)
    return CacheInfo(directory=folder, entries=len(entries), size=sum(s for _, s, _ in entries), limit=limit())


def labels() -> Iterator[tuple[str, int]]:
    """Label ("" without one) and size [bytes] of each entry; nothing is verified or marked as used."""
    folder = directory()
    for _, size, path in [] if folder is None else _files(folder, "*" + SUFFIX):
        with contextlib.suppress(OSError), open(path, "rb", opener=_open) as file:
            head = file.read(HEAD + LABEL)
            is_entry = head.startswith(MAGIC)
            yield head[HEAD : _end_of_label(head)].decode(errors="ignore") if is_entry else "", size


def clear() -> int:
    """Removes every entry and returns their number."""
    folder = directory()
    if folder is None:
        return 0
    entries = _files(folder, "*" + SUFFIX)
    for _, _, path in [*entries, *_files(folder, ".*" + UNFINISHED)]:
        _remove(path)
    return len(entries)
