"""Conversion of users' Python functions to expressions, and of expressions to CasADi functions."""

from __future__ import annotations

import inspect
import traceback
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.errors import InvalidArgumentError, TrajoptError, pass_on_signal, shown
from trajopt.objects.calls import wrong_call


def is_of_user(model: object) -> bool:
    """Whether the class of a model is a user's and none of the library."""
    return type(model).__module__.split(".")[0] != "trajopt"


def call_user(name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> SX:
    """Calls a user's function with symbols and returns its result as one expression; lists are stacked to a column.

    Raises:
        InvalidArgumentError: The function raised, or its result is not an expression of symbols; the message names it.
    """
    if not callable(function):
        raise InvalidArgumentError(f"{name}: expected a function, got {shown(function)}")
    try:
        with warnings.catch_warnings():  # CasADi's about np.sin(x) of a symbol, which works
            warnings.simplefilter("ignore", FutureWarning)
            value = function(*args, **kwargs)
    except Exception as error:
        if isinstance(error, TrajoptError) and not isinstance(error, AttributeError):
            raise
        pass_on_signal(error)
        raise InvalidArgumentError(f"{name}: {_happened(error, function, args, kwargs)}") from error
    return _as_expression(name, value)


def _as_expression(name: str, value: Any) -> SX:
    """Converts the result of a user's function to an expression."""
    if isinstance(value, ca.MX) or (isinstance(value, (list, tuple)) and any(isinstance(v, ca.MX) for v in value)):
        raise InvalidArgumentError(
            f"{name}: expected an expression of casadi.SX, got one of casadi.MX; compute with the arguments, all SX"
        )
    try:
        expression = SX(ca.vertcat(*value) if isinstance(value, (list, tuple)) else value)
    except Exception as error:
        pass_on_signal(error)
        cure = "end it with return" if value is None else "casadi.vertcat(a, b) combines several"
        raise InvalidArgumentError(
            f"{name}: expected an expression (casadi.SX), or a list of them, got {shown(value)}; {cure}"
        ) from error
    if _contains_nan(expression):
        raise InvalidArgumentError(
            f"{name}: expected an expression without NaN, got one that contains NaN, as math.sin(symbol) or "
            "float(symbol) produce; use functions of casadi, such as casadi.sin"
        )
    return expression


def _contains_nan(expression: SX) -> bool:
    """True if a constant in an expression is NaN; an expression that is NaN for some values only does not count."""
    symbols = ca.symvar(expression)
    function = ca.Function("f", symbols, [expression])
    if np.all(np.isfinite(function.call([0.7] * len(symbols))[0].full())):
        return False
    steps = range(function.n_instructions())
    return any(function.instruction_id(i) == ca.OP_CONST and np.isnan(function.instruction_constant(i)) for i in steps)


def _happened(error: Exception, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Text about an error inside a user's function, with the line that raised it and advice."""
    text = " ".join(str(error).split())
    where = _line(error)
    if wrong_call(function, args, kwargs) is not None:
        count = len(args) + len(kwargs)
        return f"expected a function of {count} arguments, got one that takes {inspect.signature(function)}"
    if "truth value" in text:
        return (
            f"an if, while, and, min or max needs the truth value of an expression of symbols{where}, which is unknown "
            "before the solve; write casadi.if_else(condition, a, b), casadi.fmin(a, b) or casadi.fmax(a, b)"
        )
    if isinstance(error, IndexError) or "out of bounds" in text or "Out of bounds" in text:
        named = _named(function, args, kwargs).items()
        sizes = ", ".join(f"{name} has {v.numel()} element{'s' * (v.numel() != 1)}" for name, v in named)
        return f"an index is out of range{where}: {sizes}"
    return (
        f"it raised {type(error).__name__}: {text}{where}; its arguments, or x and u of an instant, are casadi.SX "
        "symbols: compute with them and numbers by functions of casadi (casadi.sin), and return an SX or a list of them"
    )


def _named(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, SX]:
    """Arguments of a call that are symbols, by the function's own argument names; of an instant x and u."""
    bound = inspect.signature(function).bind(*args, **kwargs).arguments
    parts = {name: getattr(value, name, None) for value in bound.values() for name in ("x", "u")}
    return {name: value for name, value in (parts | bound).items() if isinstance(value, SX)}


def _line(error: Exception) -> str:
    """Text in brackets with the last line of the user's code that the error passed through."""
    inside = (str(Path(ca.__file__).parent), str(Path(np.__file__).parent), str(Path(__file__).parents[1]))
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(inside)]
    if not frames:
        return ""
    last = frames[-1]
    return f" ({Path(last.filename).name}, line {last.lineno}: {(last.line or '')[:80]})"


def function_of(
    name: str, symbols: list[SX], results: list[SX], cure: str = "declare each with self.parameter(name, value)"
) -> ca.Function:
    """Returns a CasADi function from symbols to results.

    Args:
        name: Name of the model, for the message.
        symbols: Vectors and matrices of symbols.
        results: Expressions.
        cure: Advice about other symbols, for the message.

    Raises:
        InvalidArgumentError: An expression uses a symbol that is neither x, u nor a declared parameter.
    """
    function = ca.Function("f", symbols, results, {"allow_free": True})
    if function.has_free():
        strangers = sorted(set(function.get_free()))
        raise InvalidArgumentError(
            f"{name}: expected only x, u and parameters in the expression, got the symbols {', '.join(strangers[:5])}; "
            f"{cure}"
        )
    return function
