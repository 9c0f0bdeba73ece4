"""Activation from a function of the user."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from casadi import SX

from trajopt.activations.base import ActivationModelAbstract
from trajopt.checks import check_mapping
from trajopt.errors import InvalidArgumentError
from trajopt.model.functions import call_user


class ActivationModelSymbolic(ActivationModelAbstract):
    """Activation a(r) = f(r, p...) written with CasADi; gradient and Hessian are exact.

        ActivationModelSymbolic(lambda r, width: ca.sum1(ca.log(ca.cosh(r / width))), parameters={"width": 0.1})

    Args:
        function: Function of the residual r (nr,), and of the parameters by their names; it returns a scalar.
        parameters: Initial value of each run-time parameter by name.

    Raises:
        InvalidArgumentError: The function has wrong arguments or a wrong result, or uses other symbols.
    """

    def __init__(self, function: Callable[..., SX], *, parameters: Mapping[str, Any] | None = None) -> None:
        defaults = {} if parameters is None else check_mapping("parameters", parameters, "write {name: value}")
        self._function = function
        self._symbols = {name: self.parameter(name, value) for name, value in defaults.items()}

    def value(self, r: SX) -> SX:
        result = call_user("function", self._function, r, **self._symbols)
        if result.shape != (1, 1):
            raise InvalidArgumentError(f"function: expected a scalar, got shape {result.shape}; sum it: ca.sum1(...)")
        return result
