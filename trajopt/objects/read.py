"""Properties that read a part of an object: a table of them takes one line each."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

T = TypeVar("T")


class Read(property, Generic[T]):
    """Property of one expression, such as `times = Read[Reals](lambda schedule: schedule.references.times)`.

    The docstring of the class describes it, under `Attributes:`; `help` shows that line.

    Args:
        read: Function of the object.
    """

    def __init__(self, read: Callable[[Any], Any]) -> None:
        super().__init__(read)

    def __set_name__(self, owner: type, name: str) -> None:
        line = re.search(rf"^\s*{name}: (.+(?:\n {{12,}}\S.*)*)", owner.__doc__ or "", re.MULTILINE)
        self.__doc__ = line and re.sub(r"\s+", " ", line[1])

    if TYPE_CHECKING:  # the type of the attribute, which `property` does not have

        def __get__(self, thing: Any, owner: type | None = None, /) -> T:  # type: ignore[override]
            """Value of the attribute."""
