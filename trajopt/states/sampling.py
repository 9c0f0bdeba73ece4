"""Random numbers for random states."""

from __future__ import annotations

import numpy as np

from trajopt.checks import is_integer
from trajopt.errors import InvalidArgumentError, shown
from trajopt.types import Reals


def random_generator(rng: np.random.Generator | int) -> np.random.Generator:
    """Returns a random generator: the argument itself, or a new one if it is a seed."""
    if isinstance(rng, np.random.Generator):
        return rng
    if is_integer(rng) and rng >= 0:
        return np.random.default_rng(int(rng))
    raise InvalidArgumentError(
        f"rng: expected a numpy.random.Generator or a seed >= 0, got {shown(rng)}; use numpy.random.default_rng(seed)"
    )


def uniform_within(rng: np.random.Generator, lower: Reals, upper: Reals) -> Reals:
    """Uniform random numbers within bounds. Without bounds the range is [-1, 1]; with one bound it has width 2."""
    low = np.where(np.isfinite(lower), lower, np.where(upper < -1, upper - 2, -1.0))
    high = np.where(np.isfinite(upper), upper, np.where(lower > 1, lower + 2, 1.0))
    return rng.uniform(low, high)
