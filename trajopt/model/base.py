"""Base class of all models: named run-time parameters, printing, and pickling by constructor arguments.

A model is immutable after `__init__`. Values that may change are named parameters: the symbol of a parameter is part of
the model's expressions, its value is an array that the compiled code reads, so that setting it compiles nothing.
"""

from __future__ import annotations

import functools
import inspect
from abc import ABC
from collections.abc import Callable, Hashable
from typing import Any, Self

import numpy as np
import pinocchio as pin
from casadi import SX

from trajopt.errors import DuplicateNameError, InvalidArgumentError
from trajopt.model.parameters import Parameter, ParameterLayout
from trajopt.types import Reals


class Model(ABC):
    """Base of models that are built from expressions: residuals, activations, actuations and action models.

    A model keeps a copy of its constructor's arguments, by which it is pickled, cloned and printed.
    """

    not_content: tuple[str, ...] = ("_arguments",)  # they hold values of parameters, which the hash does not cover
    _arguments: tuple[tuple[Any, ...], dict[str, Any]]
    _parameters: dict[str, Parameter]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        model = super().__new__(cls)
        model._arguments = (_copied(args), _copied(kwargs))
        model._parameters = {}
        return model

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), *self._arguments))

    def clone(self) -> Self:
        """A copy of the model with its own parameters, built from the same arguments."""
        args, kwargs = self._arguments
        return type(self)(*args, **kwargs)

    @functools.cached_property
    def built(self) -> dict[Hashable, Any]:
        """Programs built from this model so far, see `trajopt.model.programs`."""
        return {}

    def parameter(
        self, name: str, value: Any, *, unit: str = "-", convert: Callable[[str, Any], Reals] | None = None
    ) -> SX:
        """Declares a run-time parameter; called in `__init__`.

        Args:
            name: Name of the parameter, an identifier without dots.
            value: First value: a number, a vector or a matrix.
            unit: Unit of the value.
            convert: Function that converts and checks values, see `Parameter`.

        Returns:
            The symbol to use in expressions: scalar, column (n, 1) or matrix.
        """
        if not name.isidentifier():
            raise InvalidArgumentError(f"name: expected an identifier such as 'mass', got {name!r}")
        if name in self._parameters:
            raise DuplicateNameError(f"{type(self).__name__}: parameter {name!r} is declared twice")
        array = convert(name, value) if convert else np.array(value, dtype=np.float64)
        if array.ndim > 2:
            raise InvalidArgumentError(f"{name}: expected a number, vector or matrix, got shape {array.shape}")
        if convert is None and not np.all(np.isfinite(array)):
            raise InvalidArgumentError(f"{name}: expected finite numbers, got {array}")
        symbol = SX.sym(name, *(array.shape if array.ndim else (1, 1)))
        self._parameters[name] = Parameter(name, symbol, array, unit, convert)
        return symbol

    def parameters(self) -> dict[str, Parameter]:
        """Run-time parameters by their names within this model."""
        return dict(self._parameters)

    @functools.cached_property
    def layout(self) -> ParameterLayout:
        """Layout of `parameters()` in one column of numbers."""
        return ParameterLayout(self.parameters())

    def __repr__(self) -> str:
        return self.described()

    def described(self, *, without: tuple[str, ...] = ()) -> str:
        """The model with its arguments on one line, except those named in `without`."""
        args, kwargs = self._arguments
        bound = inspect.signature(type(self).__init__).bind(self, *args, **kwargs)
        bound.apply_defaults()
        given = {n: v for n, v in list(bound.arguments.items())[1:] if not (_is_absent(v) or n in without)}
        return f"{type(self).__name__}({', '.join(f'{name}={_short(value)}' for name, value in given.items())})"


def _is_absent(value: Any) -> bool:
    return value is None or (isinstance(value, (tuple, dict)) and not value)


def _short(value: Any) -> str:
    """A value on one line; long arrays are shortened."""
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=6, threshold=50, separator=", ").replace("\n", "")
    if inspect.isfunction(value):
        return value.__qualname__
    return " ".join(repr(value).split())


def _copied(value: Any) -> Any:
    """A copy of a value that a user may change later: arrays, Pinocchio's values, lists and dictionaries of them."""
    if isinstance(value, dict):
        return {key: _copied(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(_copied(v) for v in value)
    if isinstance(value, (np.ndarray, pin.SE3, pin.Motion)):
        return value.copy()
    return value


def _rebuild(cls: type[Model], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Model:
    return cls(*args, **kwargs)
