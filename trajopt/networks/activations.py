"""Activation functions of networks, element by element, for symbols and numbers of CasADi.

Each is written such that neither the value nor the derivative overflows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import casadi as ca

Function = Callable[[Any], Any]

_LINEAR = 36.0  # log(1 + exp(x)) rounds to x beyond


def _identity(x: Any) -> Any:
    return x


def _relu(x: Any) -> Any:
    return ca.fmax(x, 0.0)


def _sigmoid(x: Any) -> Any:
    return 0.5 + 0.5 * ca.tanh(0.5 * x)


def _softplus(x: Any) -> Any:
    return ca.if_else(x > _LINEAR, x, ca.log1p(ca.exp(ca.fmin(x, _LINEAR))))


def _elu(x: Any) -> Any:
    return ca.if_else(x > 0, x, ca.expm1(ca.fmin(x, 0.0)))


def _gelu(x: Any) -> Any:
    return 0.5 * x * (1.0 + ca.erf(x / math.sqrt(2.0)))


def _silu(x: Any) -> Any:
    return x * _sigmoid(x)


ACTIVATIONS: Mapping[str, Function] = {
    "identity": _identity,
    "tanh": ca.tanh,
    "relu": _relu,
    "sigmoid": _sigmoid,
    "logistic": _sigmoid,
    "softplus": _softplus,
    "elu": _elu,
    "gelu": _gelu,
    "silu": _silu,
}
"""Activations by name: max(x, 0), 1 / (1 + exp(-x)), log(1 + exp(x)), x or exp(x) - 1, x Φ(x), x / (1 + exp(-x))."""
