"""Estimates of a controller along a closed loop, by name."""

from __future__ import annotations

import numpy as np

from trajopt.errors import unknown_name
from trajopt.types import Reals


class Estimates(dict[str, Reals]):
    """Value and standard deviation (n, 2) of each estimate by name; the elements of a vector are "wind[0]" and so on.

    The error for an unknown name lists the valid names.
    """

    def __missing__(self, name: str) -> Reals:
        raise unknown_name("estimate", name, self)


def late_estimate(values: Reals) -> tuple[float, float]:
    """Mean and deviation over the last quarter of estimates (n, 2).

    The deviation is that of the estimator and of the scatter of its values together: √(mean σ² + var).
    """
    last = values[-max(len(values) // 4, 1) :]
    return float(last[:, 0].mean()), float(np.sqrt(np.mean(last[:, 1] ** 2) + np.var(last[:, 0])))
