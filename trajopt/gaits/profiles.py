"""Swing profiles: progress and height of a foot between two footholds, over the knots of a phase.

Each returns progress (N + 1,), or of each coordinate (N + 1, 3), and relative height (N + 1,) at the knots [-].
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trajopt.types import Reals

_VERTICAL, _RISE = 0.1, 0.3  # fractions of a jump in which a foot moves vertically only, and in which it rises [-]


def triangle(knots: int) -> tuple[Reals, Reals]:
    """Progress (k + 1) / N, and height 2 k / N up to the middle, then down again, at knots k = 0..N-1.

    The values at the touch-down are those of the last knot.

    Source: Crocoddyl 3.2.1, utils/quadruped.py, createFootstepModels.
    """
    k = np.arange(knots)
    half = knots / 2
    height = np.where(k <= half, k / half, 1 - (k - half) / half)
    progress = (k + 1) / knots
    return np.append(progress, progress[-1]), np.append(height, height[-1])


def smooth(knots: int) -> tuple[Reals, Reals]:
    """Progress 3 s² - 2 s³ and height 16 s² (1 - s)² at s = k / N, at knots k = 0..N-1 and at touch-down, s = 1.

    For odd N the peak is between two knots; heights are scaled so that these have the full height.
    """
    progress, height = smooth_at(np.arange(knots + 1) / knots)
    return progress, height / (height.max() or 1.0)


def smooth_at(s: Reals) -> tuple[Reals, Reals]:
    """Progress 3 s² - 2 s³ and height 16 s² (1 - s)² at fractions s of a swing, 0 to 1."""
    return s * s * (3 - 2 * s), 16 * (s * (1 - s)) ** 2


def steep(knots: int) -> tuple[Reals, Reals]:
    """As `smooth`, with progress 10 s³ - 15 s⁴ + 6 s⁵: the foot rises before it moves ahead, as at a riser."""
    s = np.arange(knots + 1) / knots
    return s**3 * (10 - 15 * s + 6 * s**2), smooth(knots)[1]


def onto(knots: int) -> tuple[Reals, Reals]:
    """Path of a foot that jumps onto a platform: up beside it, to its height above the higher foothold, ahead, down.

    It rises during the first 30 % of the swing and descends during the last 30 %. The first and the last 10 % are
    vertical.
    """
    s = np.arange(knots + 1) / knots
    ahead = smooth_at(np.clip((s - _VERTICAL) / (1 - 2 * _VERTICAL), 0.0, 1.0))[0]
    risen, sunk = (smooth_at(np.clip(part / _RISE, 0.0, 1.0))[0] for part in (s, 1 - s))
    return np.column_stack([ahead, ahead, risen]), risen * sunk


def off(knots: int) -> tuple[Reals, Reals]:
    """Path of a foot that jumps down from a platform, which is that of `onto` backwards."""
    progress, height = onto(knots)
    return 1 - progress[::-1], height[::-1]


PROFILES: dict[str, Callable[[int], tuple[Reals, Reals]]] = {
    "triangle": triangle,
    "smooth": smooth,
    "steep": steep,
    "onto": onto,
    "off": off,
}
"""Profiles by name: functions of the number N of knots."""


def swing_path(profile: str, knots: int, ends: Reals, height: float) -> Reals:
    """Positions of a foot (N + 1, 3) between two footholds (2, 3), with a profile and its height [m]."""
    progress, bump = PROFILES[profile](knots)
    path = ends[0] + progress.reshape(len(progress), -1) * (ends[1] - ends[0])
    path[:, 2] += height * bump
    return np.asarray(path)
