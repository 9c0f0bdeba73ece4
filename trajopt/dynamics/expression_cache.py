"""Cache of expressions in memory: each is built once; and the check of their arguments."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import casadi as ca
from casadi import SX

from trajopt.errors import InvalidArgumentError
from trajopt.kernels.interrupts import Heard
from trajopt.lie.scalars import scalars

T = TypeVar("T")


class ExpressionCache:
    """Values by key, each built at the first request.

    Args:
        shared: Cache with which `once` shares its values.
    """

    def __init__(self, shared: ExpressionCache | None = None) -> None:
        self._built: dict[Hashable, Any] = {} if shared is None else shared._built
        self._own: dict[Hashable, Any] = {}
        self._alive: list[SX] = []

    def once(self, key: Hashable, build: Callable[[], T]) -> T:
        """Returns the result of `build`, which is called only at the first request for this key."""
        return _once(self._built, key, build)

    def own(self, key: Hashable, build: Callable[[], T]) -> T:
        """As `once`, for a value that is not shared: it depends on more than the owner of the cache, see `key_of`."""
        return _once(self._own, key, build)

    def branch(self) -> ExpressionCache:
        """Returns a cache that shares the values of `once` with this one."""
        return ExpressionCache(self)

    def key_of(self, value: SX) -> tuple[int, ...]:
        """Key of a column: the addresses of its graph nodes. The cache keeps the column alive, so they stay unique."""
        self._alive.append(value)
        return tuple(element.element_hash() for element in scalars(value))


def _once(built: dict[Hashable, Any], key: Hashable, build: Callable[[], T]) -> T:
    if key not in built:
        with Heard():  # nothing is stored after an interrupt that CasADi has swallowed
            value = build()
        built[key] = value
    result: T = built[key]
    return result


def checked_column(name: str, value: SX, size: int) -> SX:
    """Returns a dense column SX (size, 1).

    Raises:
        InvalidArgumentError: The value has another shape.
    """
    value = SX(value)
    if value.shape != (size, 1):
        raise InvalidArgumentError(f"{name}: expected shape ({size},), got {value.shape}; see model.nq, model.nv")
    return ca.densify(value)
