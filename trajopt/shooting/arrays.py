"""Arrays that compiled code and the Riccati recursion share."""

from __future__ import annotations

import numpy as np

from trajopt.types import Reals


def padded(shape: tuple[int, ...]) -> Reals:
    """Zeros of this shape with room behind them, so that vector reads may run past the end."""
    size = int(np.prod(shape))
    return np.zeros(size + 32)[:size].reshape(shape)
