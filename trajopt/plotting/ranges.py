"""Ranges of axes that one spike does not stretch; values without neighbours."""

from __future__ import annotations

import numpy as np

from trajopt.types import Reals

_RARE = 0.025  # part of the values at either end that may be a spike [-]
_SPIKE = 5.0  # a range this many times that of the other values has a spike [-]
_AROUND = 0.6  # room around the other values, in their range [-]


def clear_range(values: Reals) -> tuple[float, float]:
    """Range of an axis for values of any shape, (0, 1) without a finite one.

    It is the range of the values, unless at most a fortieth of them at either end make it more than five times wider
    than the others do; then these spikes are outside.
    """
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    first, last = (float(value) for value in np.quantile(finite, (_RARE, 1 - _RARE)))
    usual = last - first
    if usual <= 0 or high - low <= _SPIKE * usual:
        return low, high
    return max(low, first - _AROUND * usual), min(high, last + _AROUND * usual)


def single_knots(values: Reals) -> list[int]:
    """Places of finite values (n,) whose neighbours are none, which a line does not show."""
    known = np.concatenate([[False], np.isfinite(values), [False]])
    return np.flatnonzero(known[1:-1] & ~known[:-2] & ~known[2:]).tolist()
