"""Shared objects by key, of which those are kept that were asked for last."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from trajopt.kernels.interrupts import Held

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Objects that whoever asks for the same key shares.

    All are found that somebody holds. Up to a limit, those that were asked for last are held here too; the others go
    when nobody holds them any more.

    Args:
        limit: Largest total size of the objects that are held here; the last one is held in any case.
        size: Size of an object.
    """

    def __init__(self, limit: float, size: Callable[[V], float]) -> None:
        self.limit = limit
        self._size = size
        self._found: weakref.WeakValueDictionary[K, V] = weakref.WeakValueDictionary()
        self._held: dict[K, tuple[V, float]] = {}  # the least recently used first
        self._total = 0.0
        self._guard = threading.RLock()
        _all.append(self)

    def get(self, key: K, make: Callable[[], V]) -> V:
        """The object of a key; if there is none, it is made."""
        with self._guard:
            value = self._found.get(key)
        if value is None:
            value = make()
        with self._guard, Held():
            value = self._found.setdefault(key, value)
            if key in self._held:
                self._held[key] = self._held.pop(key)
            else:
                self._held[key] = value, self._size(value)
                self._total += self._held[key][1]
            while self._total > self.limit and len(self._held) > 1:
                _, size = self._held.pop(next(iter(self._held)))
                self._total -= size
        return value

    def values(self) -> list[V]:
        """The objects that are held here, the least recently used first."""
        with self._guard:
            return [value for value, _ in self._held.values()]

    def clear(self) -> None:
        """Lets go of all, and finds none of them again."""
        with self._guard:
            self._found.clear()
            self._held.clear()
            self._total = 0.0

    def forget_threads(self) -> None:
        """In a forked process: nobody will open what another thread had closed."""
        self._guard = threading.RLock()


_all: list[Recent[Any, Any]] = []


def clear_all() -> None:
    """Clears all of them."""
    for each in _all:
        each.clear()


def _forget_threads() -> None:
    for each in _all:
        each.forget_threads()


os.register_at_fork(after_in_child=_forget_threads)
