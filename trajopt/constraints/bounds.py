"""Checks of the bounds of constraint rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from trajopt.checks import as_numbers
from trajopt.errors import InvalidArgumentError
from trajopt.types import Reals


def check_bound(argument: str, value: Any, size: int, lower: bool) -> Reals:
    """Bounds (size,) from one number for all rows, or one number for each row.

    Args:
        argument: Name of the argument, for messages.
        value: The bounds.
        size: Number of rows [-].
        lower: Whether the bounds are lower ones.

    Raises:
        InvalidArgumentError: A value is not a number, is NaN, or is a bound that no number satisfies.
    """
    array = rows_of(argument, value, size)
    none, impossible = ("-inf", np.inf) if lower else ("inf", -np.inf)
    if np.any(np.isnan(array)) or np.any(array == impossible):
        raise InvalidArgumentError(f"{argument}: expected numbers, or {none} for no bound, got {array}")
    return np.broadcast_to(array, (size,)).copy()


def first_bounds(lower: Any, upper: Any, equals: Any) -> tuple[Reals, Reals]:
    """Initial lower and upper bounds, of shape () for all rows or (n,) for each row.

    Args:
        lower: Lower bounds, or None.
        upper: Upper bounds, or None.
        equals: Value of both bounds, or None.

    Raises:
        InvalidArgumentError: No bounds are set, `equals` comes with another bound, or a lower bound exceeds the upper.
    """
    if equals is not None:
        if lower is not None or upper is not None:
            raise InvalidArgumentError("equals: expected equals alone, or lower and upper, got both; remove one")
        value = as_given("equals", equals, partial(check_bound, lower=True))
        if not np.all(np.isfinite(value)):
            raise InvalidArgumentError(f"equals: expected finite numbers, got {value}")
        return value, value
    if lower is None and upper is None:
        raise InvalidArgumentError(
            "lower: expected lower, upper or equals, got none; to disable a row for now, use ±inf"
        )
    low = as_given("lower", -np.inf if lower is None else lower, partial(check_bound, lower=True))
    high = as_given("upper", np.inf if upper is None else upper, partial(check_bound, lower=False))
    if low.shape and high.shape and low.shape != high.shape:
        raise InvalidArgumentError(f"upper: expected {low.size} numbers as in lower, got {high.size}")
    if np.any(low > high):
        raise InvalidArgumentError(f"lower: expected lower <= upper, got lower={low} and upper={high}; swap the two")
    return low, high


def rows_of(argument: str, value: Any, size: int) -> Reals:
    """Number (), or one for each row (size,), as an array."""
    fitting = "a number" if size == 1 else f"a number or {size} numbers"
    array = as_numbers(argument, value, fitting)
    if array.shape not in ((), (size,)):
        raise InvalidArgumentError(f"{argument}: expected {fitting}, got shape {array.shape}")
    return array


def as_given(argument: str, value: Any, check: Callable[[str, Any, int], Reals]) -> Reals:
    """Checked number (), or one for each row where the number of rows is not known yet."""
    shape = as_numbers(argument, value, "one number, or one for each row").shape
    if len(shape) > 1:
        raise InvalidArgumentError(f"{argument}: expected one number, or one for each row, got shape {shape}")
    return check(argument, value, int(np.prod(shape))).reshape(shape)
