"""Arithmetic of the simulator's twin: doubles, or 60 digits in numpy arrays of mpmath numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt

DIGITS = 60
EXACT = mpmath.MPContext()  # a context of its own: nobody else's precision changes
EXACT.dps = DIGITS
HALF_DIGITS = EXACT.mpf(10) ** (-DIGITS // 3)
"""Step of central differences: truncation and rounding both leave 40 digits."""

Numbers = npt.NDArray[Any]
"""An array of doubles, or of objects that are numbers of `EXACT`."""


def exact(values: npt.ArrayLike) -> Numbers:
    """The same numbers with 60 digits."""
    array = np.asarray(values)
    result = np.empty(array.shape, dtype=object)
    for index in np.ndindex(array.shape):
        value = array[index]
        result[index] = value if isinstance(value, EXACT.mpf) else EXACT.mpf(float(value))
    return result


def doubles(values: Numbers) -> npt.NDArray[np.float64]:
    """Rounded to doubles."""
    return np.asarray(values).astype(np.float64)


def is_exact(values: Numbers) -> bool:
    """Whether an array holds numbers of 60 digits."""
    return np.asarray(values).dtype == object


def like(values: npt.ArrayLike, other: Numbers) -> Numbers:
    """Numbers of the same kind as those of `other`."""
    return exact(values) if is_exact(other) else np.asarray(values, dtype=np.float64)


def _elementary(name: str) -> Callable[[Any], Any]:
    ours, theirs = getattr(EXACT, name), getattr(math, name)
    return lambda x: ours(x) if isinstance(x, EXACT.mpf) else theirs(x)


sin, cos, sqrt, atan2 = _elementary("sin"), _elementary("cos"), _elementary("sqrt"), EXACT.atan2


def scalar(value: Any, other: Numbers) -> Numbers:
    """A number of the kind of `other`, as an array () since mpmath's numbers are slow on the left of arrays."""
    return like(value, other)


def turn(part: int, parts: int, other: Numbers) -> Any:
    """The angle 2π part / parts in the numbers of `other`."""
    return 2 * EXACT.pi * part / parts if is_exact(other) else 2 * math.pi * part / parts


def solve(a: Numbers, b: Numbers) -> Numbers:
    """The solution of a x = b, by elimination with pivots where the numbers have 60 digits."""
    if not is_exact(a) and not is_exact(b):
        return np.linalg.solve(a, b)
    rows = np.concatenate([exact(a), exact(b).reshape(len(b), -1)], axis=1)
    n = len(rows)
    for i in range(n):
        pivot = i + int(np.argmax([abs(x) for x in rows[i:, i]]))
        rows[[i, pivot]] = rows[[pivot, i]]
        rows[i, i:] = rows[i, i:] / rows[i, i]
        for k in range(i + 1, n):
            if rows[k, i] != 0:
                rows[k, i + 1 :] = rows[k, i + 1 :] - rows[i, i + 1 :] * rows[k, i]
    for i in range(n - 2, -1, -1):
        rows[i, n:] = rows[i, n:] - rows[i, i + 1 : n] @ rows[i + 1 :, n:]
    return rows[:, n:].reshape(b.shape)


def cross(a: Numbers, b: Numbers) -> Numbers:
    """The vector product of two vectors (3,)."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def skew(a: Numbers) -> Numbers:
    """The matrix (3, 3) of a × (.)."""
    zero = 0 * a[0]
    return np.array([[zero, -a[2], a[1]], [a[2], zero, -a[0]], [-a[1], a[0], zero]])
