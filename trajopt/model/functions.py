"""Conversion of users' Python functions to expressions, and of expressions to CasADi functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
from casadi import SX

from trajopt.errors import InvalidArgumentError
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array


def call_user(name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> SX:
    """Result of a user's function of symbols as one expression; lists are stacked to a column.

    Errors of the function, and of CasADi if the result is no expression, get a note that says what is expected.
    """
    try:
        value = function(*args, **kwargs)
        return SX(ca.vertcat(*value) if isinstance(value, (list, tuple)) else value)
    except Exception as error:
        error.add_note(
            f"in {name}, which is called with casadi.SX symbols: compute with them and numbers, by functions of casadi "
            "(casadi.sin, casadi.if_else in place of if), and return an SX or a list of them"
        )
        raise


def function_of(name: str, symbols: list[SX], results: list[SX]) -> ca.Function:
    """The results as a function of the symbols.

    Args:
        name: Name of the model, for the message.
        symbols: Vectors and matrices of symbols.
        results: Expressions.

    Raises:
        InvalidArgumentError: An expression uses a symbol that is neither x, u nor a declared parameter.
    """
    known = {s.element_hash() for symbol in symbols for s in ca.symvar(symbol)}
    strangers = sorted({str(s) for s in ca.symvar(ca.veccat(*results)) if s.element_hash() not in known})
    if strangers:
        raise InvalidArgumentError(
            f"{name}: the expression uses symbols that are neither x, u nor a parameter: {', '.join(strangers[:5])}; "
            "declare each with self.parameter(name, value)"
        )
    return ca.Function("f", symbols, results)


def named_call(
    program: Program, name: str, inputs: Sequence[tuple[SX, Array]], results: dict[str, SX]
) -> dict[str, Array]:
    """Adds the call of one expression with named results to a program.

    Args:
        program: The program.
        name: Name of the model, for the message; see `function_of`.
        inputs: Symbols, each with the array that it stands for.
        results: Expressions of the symbols by name; the arrays have the same structural zeros.

    Returns:
        The array of each result.
    """
    function = function_of(name, [symbol for symbol, _ in inputs], list(results.values()))
    return dict(zip(results, program.call(function, *(array for _, array in inputs))))
