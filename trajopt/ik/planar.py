"""Inverse kinematics of a planar arm with two links, in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.checks import as_numbers, check_array, check_positive
from trajopt.types import Reals


def planar_2r(target: npt.ArrayLike, *, first: float = 1.0, second: float = 1.0) -> tuple[Reals, Any]:
    """Computes both configurations of a planar arm with two links whose tip is at a point.

    cos q2 = (x² + y² - l1² - l2²) / (2 l1 l2), q1 = atan2(y, x) - atan2(l2 sin q2, l1 + l2 cos q2), with q2 >= 0 in
    the first row and q2 <= 0 in the second. For a point out of reach, the result is the nearest arm, stretched or
    folded.

    Args:
        target: Point (x, y) in the plane of the arm, from its first joint, or several points (n, 2) [m].
        first: Length l1, > 0 [m].
        second: Length l2, > 0 [m].

    Returns:
        Configurations (2, 2) with angles in (-π, π] [rad], and the distance of the tip from the point, a float [m].
        For several points, (n, 2, 2) and (n,).

    Raises:
        InvalidArgumentError: A length is not positive, or the target is not a point.

    Source: Siciliano et al., Robotics (2009), section 2.12.1.
    """
    numbers = as_numbers("target", target)
    shape = (len(numbers), 2) if numbers.ndim == 2 else (2,)
    x, y = check_array("target", numbers, shape, cure="pass a point (x, y) in the arm's plane, or points (n, 2) [m]").T
    l1, l2 = check_positive("first", first, unit="m"), check_positive("second", second, unit="m")
    far = np.hypot(x, y)
    with np.errstate(over="ignore"):  # a point so far away is out of reach
        cosine = np.clip(0.5 * ((far / l1) * (far / l2) - l1 / l2 - l2 / l1), -1.0, 1.0)
    q2 = np.multiply.outer([1.0, -1.0], np.arccos(cosine))
    q1 = np.arctan2(y, x) - np.arctan2(l2 * np.sin(q2), l1 + l2 * np.cos(q2))
    q1 = np.pi - np.mod(np.pi - q1, 2.0 * np.pi)
    tip = l1 * np.cos(q1) + l2 * np.cos(q1 + q2), l1 * np.sin(q1) + l2 * np.sin(q1 + q2)
    away = np.min(np.hypot(tip[0] - x, tip[1] - y), axis=0)
    return np.moveaxis(np.stack([q1, q2]), (0, 1), (-1, -2)), away if numbers.ndim == 2 else float(away)
