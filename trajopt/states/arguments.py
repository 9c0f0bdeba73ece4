"""Checks of the arguments that describe a state: names, units and bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trajopt.checks import as_numbers, check_shape, check_texts, shape_of
from trajopt.errors import InvalidArgumentError
from trajopt.types import Reals


def check_names(
    argument: str, value: Sequence[str] | None, default: Sequence[str], *, each: str = "coordinate"
) -> tuple[str, ...]:
    """Returns the names or units as a tuple as long as `default`; returns `default` if `value` is None."""
    if value is None:
        return tuple(default)
    texts = check_texts(argument, value)
    if len(texts) != len(default):
        raise InvalidArgumentError(f"{argument}: expected {len(default)}, one per {each}, got {len(texts)}")
    return texts


def check_coordinates(argument: str, value: Any, nx: int) -> Reals:
    """Returns one state (nx,) or several (..., nx) as an array; values may be infinite or NaN."""
    if shape_of(value)[-1:] != (nx,):
        raise InvalidArgumentError(f"{argument}: expected shape ({nx},) or (n, {nx}), got {shape_of(value)}")
    return as_numbers(argument, value)


def check_tangent_bounds(lower: Any, upper: Any, names: Sequence[str]) -> tuple[Reals, Reals]:
    """Returns bounds of the named tangent coordinates as read-only arrays; None means no bounds."""
    size = len(names)
    low = _check_bound("lower", np.full(size, -np.inf) if lower is None else lower, size)
    high = _check_bound("upper", np.full(size, np.inf) if upper is None else upper, size)
    crossed = np.flatnonzero(low > high)
    if crossed.size:
        i = int(crossed[0])
        raise InvalidArgumentError(
            f"lower: expected lower <= upper, got {low[i]} > {high[i]} for {names[i]!r} (index {i}); swap the two"
        )
    return low, high


def _check_bound(argument: str, value: Any, size: int) -> Reals:
    array = check_shape(argument, value, (size,), cure="bounds are in the tangent space; write ±inf for no bound")
    if np.isnan(array).any():
        raise InvalidArgumentError(f"{argument}: expected numbers or ±inf, got nan; use ±inf where there is no bound")
    array.flags.writeable = False
    return array
