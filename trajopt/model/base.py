"""Base class of all models: named run-time parameters, printing, and pickling by constructor arguments.

A model is immutable after `__init__`. Values that may change are named parameters. The symbol of a parameter is part of
the model's expressions; its value is an array that compiled code reads, so that setting it needs no recompilation.
"""

from __future__ import annotations

import copy
import functools
import inspect
from abc import ABC
from collections.abc import Callable, Hashable
from typing import Any, Self

import numpy as np
import pinocchio as pin
from casadi import SX

from trajopt.checks import as_numbers, check_text, check_texts
from trajopt.errors import DuplicateNameError, ImmutableError, InvalidArgumentError, UnsupportedOperationError, shown
from trajopt.model.parameters import Parameter, ParameterLayout
from trajopt.objects.immutable import Immutable, under_construction
from trajopt.types import Reals


class Model(Immutable, ABC):
    """Base of models that are built from expressions: residuals, activations, actuations and action models.

    A model keeps a copy of its constructor's arguments, which is used to pickle, clone and print it. Its attributes are
    set in `__init__`. Values that may change later are run-time parameters; they are set in the problem.

    Attributes:
        example: Name that a problem uses for a parameter of the model, for messages.
    """

    example = "{}"
    methods_explain = False  # inner loops call them, see `trajopt.objects.calls`

    set_by_base: tuple[str, ...] = ()
    """Attributes set by the constructor of a base class, which a user's class may forget to call."""

    not_content: tuple[str, ...] = ("_arguments",)  # these hold parameter values, which the hash does not cover
    _arguments: tuple[tuple[Any, ...], dict[str, Any]]
    _parameters: dict[str, Parameter]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        model = super().__new__(cls)
        model._arguments = (_copied(args), _copied(kwargs))
        model._parameters = {}
        return model

    def __init__(self) -> None:  # no docstring, as `help` would show it for constructors of subclasses
        pass

    def __reduce__(self) -> tuple[Any, ...]:
        args, kwargs = self._arguments
        for value in (*args, *kwargs.values()):
            if inspect.isfunction(value) and "<" in value.__qualname__:
                raise UnsupportedOperationError(
                    f"{type(self).__name__}: cannot be pickled with the function {value.__qualname__}; define it with "
                    "def at the top level of a module, so that other processes can import it"
                )
        return (_rebuild, (type(self), *self._arguments))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        args, kwargs = copy.deepcopy(self._arguments, memo)
        return type(self)(*args, **kwargs)

    def __copy__(self) -> Self:
        return self.clone()

    def clone(self) -> Self:
        """Returns a copy of the model with its own parameters, constructed from the same arguments."""
        args, kwargs = self._arguments
        return type(self)(*args, **kwargs)

    @functools.cached_property
    def built(self) -> dict[Hashable, Any]:
        """Programs that were built from this model, see `trajopt.model.programs`."""
        return {}

    def parameter(
        self, name: str, value: Any, *, unit: str = "-", convert: Callable[[str, Any], Reals] | None = None
    ) -> SX:
        """Declares a run-time parameter; call it in `__init__`.

        Args:
            name: Name of the parameter, an identifier without dots.
            value: Initial value: a number, a vector or a matrix.
            unit: Unit of the value.
            convert: Function that converts and checks values, see `Parameter`.

        Returns:
            The symbol to use in expressions: scalar, column (n, 1) or matrix.
        """
        if not check_text("name", name, such_as="mass").isidentifier():
            raise InvalidArgumentError(f"name: expected an identifier such as 'mass', got {shown(name)}")
        if not under_construction(self):
            raise ImmutableError(f"parameter: expected a call in __init__, got {name!r} afterwards; declare it there")
        if name in self._parameters:
            raise DuplicateNameError(f"{type(self).__name__}: parameter {name!r} is declared twice; rename one")
        array = as_numbers(name, convert(name, value) if convert else value)
        if array.ndim > 2:
            raise InvalidArgumentError(f"{name}: expected a number, vector or matrix, got shape {array.shape}")
        if convert is None and not np.all(np.isfinite(array)):
            raise InvalidArgumentError(f"{name}: expected finite numbers, got {array}")
        symbol = SX.sym(name, *(array.shape if array.ndim else (1, 1)))
        self._parameters[name] = Parameter(name, symbol, array, unit, convert)
        return symbol

    def cure_of(self, name: str) -> str:
        if name not in self.parameters():
            return super().cure_of(name)
        full = self.example.format(name)
        return f"it is a run-time parameter; set it in the problem: problem.set_parameter({full!r}, value)"

    def attribute_hint(self, name: str) -> str:
        if name in self.set_by_base and "_parameters" in vars(self) and name not in vars(self):
            return f"the __init__ of {type(self).__name__} must call super().__init__({self.set_by_base[0]}, ...) first"
        return super().attribute_hint(name)

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
        """Text with the model and its arguments on one line, except those named in `without`."""
        without = check_texts("without", without)
        args, kwargs = self._arguments
        bound = inspect.signature(type(self).__init__).bind(self, *args, **kwargs)
        bound.apply_defaults()
        arguments = {n: v for n, v in list(bound.arguments.items())[1:] if not (_is_absent(v) or n in without)}
        return f"{type(self).__name__}({', '.join(f'{name}={_short(value)}' for name, value in arguments.items())})"


def _is_absent(value: Any) -> bool:
    return value is None or (isinstance(value, (tuple, dict)) and not value)


def _short(value: Any) -> str:
    """Text for a value on one line; long arrays are abbreviated."""
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=6, threshold=50, separator=", ").replace("\n", "")
    if inspect.isfunction(value):
        return value.__qualname__
    return " ".join(repr(value).split())


def _copied(value: Any) -> Any:
    """Copy of a value that a user may modify later: arrays, Pinocchio objects, lists and dictionaries of them."""
    if isinstance(value, dict):
        return {key: _copied(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(_copied(v) for v in value)
    if isinstance(value, (np.ndarray, pin.SE3, pin.Motion)):
        return value.copy()
    return value


def _rebuild(cls: type[Model], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Model:
    return cls(*args, **kwargs)
