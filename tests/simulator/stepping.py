"""Steps one after another, as tests of physics take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]


def trajectory(simulator: Any, dt: float, x: Reals, steps: int, tau: Reals | None = None) -> Reals:
    """States (steps + 1, nq + nv) from x on, with a constant torque."""
    xs = [np.asarray(x, dtype=float)]
    for _ in range(steps):
        xs.append(simulator.simulate(dt, xs[-1], tau)[0])
    return np.array(xs)


def bisect(function: Callable[[float], float], low: float, high: float) -> float:
    """The root between two numbers of a function that is negative at the lower one, to the last digits."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return (low + high) / 2
