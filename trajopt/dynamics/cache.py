"""Expressions that are built once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from casadi import SX

T = TypeVar("T")


class Cache:
    """Keeps what was built under a key; expressions in a key go in as `key_of` them."""

    def __init__(self) -> None:
        self._built: dict[Hashable, Any] = {}
        self._alive: list[SX] = []

    def once(self, key: Hashable, build: Callable[[], T]) -> T:
        """What `build` returned the first time it was called for this key."""
        if key not in self._built:
            self._built[key] = build()
        result: T = self._built[key]
        return result

    def key_of(self, value: SX) -> tuple[int, ...]:
        """The nodes of a column as a key; the column is kept alive, so that no other node gets their addresses."""
        self._alive.append(value)
        return tuple(value[i].element_hash() for i in range(value.numel()))
