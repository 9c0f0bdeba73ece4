"""Arithmetic of the simulator's twin: doubles, or 60 digits in numpy arrays of gmpy2's numbers.

Operators of gmpy2 round to the precision of its context: what computes with exact numbers does so `in_60_digits`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gmpy2
import numpy as np
import numpy.typing as npt
from gmpy2 import mpfr

DIGITS = 60
BITS = 202


@contextmanager
def in_60_digits() -> Iterator[None]:
    """A context, or a decorator of functions, in which operators round exact numbers to 60 digits."""
    with gmpy2.context(precision=BITS):
        yield


@in_60_digits()
def power_of_ten(exponent: int) -> Any:
    """10^exponent with 60 digits."""
    return mpfr(10) ** exponent


HALF_DIGITS = power_of_ten(-DIGITS // 3)
"""Step of central differences: truncation and rounding both leave 40 digits."""

Numbers = npt.NDArray[Any]
"""An array of doubles, or of objects that are numbers of 60 digits."""


def exact(values: npt.ArrayLike) -> Numbers:
    """The same numbers with 60 digits."""
    array = np.asarray(values)
    result = np.empty(array.shape, dtype=object)
    result.ravel()[:] = [v if isinstance(v, mpfr) else mpfr(v) for v in array.ravel().tolist()]
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


def _elementary(name: str) -> Callable[..., Any]:
    ours, theirs = getattr(gmpy2, name), getattr(math, name)
    return lambda *x: ours(*x) if isinstance(x[0], mpfr) else theirs(*x)


sin, cos, sqrt, atan2 = map(_elementary, ("sin", "cos", "sqrt", "atan2"))


def scalar(value: Any, other: Numbers) -> Numbers:
    """A number of the kind of `other`, as an array () which multiplies arrays from either side."""
    return like(value, other)


def turn(part: int, parts: int, other: Numbers) -> Any:
    """The angle 2π part / parts in the numbers of `other`."""
    return 2 * gmpy2.const_pi() * part / parts if is_exact(other) else 2 * math.pi * part / parts


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
