"""Norms of small arrays, as directly as NumPy has them: methods such as `max` take twice the time there."""

from __future__ import annotations

import numpy as np

from trajopt.types import Reals


def largest(values: Reals) -> float:
    """max |v|; 0 of nothing."""
    return float(np.maximum.reduce(np.abs(values), axis=None, initial=0.0))


def total(values: Reals) -> float:
    """Σ |v|."""
    return float(np.add.reduce(np.abs(values), axis=None))
