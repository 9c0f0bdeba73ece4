"""Norms of small arrays, as directly as NumPy has them: methods such as `max` take twice the time there."""

from __future__ import annotations

import numpy as np

from trajopt.types import Reals


def largest(values: Reals) -> float:
    """Returns the largest absolute value, max |v|, of an array; 0 for an empty one."""
    return float(np.maximum.reduce(np.abs(values), axis=None, initial=0.0))


def total(values: Reals) -> float:
    """Returns the sum of the absolute values, Σ |v|, of an array."""
    return float(np.add.reduce(np.abs(values), axis=None))
