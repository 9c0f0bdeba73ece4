"""Checks of arguments. Each returns the value in its proper type, or raises an error that names the argument.

Every number that a user passes goes through `as_numbers`, which rejects strings, dates, and complex, masked or
structured arrays. CasADi only ever receives float64 arrays (its SX of a long double crashes the interpreter).
"""

from __future__ import annotations

import ipaddress
import math
import numbers
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from trajopt.errors import InvalidArgumentError, shown, unknown_name
from trajopt.types import Reals

T = TypeVar("T")
Cure = str | Callable[[], str]
"""Advice that ends a message, or a function that returns it, for words that take time."""

MANY = 1_000_000
"""Largest count that is accepted unless an argument has a limit of its own; more would exhaust the memory [-]."""

_KINDS = {
    "M": "dates",
    "m": "time differences",
    "c": "complex numbers",
    "V": "a structured array",
}


def as_numbers(argument: str, value: Any, expected: str = "numbers", *, cure: Cure = "") -> Reals:
    """Returns `value` as a new float array; NaN and ±inf are allowed.

    Args:
        argument: Name of the argument, for the message.
        value: Real numbers in any nesting; a single number gives an array of shape ().
        expected: Description of a valid value, for the message.
        cure: Advice that ends the message.

    Raises:
        InvalidArgumentError: An element is not a real number, or rows have different lengths.
    """
    got = ""
    if "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray):  # importing it takes 15 ms
        got = "a masked array"
    elif not isinstance(value, (str, bytes)):
        try:
            array = np.asarray(value)
            if array.dtype.kind in "biuf" or (array.dtype.kind == "O" and _all_real(array)):
                with np.errstate(over="ignore"):  # too large a long double becomes inf
                    return np.array(array, dtype=np.float64)
            got = _KINDS.get(array.dtype.kind, "")
        except (TypeError, ValueError, OverflowError, RuntimeError, NotImplementedError):
            pass  # the value is not an array
    raise InvalidArgumentError(f"{argument}: expected {expected}, got {got or shown(value)}{_tail(cure)}")


def unwrapped(value: Any) -> Any:
    """Array of an object that np.asarray reads, such as a tensor, table or memoryview; anything else as it is."""
    if isinstance(value, np.ndarray) or not (hasattr(value, "__array__") or isinstance(value, memoryview)):
        return value
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError, NotImplementedError):
        return value  # such as a tensor on a GPU; what checks its rows says so


def shape_of(value: Any) -> tuple[int, ...]:
    """Shape of an array or of nested lists; () for a scalar and for rows of different lengths."""
    try:
        return tuple(value.shape) if hasattr(value, "shape") else np.shape(value)
    except (TypeError, ValueError, RuntimeError, NotImplementedError):
        return ()


def _all_real(array: Any) -> bool:
    return all(isinstance(v, numbers.Real) and not isinstance(v, np.timedelta64) for v in array.ravel())


def check_positive(argument: str, value: Any, *, unit: str = "") -> float:
    """Returns `value` as a float; raises InvalidArgumentError unless it is finite and > 0."""
    return _check_number(argument, value, unit, strict=True)


def check_non_negative(argument: str, value: Any, *, unit: str = "") -> float:
    """Returns `value` as a float; raises InvalidArgumentError unless it is finite and >= 0."""
    return _check_number(argument, value, unit, strict=False)


def check_finite(argument: str, value: Any) -> float:
    """Returns `value` as a float; raises InvalidArgumentError unless it is a finite number."""
    number = check_number(argument, value)
    if not np.isfinite(number):
        raise InvalidArgumentError(f"{argument}: expected a finite number, got {number}")
    return number


def check_number(argument: str, value: Any) -> float:
    """Returns `value` as a float, which may be NaN or ±inf; raises InvalidArgumentError unless it is one number."""
    array = as_numbers(argument, value, "a number")
    if array.ndim:
        raise InvalidArgumentError(f"{argument}: expected a number, got an array of shape {array.shape}")
    return float(array)


def check_array(argument: str, value: Any, shape: tuple[int, ...], *, cure: Cure = "") -> Reals:
    """Returns `value` as a new finite float array of `shape`; raises InvalidArgumentError if it is not one."""
    array = check_shape(argument, value, shape, cure=cure)
    if not all_finite(array):
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InvalidArgumentError(
            f"{argument}: expected finite numbers, got {array[where]} at index {where}{_tail(cure)}"
        )
    return array


def all_finite(values: Reals) -> bool:
    """True if all numbers are finite."""
    square = float(np.vdot(values, values))  # takes a third of the time, but may overflow
    return math.isfinite(square) or bool(np.isfinite(values).all())


def check_vector(argument: str, value: Any) -> Reals:
    """Returns `value` as a new finite float array (n,); raises InvalidArgumentError if it is not one."""
    array = as_numbers(argument, value, "a vector of numbers")
    if array.ndim != 1:
        raise InvalidArgumentError(f"{argument}: expected a vector, got shape {array.shape}")
    return check_array(argument, array, array.shape)


def check_shape(argument: str, value: Any, shape: tuple[int, ...], *, cure: Cure = "") -> Reals:
    """Returns `value` as a new float array of `shape`, NaN and ±inf allowed; raises InvalidArgumentError otherwise."""
    array = as_numbers(argument, value, f"numbers of shape {shape}", cure=cure)
    if array.shape != shape:
        raise InvalidArgumentError(f"{argument}: expected shape {shape}, got {array.shape}{_tail(cure)}")
    return array


def check_count(argument: str, value: Any, *, least: int = 0, most: int = MANY) -> int:
    """Returns `value` as an int; raises InvalidArgumentError unless it is an integer from `least` to `most`."""
    if not is_integer(value) or value < least:
        raise InvalidArgumentError(f"{argument}: expected an integer >= {least}, got {shown(value)}")
    if value > most:
        raise InvalidArgumentError(f"{argument}: expected an integer <= {most}, got {shown(value)}")
    return int(value)


def is_integer(value: Any) -> bool:
    """True for an integer of Python or numpy; False for booleans and time differences."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64))


def check_bounds(argument: str, value: Any, size: int) -> Reals:
    """Returns `value` as a new array of bounds (size,), ±inf allowed; otherwise raises InvalidArgumentError."""
    array = as_numbers(argument, value, f"{size} numbers")
    if array.shape != (size,) or np.any(np.isnan(array)):
        got = f"shape {array.shape}" if array.shape != (size,) else f"{array}"
        count = f"{size} bound{'s' * (size != 1)}"
        raise InvalidArgumentError(f"{argument}: expected {count}, with ±inf for no bound, got {got}")
    return array


def check_limits(lower: Any, upper: Any, size: int) -> tuple[Reals, Reals]:
    """Returns lower and upper limits as new arrays (size,). None gives -inf or inf.

    Raises:
        InvalidArgumentError: An array has a wrong size or holds NaN, or a lower limit exceeds the upper one.
    """
    low = np.full(size, -np.inf) if lower is None else check_bounds("lower", lower, size)
    high = np.full(size, np.inf) if upper is None else check_bounds("upper", upper, size)
    for i in np.flatnonzero(low > high)[:1]:
        raise InvalidArgumentError(f"lower: expected lower <= upper, got {low[i]:g} and {high[i]:g} of control {i}")
    return low, high


def check_flag(argument: str, value: Any) -> bool:
    """Returns `value` as a bool; raises InvalidArgumentError unless it is True or False, or 1 or 0."""
    if isinstance(value, (bool, np.bool_)) or (is_integer(value) and value in (0, 1)):
        return bool(value)
    raise InvalidArgumentError(f"{argument}: expected True or False, got {shown(value)}")


def check_text(argument: str, value: Any, *, such_as: str = "") -> str:
    """Returns `value`; raises InvalidArgumentError unless it is a string."""
    if not isinstance(value, str):
        example = f" such as {such_as!r}" if such_as else ""
        raise InvalidArgumentError(f"{argument}: expected a string{example}, got {shown(value)}")
    return value


def check_texts(argument: str, value: Any, *, values: str = "") -> tuple[str, ...]:
    """Returns `value` as a tuple of strings; raises InvalidArgumentError if an item is not a string.

    `values` says where the values of a mapping belong, which is then refused, as they would get lost.
    """
    if values and isinstance(value, Mapping):
        raise InvalidArgumentError(
            f"{argument}: expected a list of names, got {shown(value)}; its values belong in {values}"
        )
    texts = check_items(argument, value, "names")
    if not all(isinstance(text, str) for text in texts):
        raise InvalidArgumentError(f"{argument}: expected a list of names, got {shown(value)}")
    return texts


def check_items(argument: str, value: Any, what: str, *, cure: str = "") -> tuple[Any, ...]:
    """Returns the items of a list or another iterable; raises InvalidArgumentError for a string or a non-iterable."""
    try:
        if not isinstance(value, (str, bytes)):
            return tuple(value)
        cure = cure or f"write [{shown(value)}]"
    except TypeError:
        pass
    raise InvalidArgumentError(f"{argument}: expected a list of {what}, got {shown(value)}{_tail(cure)}")


def check_known(kind: str, name: Any, choices: Iterable[str]) -> str:
    """Returns `name`; raises UnknownNameError, which lists close matches and all names, if it is not in `choices`."""
    if not isinstance(name, str) or name not in choices:
        raise unknown_name(kind, name, choices)
    return name


def check_path(argument: str, value: Any) -> Path:
    """Returns `value` as a Path; raises InvalidArgumentError unless it is a string or a path."""
    if not isinstance(value, (str, os.PathLike)) or "\0" in str(value):
        raise InvalidArgumentError(f"{argument}: expected a path, got {shown(value)}")
    return Path(value)


def check_mapping(argument: str, value: Any, cure: str = "") -> Mapping[Any, Any]:
    """Returns `value`; raises InvalidArgumentError unless it is a dictionary or another mapping."""
    if not isinstance(value, Mapping):
        raise InvalidArgumentError(f"{argument}: expected a dictionary, got {shown(value)}{_tail(cure)}")
    return value


def check_instance(argument: str, value: Any, kind: type[T], cure: str = "") -> T:
    """Returns `value`; raises InvalidArgumentError unless it is an instance of `kind`.

    Args:
        argument: Name of the argument, for the message.
        value: The value.
        kind: The expected class.
        cure: Advice that ends the message, such as how to construct an instance.
    """
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIO" else "a"
        raise InvalidArgumentError(f"{argument}: expected {article} {kind.__name__}, got {shown(value)}{_tail(cure)}")
    return value


def _check_number(argument: str, value: Any, unit: str, *, strict: bool) -> float:
    expected = ("> 0" if strict else ">= 0") + (f" [{unit}]" if unit else "")
    number = check_finite(argument, value)
    if number < 0 or (strict and number == 0):
        raise InvalidArgumentError(f"{argument}: expected a number {expected}, got {number}")
    return number


def _tail(cure: Cure) -> str:
    """End of a message that says what to do; empty without advice."""
    words = cure() if callable(cure) else cure
    return f"; {words}" if words else ""


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, given as an IP address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:  # a name, or *
        return False
