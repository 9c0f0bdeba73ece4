"""Programs as bytes. Expressions are separate entries of the disk cache, by content, so that each is stored once.

Within a process, programs of equal models share the expressions that any of them still holds.
"""

from __future__ import annotations

import io
import pickle
import weakref
from typing import Any

from trajopt import cache
from trajopt.kernels.expression import Expression

_held: weakref.WeakValueDictionary[tuple[str, str], Expression] = weakref.WeakValueDictionary()


class MissingError(Exception):
    """An expression is no longer in the cache."""


def dumps(thing: Any) -> bytes:
    """Converts a program, or an object with programs, to bytes; its expressions are stored in the cache."""
    buffer = io.BytesIO()
    _Pickler(buffer, protocol=5).dump(thing)
    return buffer.getvalue()


def loads(data: bytes) -> Any:
    """Converts bytes from `dumps` back to the program or object.

    Raises:
        MissingError: An expression is no longer in the cache.
    """
    return _Unpickler(io.BytesIO(data)).load()


def _entry(digest: str, label: str) -> str:
    return cache.key("expression", digest, label)


class _Pickler(pickle.Pickler):
    def persistent_id(self, obj: Any) -> tuple[str, str] | None:
        if not isinstance(obj, Expression):
            return None
        entry = _entry(obj.digest, obj.label)
        if cache.load(entry) is None:
            cache.store(entry, pickle.dumps(obj), f"{cache.EXPRESSION}: {obj.label}")
        _held.setdefault((obj.digest, obj.label), obj)
        return obj.digest, obj.label


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, pid: tuple[str, str]) -> Expression:
        held = _held.get(pid)
        if held is not None:
            return held
        stored = cache.load(_entry(*pid))
        if stored is None:
            raise MissingError
        return _held.setdefault(pid, pickle.loads(stored))
