"""Checks of arguments: each returns the value in its proper type, or raises an error that names the argument."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.errors import InvalidArgumentError
from trajopt.types import Reals


def check_positive(argument: str, value: Any, *, unit: str = "") -> float:
    """Returns `value` as a float; raises InvalidArgumentError unless it is finite and > 0."""
    return _check_number(argument, value, unit, strict=True)


def check_non_negative(argument: str, value: Any, *, unit: str = "") -> float:
    """Returns `value` as a float; raises InvalidArgumentError unless it is finite and >= 0."""
    return _check_number(argument, value, unit, strict=False)


def check_finite(argument: str, value: Any) -> float:
    """Returns `value` as a float; raises InvalidArgumentError unless it is a finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"{argument}: expected a number, got {value!r}") from error
    if not np.isfinite(number):
        raise InvalidArgumentError(f"{argument}: expected a finite number, got {number}")
    return number


def check_array(argument: str, value: Any, shape: tuple[int, ...], *, cure: str = "") -> Reals:
    """Returns `value` as a new finite float array of `shape`; raises InvalidArgumentError if it is not one."""
    tail = f"; {cure}" if cure else ""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"{argument}: expected numbers of shape {shape}, got {value!r}{tail}") from error
    if array.shape != shape:
        raise InvalidArgumentError(f"{argument}: expected shape {shape}, got {array.shape}{tail}")
    if not np.all(np.isfinite(array)):
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InvalidArgumentError(f"{argument}: expected finite numbers, got {array[where]} at index {where}{tail}")
    return array


def check_count(argument: str, value: Any, *, least: int = 0) -> int:
    """Returns `value` as an int; raises InvalidArgumentError unless it is an integer >= `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InvalidArgumentError(f"{argument}: expected an integer >= {least}, got {value!r}")
    return int(value)


def check_bounds(argument: str, value: Any, size: int) -> Reals:
    """Returns `value` as a new array of bounds (size,), ±inf allowed; raises InvalidArgumentError if it is not one."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"{argument}: expected {size} numbers, got {value!r}") from error
    if array.shape != (size,) or np.any(np.isnan(array)):
        got = f"shape {array.shape}" if array.shape != (size,) else f"{array}"
        raise InvalidArgumentError(f"{argument}: expected {size} bounds, ±inf where there is none, got {got}")
    return array


def _check_number(argument: str, value: Any, unit: str, *, strict: bool) -> float:
    expected = ("> 0" if strict else ">= 0") + (f" [{unit}]" if unit else "")
    number = check_finite(argument, value)
    if number < 0 or (strict and number == 0):
        raise InvalidArgumentError(f"{argument}: expected a number {expected}, got {number}")
    return number
