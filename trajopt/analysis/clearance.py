"""Clearance between a piecewise straight path and round obstacles, or of a robot's motion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast, overload

import numpy as np
import numpy.typing as npt

from trajopt.analysis.swept import Clearance, swept_clearance
from trajopt.checks import as_numbers, check_non_negative
from trajopt.errors import InvalidArgumentError
from trajopt.robots import Scene
from trajopt.robots.round_bodies import check_round

if TYPE_CHECKING:
    from trajopt.solution import Solution


class HasMotion(Protocol):
    """A closed loop, which has the motion of its plant."""

    @property
    def motion(self) -> Solution | None:
        """The plant's motion as a solution; None if it is unknown."""


@overload
def clearance(path: npt.ArrayLike, obstacles: npt.ArrayLike, radius: float = 0.0) -> float: ...
@overload
def clearance(path: Solution | HasMotion, obstacles: Scene | None = None) -> Clearance: ...
def clearance(
    path: npt.ArrayLike | Solution | HasMotion, obstacles: npt.ArrayLike | Scene | None = None, radius: float = 0.0
) -> float | Clearance:
    """Returns min |p - c_i| - ρ_i - ρ over the straight lines between the points of a path [m]; < 0 in a collision.

    The distance of each line to each centre is exact. The deviation of the true motion from the line is not included.

    Of a solution, it is the least distance of the robot's collision shapes from each other and from obstacles, at the
    knots and between them, where joints move from knot to knot with constant velocity and obstacles along lines. A
    closed loop has the samples of its `motion` as knots.

    Args:
        path: Points (T + 1, 2 or more) in order, such as `solution.xs` if states begin with x, y (and z) [m]. Or the
            solution of a robot's problem, or a closed loop of it.
        obstacles: Circles (x, y, radius), shape (n, 3), or balls (x, y, z, radius), shape (n, 4) [m]. Of a solution, a
            Scene; by default the obstacles of the problem's constraint with `collisions=`, where it has one.
        radius: Radius ρ of the body, >= 0 [m].

    Returns:
        The smallest distance [m]; inf without obstacles. Of a solution, a `Clearance` with the bodies and the knot.

    Raises:
        InvalidArgumentError: An argument has the wrong shape or value.
    """
    if hasattr(path, "motion"):
        path = _motion(path)
    if hasattr(path, "xs"):
        return swept_clearance(path, obstacles)  # type: ignore[arg-type]  # which checks both
    rows, body = (
        check_round("obstacles", cast(npt.ArrayLike, obstacles)),
        check_non_negative("radius", radius, unit="m"),
    )
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


def _motion(loop: Any) -> Solution:
    """Motion of a closed loop."""
    if loop.motion is None:
        raise InvalidArgumentError("path: expected a closed loop with its motion, got one without a step")
    return cast("Solution", loop.motion)
