"""Run-time parameters, and their layout in one column of numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.checks import check_array, check_non_negative, check_positive
from trajopt.errors import unknown_name
from trajopt.lie.scalars import scalars
from trajopt.types import Reals


@dataclass(frozen=True)
class Parameter:
    """A named value that compiled code reads at run time.

    Expressions depend on the symbol only, so that models with different values share their programs on disk. Decisions
    that depend on the initial value, such as leaving out a term, are made in `__init__` and stored in an attribute.

    Attributes:
        name: Name of the parameter within its model.
        symbol: Symbol, a column vector or a matrix.
        default: Initial value, of shape `shape`.
        unit: Unit of the value.
        convert: Converts a user's value (such as a pinocchio.SE3) to an array of shape `shape`, or raises an error.
    """

    name: str
    symbol: SX
    default: Reals
    unit: str = "-"
    convert: Callable[[str, Any], Reals] | None = field(default=None, repr=False)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value; () for a number."""
        return self.default.shape

    @property
    def size(self) -> int:
        """Number of scalars [-]."""
        return int(self.default.size)

    def check(self, argument: str, value: Any) -> Reals:
        """Converts a value to a checked array.

        Raises:
            InvalidArgumentError: The value has a wrong shape or content; the message names `argument`.
        """
        if self.convert is not None:
            return self.convert(argument, value)
        return check_array(argument, value, self.shape, cure=f"the shape of its initial value [{self.unit}]")

    def flat(self, value: Reals) -> Reals:
        """Converts a value to a vector (size,), in the order of the symbol's elements."""
        return np.asarray(value, dtype=np.float64).ravel(order="F")

    def shaped(self, flat: Reals) -> Reals:
        """Converts a vector (size,) back to a value, the inverse of `flat`."""
        return flat.reshape(self.shape, order="F").copy()


class ParameterLayout:
    """Layout of all run-time parameters of a model in one column, in the order of `parameters`.

    Args:
        parameters: The parameters by name.

    Attributes:
        parameters: The same parameters.
        slices: Slice of each parameter in the column.
        size: Total number of scalars [-].
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
        """Symbols of all parameters, shape (size, 1)."""
        return SX(ca.vertcat(*self.columns.values())) if self.columns else SX(0, 1)

    @functools.cached_property
    def columns(self) -> dict[str, SX]:
        """Symbol of each parameter as a column, shape (size, 1)."""
        return {name: ca.vec(p.symbol) for name, p in self.parameters.items()}

    @functools.cached_property
    def elements(self) -> dict[str, frozenset[int]]:
        """Hashes of the elements of each parameter's symbol."""
        return {n: frozenset(s.element_hash() for s in scalars(column)) for n, column in self.columns.items()}

    def column(self, values: Mapping[str, Any] | None = None) -> Reals:
        """Values of all parameters, shape (size,).

        Args:
            values: Values by name, as `Parameter.check` accepts them; all others have their initial values.

        Raises:
            UnknownNameError: No parameter has this name.
            InvalidArgumentError: A value has a wrong shape or content.
        """
        column, passed = np.zeros(self.size), values or {}
        for name in passed:
            if name not in self.parameters:
                raise unknown_name("parameter", name, self.parameters)
        for name, p in self.parameters.items():
            column[self.slices[name]] = p.flat(p.check(name, passed[name]) if name in passed else p.default)
        return column

    def column_of(self, values: Mapping[str, Any]) -> Reals:
        """As `column`, where values of other names have no effect."""
        return self.column({name: value for name, value in values.items() if name in self.parameters})


def non_negative(argument: str, value: Any) -> Reals:
    """A number >= 0 as the value of a parameter."""
    return np.array(check_non_negative(argument, value))


def positive(argument: str, value: Any) -> Reals:
    """A number > 0 as the value of a parameter."""
    return np.array(check_positive(argument, value))
