"""The capsule that contains points with least waste.

Waste is how far the capsule reaches beyond the convex hull of the points in a direction: the difference of their support
functions. It bounds by how much a distance to the capsule falls short of that to the hull.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajopt.types import Reals

DIRECTIONS = 150  # in which waste is measured [-]
POWER = 4.0  # of the mean of waste over the directions that a fit minimises; 2 leaves longer tails, 8 fits slower
SLACK = 1e-9  # round-off of containment [m]


@dataclass(frozen=True, kw_only=True, eq=False)
class Fit:
    """A capsule around points.

    Attributes:
        start: One end of its axis (3,) [m].
        end: The other end, equal to `start` for a sphere (3,) [m].
        radius: Radius [m].
        waste: 95th percentile over all directions of how far it reaches beyond the convex hull of the points [m].
    """

    start: Reals
    end: Reals
    radius: float
    waste: float


def fit_capsule(points: Reals, *, rough: bool = False) -> Fit:
    """Returns the capsule around points (n, 3) [m] with the least mean waste, of those that a local search finds.

    Args:
        points: The points; at least one.
        rough: Whether to skip the search, and to take the best of a few axes.
    """
    from scipy.optimize import minimize

    corners = hull(points)
    supports = (corners @ SPHERE.T).max(axis=0)
    starts = [_start(corners, axis) for axis in _axes(corners)]
    costs = [_cost(start, corners, supports) for start in starts]
    scale = 0.1 * float(np.linalg.norm(np.ptp(corners, axis=0))) + 1e-6
    best = starts[int(np.argmin(costs))]
    for start in [starts[i] for i in np.argsort(costs)[: 1 if rough else 2]]:
        simplex = np.vstack([start, start + np.diag([0.2, 0.2, 0.2, *[scale] * 3, 0.3 * scale])])
        options = {"initial_simplex": simplex, "maxfev": 120 if rough else 700, "xatol": 1e-5, "fatol": 1e-7}
        found = minimize(_cost, start, (corners, supports), method="Nelder-Mead", options=options)
        best = min(best, found.x, key=lambda variables: _cost(variables, corners, supports))
    start, end, radius = _capsule(best, corners)
    waste = float(np.percentile(_support(start, end, radius) - supports, 95))
    return Fit(start=start, end=end, radius=radius, waste=waste)


def hull(points: Reals) -> Reals:
    """Corners (m, 3) of the convex hull of points; all points if they lie in a plane."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.asarray(points[ConvexHull(points).vertices])
    except (QhullError, ValueError):
        return points


def _directions() -> Reals:
    """Directions (n, 3) that cover the sphere evenly, by Fibonacci's spiral."""
    i = np.arange(DIRECTIONS) + 0.5
    z, turn = 1.0 - 2.0 * i / DIRECTIONS, np.pi * (1.0 + np.sqrt(5.0)) * i
    across = np.sqrt(1.0 - z**2)
    return np.stack([across * np.cos(turn), across * np.sin(turn), z], axis=1)


SPHERE = _directions()


def _axes(corners: Reals) -> list[Reals]:
    """Directions of an axis to begin with: principal ones and those of the coordinates."""
    spread = corners - corners.mean(axis=0)
    return [*np.linalg.svd(spread, full_matrices=False)[2], *np.eye(3)]


def _start(corners: Reals, axis: Reals) -> Reals:
    """Variables of a search: axis (3,), a point of it (3,) and what the radius has more than it needs."""
    low, high = corners.min(axis=0), corners.max(axis=0)
    return np.concatenate([axis, (low + high) / 2, [0.0]])


def _capsule(variables: Reals, corners: Reals) -> tuple[Reals, Reals, float]:
    """The shortest capsule of a line and a radius that contains all corners."""
    axis, origin = variables[:3] / np.linalg.norm(variables[:3]), variables[3:6]
    arms = corners - origin
    along = arms @ axis
    across = np.sqrt(np.maximum((arms**2).sum(axis=1) - along**2, 0.0))
    radius = float(across.max() + abs(variables[6])) + SLACK
    cap = np.sqrt(radius**2 - across**2)
    low, high = float((along + cap).min()), float((along - cap).max())
    if low >= high:  # a sphere contains them all
        middle = origin + axis * (low + high) / 2
        return middle, middle, float(np.sqrt(((corners - middle) ** 2).sum(axis=1).max())) + SLACK
    return origin + low * axis, origin + high * axis, radius


def _support(start: Reals, end: Reals, radius: float) -> Reals:
    return np.asarray(np.maximum(SPHERE @ start, SPHERE @ end) + radius)


def _cost(variables: Reals, corners: Reals, supports: Reals) -> float:
    waste = _support(*_capsule(variables, corners)) - supports
    return float(np.mean(np.maximum(waste, 0.0) ** POWER) ** (1.0 / POWER))
