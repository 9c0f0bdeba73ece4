"""Cache of expressions in memory: each is built once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from casadi import SX

T = TypeVar("T")


class ExpressionCache:
    """Values by key, each built at the first request; `key_of` turns an expression into part of a key."""

    def __init__(self) -> None:
        self._built: dict[Hashable, Any] = {}
        self._alive: list[SX] = []

    def once(self, key: Hashable, build: Callable[[], T]) -> T:
        """Returns the result of `build`, which is called only at the first request for this key."""
        if key not in self._built:
            self._built[key] = build()
        result: T = self._built[key]
        return result

    def key_of(self, value: SX) -> tuple[int, ...]:
        """Key of a column: the addresses of its graph nodes. The cache keeps the column alive, so they stay unique."""
        self._alive.append(value)
        return tuple(value[i].element_hash() for i in range(value.numel()))
