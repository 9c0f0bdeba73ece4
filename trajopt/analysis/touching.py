"""Distance from a bound that counts as none."""

from __future__ import annotations

import numpy as np

from trajopt.types import Reals

TOUCH = 1e-6
"""Distance from a bound that is rounding [unit of the row]."""
NEAR = 1e-4
"""Largest distance at which a row counts as at a bound, relative to its size [-]. Interior points end at a distance of
their last barrier divided by the multiplier, so a row that hardly pushes ends farther from its bound than others."""


def touching_distance(values: Reals, lower: Reals, upper: Reals) -> Reals:
    """Returns the largest distance from a bound that counts as none, as the shape of the values (T + 1, ...).

    It is `NEAR` times the size of a row, the larger one of its bounds and of its values at all knots, and at least
    `TOUCH`. A solver's last distance from an active bound grows with that size.

    Args:
        values: Values of rows; NaN at knots without them.
        lower: Lower bounds; -inf without a bound.
        upper: Upper bounds; inf without a bound.
    """
    bounds = [np.where(np.isfinite(bound), np.abs(bound), 0.0) for bound in (lower, upper)]
    size = np.max(np.nan_to_num(np.abs(values)), axis=0, initial=0.0)
    return np.asarray(np.maximum(TOUCH, NEAR * np.maximum(np.maximum(*bounds), size)))
