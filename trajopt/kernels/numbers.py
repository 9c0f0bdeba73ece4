"""Arithmetic in which a program is evaluated: float64, or higher precision (`trajopt.kernels.precision`)."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.kernels.expression import Expression

Values = npt.NDArray[Any]
"""Array of numbers: float64, or objects that support +, -, *, /, abs and comparisons."""


class Numbers(ABC):
    """Arithmetic that creates numbers and evaluates expressions with them, such as double precision.

    Steps use numpy's operators and `@` on its arrays, which work for float64 and for objects; `np.linalg` and functions
    such as `np.sqrt` work for float64 only. Steps run inside `context`.
    """

    @abstractmethod
    def context(self) -> AbstractContextManager[Any]:
        """Context in which operators on these numbers round correctly."""

    @abstractmethod
    def array(self, values: Any, shape: tuple[int, ...]) -> Values:
        """Converts values to an array of numbers of this shape, which may share memory with `values`."""

    @abstractmethod
    def call(self, expression: Expression, arrays: Sequence[Values]) -> list[Values]:
        """Evaluates an expression with these numbers.

        Inputs are one array for each input, of matching size; outputs have shape (rows, columns).
        """

    def zeros(self, shape: tuple[int, ...]) -> Values:
        """Returns an array of zeros."""
        return self.array(np.zeros(shape), shape)


class Float64(Numbers):
    """Arithmetic in double precision: numpy for arrays, CasADi for expressions."""

    def __repr__(self) -> str:
        return "FLOAT64"

    def context(self) -> AbstractContextManager[Any]:
        return contextlib.nullcontext()

    def array(self, values: Any, shape: tuple[int, ...]) -> Values:
        return np.asarray(values, dtype=np.float64).reshape(shape)

    def call(self, expression: Expression, arrays: Sequence[Values]) -> list[Values]:
        return expression.evaluate(arrays)


FLOAT64 = Float64()
"""The arithmetic of doubles."""
