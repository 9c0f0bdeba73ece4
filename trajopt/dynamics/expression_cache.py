"""Cache of expressions in memory, so that each is built once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from casadi import SX

T = TypeVar("T")


class ExpressionCache:
    """Values by key, each built at its first request; an expression is part of a key by its `key_of`."""

    def __init__(self) -> None:
        self._built: dict[Hashable, Any] = {}
        self._alive: list[SX] = []

    def once(self, key: Hashable, build: Callable[[], T]) -> T:
        """Result of `build`, which is called at the first request for this key only."""
        if key not in self._built:
            self._built[key] = build()
        result: T = self._built[key]
        return result

    def key_of(self, value: SX) -> tuple[int, ...]:
        """Key of a column: the addresses of its graph nodes. Keeps the column alive, so that they stay unique."""
        self._alive.append(value)
        return tuple(value[i].element_hash() for i in range(value.numel()))
