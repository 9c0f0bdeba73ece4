"""Axis ranges that ignore spikes, and isolated values."""

from __future__ import annotations

import numpy as np

from trajopt.types import Reals

_RARE = 0.025  # largest fraction of values at either end that may be a spike [-]
_SPIKE = 5.0  # smallest ratio of the whole range to that of the other values with a spike [-]
_AROUND = 0.6  # margin around the other values, relative to their range [-]


def clear_range(values: Reals) -> tuple[float, float]:
    """Returns the axis range for values of any shape; (0, 1) without finite values.

    It is the range of the values. If at most a fortieth of them at either end make it more than five times wider,
    these spikes are left outside.
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
    """Returns the indices of finite values (n,) without finite neighbours, which a line does not show."""
    finite = np.concatenate([[False], np.isfinite(values), [False]])
    return np.flatnonzero(finite[1:-1] & ~finite[:-2] & ~finite[2:]).tolist()
