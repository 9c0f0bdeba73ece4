"""Formulas of SX expressions that CasADi evaluates as a whole, which is several times as fast as step by step.

For each call such as `ca.mtimes(a, b)` CasADi first looks for numbers, arrays and MX in the arguments, which takes some
25 µs. A formula is written down once as a CasADi function for each pattern of structural zeros of its arguments; a call
of this function looks once, and applies the same operations, with the same simplifications, in the same order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import casadi as ca
from casadi import SX

F = TypeVar("F", bound=Callable[..., SX | tuple[SX, ...]])

_identity = ca.GenSharedObject.__hash__  # CasADi keeps each pattern of zeros once, as long as it is in use


def formula(compute: F) -> F:
    """Decorator of a function that computes one or more expressions from expressions by CasADi's operations alone.

    The function may depend on the structural zeros of its arguments, not on whether they are constant or equal.
    """
    functions: dict[tuple[int, ...], tuple[ca.Function, bool, list[ca.Sparsity]]] = {}

    def written(patterns: list[ca.Sparsity]) -> tuple[ca.Function, bool, list[ca.Sparsity]]:
        symbols = [SX.sym("a", pattern) for pattern in patterns]
        results = compute(*symbols)
        listed = [results] if isinstance(results, SX) else list(results)
        function = ca.Function("formula", symbols, listed)
        return function, isinstance(results, SX), patterns  # keeps the patterns in use

    @functools.wraps(compute)
    def call(*arguments: SX) -> Any:
        patterns = [argument.sparsity() for argument in arguments]
        key = tuple(map(_identity, patterns))
        if key not in functions:
            functions[key] = written(patterns)
        function, single, _ = functions[key]
        results = function.call(arguments)
        return results[0] if single else tuple(results)

    return cast(F, call)
