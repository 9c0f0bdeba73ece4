"""Errors for misuse, and the checks at the door that raise them.

Every message names the argument, what was expected, what came and the cure.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt


class TrajoptError(Exception):
    """Base of every error that trajopt raises on purpose."""


class InvalidArgumentError(TrajoptError, ValueError):
    """An argument has the wrong size, type or value."""


class UnknownNameError(TrajoptError, KeyError):
    """A name was not found; the message lists the names that are."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class DuplicateNameError(TrajoptError, ValueError):
    """A name is used twice."""


class MissingDependencyError(TrajoptError, ImportError):
    """An optional package is needed and not installed; the message says how to install it."""


class UnsupportedOperationError(TrajoptError, NotImplementedError):
    """An expression or a model asks for something that cannot be compiled."""


class ModelEvaluationError(TrajoptError, RuntimeError):
    """A model raised, or returned a value that is not finite; the message names the knot."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> UnknownNameError:
    """Error for a name that is not found: close matches first, then all that are."""
    names = sorted(str(k) for k in known)
    close = difflib.get_close_matches(str(name), names, n=3)
    hint = f"; did you mean {' or '.join(repr(c) for c in close)}?" if close else "."
    listed = ", ".join(names[:60]) + (", ..." if len(names) > 60 else "")
    return UnknownNameError(f"{kind} {name!r} not found{hint} Known: {listed or 'none'}.")


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


def check_array(argument: str, value: Any, shape: tuple[int, ...], *, cure: str = "") -> npt.NDArray[np.float64]:
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


def check_count(argument: str, value: Any) -> int:
    """Returns `value` as an int; raises InvalidArgumentError unless it is an integer >= 0."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
        raise InvalidArgumentError(f"{argument}: expected an integer >= 0, got {value!r}")
    return int(value)


def check_bounds(argument: str, value: Any, size: int) -> npt.NDArray[np.float64]:
    """Returns `value` as a new array of bounds (size,), perhaps infinite; raises InvalidArgumentError if it is not."""
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
