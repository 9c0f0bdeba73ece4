"""Base of resources that are closed explicitly or at the end of a `with` block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """Base of resources that are closed at the end of a `with` block."""

    @abstractmethod
    def close(self) -> None:
        """Closes the resource."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
