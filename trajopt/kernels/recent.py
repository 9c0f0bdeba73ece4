"""Shared objects by key; the most recently requested ones are kept alive."""

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
    """Objects shared by all who request the same key.

    An object is shared as long as anyone uses it. The most recently requested ones are kept alive here up to a limit;
    others are freed when they are no longer in use.

    Args:
        limit: Largest total size of the objects kept here; the last one is kept in any case.
        size: Function that returns the size of an object.
    """

    def __init__(self, limit: float, size: Callable[[V], float]) -> None:
        self.limit = limit
        self._size = size
        self._alive: weakref.WeakValueDictionary[K, V] = weakref.WeakValueDictionary()
        self._held: dict[K, tuple[V, float]] = {}  # least recently requested first
        self._total = 0.0
        self._guard = threading.RLock()
        _all.append(self)

    def get(self, key: K, make: Callable[[], V]) -> V:
        """Returns the object stored under a key; if there is none, `make` creates it."""
        with self._guard:
            value = self._alive.get(key)
        if value is None:
            value = make()
        with self._guard, Held():
            value = self._alive.setdefault(key, value)
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
        """Objects that are stored, the least recently requested first."""
        with self._guard:
            return [value for value, _ in self._held.values()]

    def clear(self) -> None:
        """Removes all objects."""
        with self._guard:
            self._alive.clear()
            self._held.clear()
            self._total = 0.0

    def forget_threads(self) -> None:
        """Replaces the locks in a forked process, since another thread may have held them."""
        self._guard = threading.RLock()


_all: list[Recent[Any, Any]] = []


def clear_all() -> None:
    """Removes all objects from all instances of Recent."""
    for each in _all:
        each.clear()


def _forget_threads() -> None:
    for each in _all:
        each.forget_threads()


os.register_at_fork(after_in_child=_forget_threads)
