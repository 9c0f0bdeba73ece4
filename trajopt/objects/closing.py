"""Base of resources that are closed explicitly or at the end of a `with` block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

from trajopt.errors import UnsupportedOperationError
from trajopt.objects.immutable import Immutable


class Closing(Immutable, ABC):
    """Base of resources that are closed at the end of a `with` block; they cannot be copied or pickled."""

    @abstractmethod
    def close(self) -> None:
        """Closes the resource."""

    def __enter__(self) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        raise UnsupportedOperationError(
            f"{type(self).__name__}: cannot be copied or pickled, as it belongs to this process; construct another one"
        )

    def __exit__(self, *error: object) -> None:
        self.close()
