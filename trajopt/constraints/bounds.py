"""Bounds of constraint rows, as users give them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from trajopt.checks import as_numbers
from trajopt.errors import InvalidArgumentError
from trajopt.types import Reals


def check_bound(argument: str, value: Any, size: int, lower: bool) -> Reals:
    """Bounds (size,) from a number or one a row.

    Args:
        argument: What they are called.
        value: The bounds.
        size: Number of rows [-].
        lower: Whether they are lower bounds.

    Raises:
        InvalidArgumentError: There are others than numbers, NaN, or a bound that nothing can keep.
    """
    array = rows_of(argument, value, size)
    none, impossible = ("-inf", np.inf) if lower else ("inf", -np.inf)
    if np.any(np.isnan(array)) or np.any(array == impossible):
        raise InvalidArgumentError(f"{argument}: expected numbers, {none} where there is no bound, got {array}")
    return np.broadcast_to(array, (size,)).copy()


def first_bounds(lower: Any, upper: Any, equals: Any) -> tuple[Reals, Reals]:
    """Lower and upper bounds as they are given: one of all rows, () each, or one a row.

    Args:
        lower: Lower bounds, or None.
        upper: Upper bounds, or None.
        equals: Both at once, or None.

    Raises:
        InvalidArgumentError: There are none, too many, or they cross.
    """
    if equals is not None:
        if lower is not None or upper is not None:
            raise InvalidArgumentError("equals: expected either equals, or lower and upper, got both")
        value = as_given("equals", equals, partial(check_bound, lower=True))
        if not np.all(np.isfinite(value)):
            raise InvalidArgumentError(f"equals: expected finite numbers, got {value}")
        return value, value
    if lower is None and upper is None:
        raise InvalidArgumentError("lower: expected lower, upper or equals, got none; ±inf switches a row off for now")
    low = as_given("lower", -np.inf if lower is None else lower, partial(check_bound, lower=True))
    high = as_given("upper", np.inf if upper is None else upper, partial(check_bound, lower=False))
    if low.shape and high.shape and low.shape != high.shape:
        raise InvalidArgumentError(f"upper: expected as many as lower, {low.size}, got {high.size}")
    if np.any(low > high):
        raise InvalidArgumentError(f"lower: expected lower <= upper, got {low} and {high}; exchange the two")
    return low, high


def rows_of(argument: str, value: Any, size: int) -> Reals:
    """A number () or one a row (size,), as an array."""
    fitting = "a number" if size == 1 else f"a number or {size} numbers"
    array = as_numbers(argument, value, fitting)
    if array.shape not in ((), (size,)):
        raise InvalidArgumentError(f"{argument}: expected {fitting}, got shape {array.shape}")
    return array


def as_given(argument: str, value: Any, check: Callable[[str, Any, int], Reals]) -> Reals:
    """A number () or one a row of which the number is not known yet, checked."""
    shape = as_numbers(argument, value, "a number or one a row").shape
    if len(shape) > 1:
        raise InvalidArgumentError(f"{argument}: expected a number or one a row, got shape {shape}")
    return check(argument, value, int(np.prod(shape))).reshape(shape)
