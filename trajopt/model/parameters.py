"""Run-time parameters, and where each of them lies in one column of numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.checks import check_array
from trajopt.errors import unknown_name
from trajopt.types import Reals


@dataclass(frozen=True)
class Parameter:
    """A named value that compiled code reads at run time.

    An expression depends on the symbol alone: models with other values share their programs on disk. What is to follow
    from a first value, such as a term that is left out, is decided in `__init__` and kept in an attribute.

    Attributes:
        name: Name, without the names of what it is part of.
        symbol: Its symbol, column vector or matrix.
        default: Its value at first, of shape `shape`.
        unit: Its unit.
        convert: Turns what a user passes (such as a pinocchio.SE3) into an array of shape `shape`, or raises.
    """

    name: str
    symbol: SX
    default: Reals
    unit: str = "-"
    convert: Callable[[str, Any], Reals] | None = field(default=None, repr=False)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value; () is a number."""
        return self.default.shape

    @property
    def size(self) -> int:
        """Number of scalars."""
        return int(self.default.size)

    def check(self, argument: str, value: Any) -> Reals:
        """A valid value as an array.

        Raises:
            InvalidArgumentError: The value does not fit; the message names `argument`.
        """
        if self.convert is not None:
            return self.convert(argument, value)
        return check_array(argument, value, self.shape)

    def flat(self, value: Reals) -> Reals:
        """The value as the vector that the symbol's elements are read from, shape (size,)."""
        return np.asarray(value, dtype=np.float64).ravel(order="F")

    def shaped(self, flat: Reals) -> Reals:
        """The inverse of `flat`."""
        return flat.reshape(self.shape, order="F").copy()


class ParameterLayout:
    """All run-time parameters of a model as one column, in the order in which they are given.

    Args:
        parameters: The parameters by name.

    Attributes:
        parameters: The same.
        slices: Where the scalars of each are in the column.
        size: Number of scalars of all of them [-].
    """

    def __init__(self, parameters: Mapping[str, Parameter]) -> None:
        self.parameters = dict(parameters)
        self.slices: dict[str, slice] = {}
        self.size = 0
        for name, parameter in self.parameters.items():
            self.slices[name] = slice(self.size, self.size + parameter.size)
            self.size += parameter.size

    @functools.cached_property
    def symbols(self) -> SX:
        """The symbols of all of them, shape (size, 1)."""
        parts = [ca.vec(p.symbol) for p in self.parameters.values()]
        return SX(ca.vertcat(*parts)) if parts else SX(0, 1)

    def column(self, values: Mapping[str, Any] | None = None) -> Reals:
        """The values of all of them, shape (size,).

        Args:
            values: Values by name, as `Parameter.check` takes them; the first values of the others.

        Raises:
            UnknownNameError: There is no parameter of this name.
            InvalidArgumentError: A value does not fit.
        """
        column, given = np.zeros(self.size), values or {}
        for name in given:
            if name not in self.parameters:
                raise unknown_name("parameter", name, self.parameters)
        for name, p in self.parameters.items():
            column[self.slices[name]] = p.flat(p.check(name, given[name]) if name in given else p.default)
        return column
