"""Programs as bytes. Their expressions are entries of their own in the disk cache, by content: each is kept once."""

from __future__ import annotations

import io
import pickle
from typing import Any

from trajopt import cache
from trajopt.kernels.expression import Expression


class MissingError(Exception):
    """An expression is not in the cache any more."""


def dumps(thing: Any) -> bytes:
    """A program, or an object with programs, as bytes; its expressions are stored."""
    buffer = io.BytesIO()
    _Pickler(buffer, protocol=5).dump(thing)
    return buffer.getvalue()


def loads(data: bytes) -> Any:
    """The program or object that `dumps` took.

    Raises:
        MissingError: An expression is not in the cache any more.
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
        return obj.digest, obj.label


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, pid: tuple[str, str]) -> Expression:
        stored = cache.load(_entry(*pid))
        if stored is None:
            raise MissingError
        expression: Expression = pickle.loads(stored)
        return expression
