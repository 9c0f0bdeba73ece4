"""How a swinging foot moves between footholds: progress and height over the knots of a phase."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trajopt.types import Reals


def triangle(knots: int) -> tuple[Reals, Reals]:
    """Progress (k + 1) / N and height 2 k / N up, then down, at knots k = 0..N-1 and, as the last, at touch-down.

    Source: Crocoddyl 3.2.1, utils/quadruped.py, createFootstepModels.
    """
    k = np.arange(knots)
    half = knots / 2
    height = np.where(k <= half, k / half, 1 - (k - half) / half)
    progress = (k + 1) / knots
    return np.append(progress, progress[-1]), np.append(height, height[-1])


def smooth(knots: int) -> tuple[Reals, Reals]:
    """Progress 3 s² - 2 s³ and height 16 s² (1 - s)² at s = k / N, at knots k = 0..N-1 and at touch-down, s = 1."""
    s = np.arange(knots + 1) / knots
    return s * s * (3 - 2 * s), 16 * (s * (1 - s)) ** 2


PROFILES: dict[str, Callable[[int], tuple[Reals, Reals]]] = {"triangle": triangle, "smooth": smooth}
"""By name, of a number N of knots: progress from foothold to foothold and height over its top, both (N + 1,) [-]."""
