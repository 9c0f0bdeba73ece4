"""Arithmetic that a program is evaluated in: float64, or more digits (`trajopt.kernels.precision`)."""

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
"""Numbers of an array: float64, or objects that compute by themselves with +, -, *, /, abs and comparisons."""


class Numbers(ABC):
    """An arithmetic: how numbers of it are made, and how expressions are called with them.

    Steps work on its arrays with numpy's operators and `@`, which take float64 and objects alike; `np.linalg` and
    functions such as `np.sqrt` take float64 only. Steps run inside `context`.
    """

    @abstractmethod
    def context(self) -> AbstractContextManager[Any]:
        """Context in which operators of its numbers round as they should."""

    @abstractmethod
    def array(self, values: Any, shape: tuple[int, ...]) -> Values:
        """Numbers in an array of this shape; it may share memory with `values`."""

    @abstractmethod
    def call(self, expression: Expression, arrays: Sequence[Values]) -> list[Values]:
        """Outputs (rows, columns) of an expression for one array an input, which may have another shape of its size."""

    def zeros(self, shape: tuple[int, ...]) -> Values:
        """An array of zeros."""
        return self.array(np.zeros(shape), shape)


class Float64(Numbers):
    """Arithmetic of doubles: numpy, and CasADi's evaluator for expressions."""

    def __repr__(self) -> str:
        return "FLOAT64"

    def context(self) -> AbstractContextManager[Any]:
        return contextlib.nullcontext()

    def array(self, values: Any, shape: tuple[int, ...]) -> Values:
        return np.asarray(values, dtype=np.float64).reshape(shape)

    def call(self, expression: Expression, arrays: Sequence[Values]) -> list[Values]:
        return expression.evaluate(arrays)


FLOAT64 = Float64()
"""Arithmetic of doubles."""
