"""Clearance between a piecewise straight path and round obstacles."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trajopt.checks import as_numbers, check_non_negative
from trajopt.errors import InvalidArgumentError
from trajopt.robots.round_bodies import check_round


def clearance(path: npt.ArrayLike, obstacles: npt.ArrayLike, radius: float = 0.0) -> float:
    """Returns min |p - c_i| - ρ_i - ρ over the straight lines between the points of a path [m]; < 0 in a collision.

    The distance of each line to each centre is exact. The deviation of the true motion from the line is not included.

    Args:
        path: Points (T + 1, 2 or more) in order, such as `solution.xs` if states begin with x, y (and z) [m].
        obstacles: Circles (x, y, radius), shape (n, 3), or balls (x, y, z, radius), shape (n, 4) [m].
        radius: Radius ρ of the body, >= 0 [m].

    Returns:
        The smallest distance [m]; inf without obstacles.

    Raises:
        InvalidArgumentError: An argument has the wrong shape or value.
    """
    rows, body = check_round("obstacles", obstacles), check_non_negative("radius", radius, unit="m")
    n, points = rows.shape[1] - 1, as_numbers("path", path)
    if points.ndim != 2 or points.shape[1] < n or not len(points):
        raise InvalidArgumentError(f"path: expected points (T + 1, {n} or more) [m], got shape {points.shape}")
    starts = points[:-1, None, :n] if len(points) > 1 else points[:, None, :n]
    along = (points[1:, None, :n] if len(points) > 1 else starts) - starts
    to = rows[:, :n] - starts
    square = np.maximum((along**2).sum(axis=2), np.finfo(float).tiny)
    part = np.clip((along * to).sum(axis=2) / square, 0.0, 1.0)[..., None]
    away = np.linalg.norm(part * along - to, axis=2) - rows[:, n] - body
    return float(away.min(initial=np.inf))
