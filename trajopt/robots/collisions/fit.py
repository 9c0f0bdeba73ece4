"""The capsule that contains points with least waste.

Waste is how far the capsule reaches beyond the convex hull of the points in a direction: the difference of their
support functions. A distance to the capsule falls short of that to the hull by no more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajopt.types import Reals

DIRECTIONS = 150  # in which waste is measured [-]
POWER = 4.0  # of the mean over the directions; with 2 and 8, Panda's distances have 0.5 and 2 mm more waste
SLACK = 1e-9  # round-off of containment [m]
SHORTEST = 1e-5  # axis of a capsule; shorter ones are spheres [m]
SEARCHES, EVALUATIONS = 2, 500  # of a fit
ROUGH_EVALUATIONS = 60  # of the one search of a rough fit


@dataclass(frozen=True, kw_only=True, eq=False)
class Fit:
    """A capsule, or a sphere if both ends are one point.

    Attributes:
        start: One end of its axis (3,) [m].
        end: The other end (3,) [m].
        radius: Radius [m].
    """

    start: Reals
    end: Reals
    radius: float


def directions() -> Reals:
    """Unit vectors (n, 3) that cover the sphere evenly, on Fibonacci's spiral."""
    number = np.arange(DIRECTIONS) + 0.5
    z, turn = 1.0 - 2.0 * number / DIRECTIONS, np.pi * (1.0 + np.sqrt(5.0)) * number
    across = np.sqrt(1.0 - z**2)
    return np.stack([across * np.cos(turn), across * np.sin(turn), z], axis=1)


SPHERE = directions()


def fit_capsule(points: Reals, *, allowed: Reals | None = None, rough: bool = False) -> Fit:
    """Returns the capsule around points with the least mean waste that a local search finds.

    Args:
        points: The points (n, 3), at least one [m].
        allowed: Supports (directions,) up to which nothing counts as wasted; by default those of the points [m].
        rough: Whether a short search is enough.

    Source: the search is Nelder and Mead, A simplex method for function minimization, 1965.
    """
    from scipy.optimize import minimize

    corners = hull(points)
    supports = (corners @ SPHERE.T).max(axis=0)
    if allowed is not None:
        supports = np.maximum(supports, allowed)
    middle = (corners.min(axis=0) + corners.max(axis=0)) / 2
    axes = [*np.linalg.svd(corners - corners.mean(axis=0), full_matrices=False)[2], *np.eye(3)]
    starts = sorted(
        (np.concatenate([axis, middle, [0.0]]) for axis in axes), key=lambda start: _cost(start, corners, supports)
    )
    step = 0.1 * float(np.linalg.norm(np.ptp(corners, axis=0))) + 1e-6
    options = {"maxfev": ROUGH_EVALUATIONS if rough else EVALUATIONS, "xatol": 1e-4, "fatol": 1e-5}
    best = starts[0]
    for start in starts[: 1 if rough else SEARCHES]:
        simplex = np.vstack([start, start + np.diag([0.2, 0.2, 0.2, step, step, step, 0.3 * step])])
        result = minimize(
            _cost, start, (corners, supports), method="Nelder-Mead", options={**options, "initial_simplex": simplex}
        )
        best = min(best, result.x, key=lambda variables: _cost(variables, corners, supports))
    start, end, radius = _capsule(best, corners)
    if np.linalg.norm(end - start) >= SHORTEST:
        return Fit(start=start, end=end, radius=radius)
    middle = (start + end) / 2
    return Fit(start=middle, end=middle, radius=float(np.linalg.norm(corners - middle, axis=1).max()) + SLACK)


def hull(points: Reals) -> Reals:
    """Corners (m, 3) of the convex hull of points (n, 3); all different points if they lie in a plane."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.asarray(points[ConvexHull(points).vertices])
    except (QhullError, ValueError):
        return np.unique(points, axis=0)


def _capsule(variables: Reals, corners: Reals) -> tuple[Reals, Reals, float]:
    """Start, end and radius of the shortest capsule around the corners with a certain axis and radius.

    Args:
        variables: Direction of the axis (3,) [-], a point of it (3,) [m], and how much larger the radius is than it
            must be, whose sign is ignored [m].
        corners: The points that it contains (n, 3) [m].
    """
    axis, origin = variables[:3] / np.sqrt(variables[:3] @ variables[:3]), variables[3:6]
    arms = corners - origin
    along = arms @ axis
    across = np.maximum((arms**2).sum(axis=1) - along**2, 0.0)
    radius = float(np.sqrt(across.max()) + abs(variables[6])) + SLACK
    cap = np.sqrt(radius**2 - across)
    low, high = float((along + cap).min()), float((along - cap).max())
    if low >= high:  # one sphere is enough
        middle = origin + axis * (low + high) / 2
        return middle, middle, float(np.sqrt(((corners - middle) ** 2).sum(axis=1).max())) + SLACK
    return origin + low * axis, origin + high * axis, radius


def _cost(variables: Reals, corners: Reals, supports: Reals) -> float:
    start, end, radius = _capsule(variables, corners)
    waste = np.maximum(np.maximum(SPHERE @ start, SPHERE @ end) + radius - supports, 0.0)
    return float(np.mean(waste**POWER) ** (1.0 / POWER))
