"""The capsule that contains points with least waste.

Waste is how far the capsule reaches beyond the convex hull of the points in a direction: the difference of their
support functions. A distance to the capsule falls short of that to the hull by no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trajopt.robots.collisions.simplex import nelder_mead
from trajopt.robots.collisions.triangles import different
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


def fit_capsule(points: Reals, *, rough: bool = False) -> Fit:
    """Returns the capsule around points (n, 3) [m]; arguments as in `fit_capsules`."""
    return fit_capsules([points], rough=rough)[0]


def fit_capsules(parts: Sequence[Reals], *, allowed: Sequence[Reals] | None = None, rough: bool = False) -> list[Fit]:
    """Returns for each set of points the capsule around it with the least mean waste that a local search finds.

    Args:
        parts: Sets of points (n, 3), at least one point each [m].
        allowed: For each set, supports (directions,) up to which nothing counts as wasted; by default those of its
            points [m].
        rough: Whether a short search is enough.
    """
    hulls, fits = [hull(points) for points in parts], dict[int, Fit]()
    supports = [(points @ SPHERE.T).max(axis=0) for points in hulls]
    if allowed is not None:
        supports = [np.maximum(least, most) for least, most in zip(supports, allowed, strict=True)]
    sizes = np.array([len(points).bit_length() for points in hulls])
    for size in np.unique(sizes):  # arrays of hulls of similar sizes
        rows = np.flatnonzero(sizes == size)
        fits |= zip(rows, _fits([hulls[row] for row in rows], np.stack([supports[row] for row in rows]), rough))
    return [fits[row] for row in range(len(hulls))]


def _fits(hulls: list[Reals], supports: Reals, rough: bool) -> list[Fit]:
    """Capsules around hulls, searched for at once."""
    corners = np.stack([_padded(points, max(map(len, hulls))).T for points in hulls])
    starts, steps = np.stack([_starts(points) for points in hulls]), np.stack([_steps(points) for points in hulls])
    searches = 1 if rough else SEARCHES
    prices = np.stack([_cost(start, corners, supports) for start in starts.swapaxes(0, 1)], axis=1)
    first = np.argsort(prices, axis=1, kind="stable")[:, :searches]
    simplices = np.take_along_axis(starts, first[:, :, None], axis=1)[:, :, None] + steps[:, None]
    ends, values = nelder_mead(
        lambda rows, points: _cost(points, corners[rows // searches], supports[rows // searches]),
        simplices.reshape(-1, *steps.shape[1:]),
        evaluations=ROUGH_EVALUATIONS if rough else EVALUATIONS,
    )
    best = values.reshape(-1, searches).argmin(axis=1) + searches * np.arange(len(hulls))
    return [
        _fit(start, end, radius, points)
        for start, end, radius, points in zip(*_capsules(ends[best], corners), hulls, strict=True)
    ]


def _starts(corners: Reals) -> Reals:
    """Variables of capsules to start from (6, 7): along the principal axes of points, and along x, y, z."""
    middle = (corners.min(axis=0) + corners.max(axis=0)) / 2
    axes = np.concatenate([np.linalg.svd(corners - corners.mean(axis=0), full_matrices=False)[2], np.eye(3)])
    return np.column_stack([axes, np.tile(middle, (len(axes), 1)), np.zeros(len(axes))])


def _steps(corners: Reals) -> Reals:
    """Corners of the first simplex of a search (8, 7), relative to its start."""
    step = 0.1 * float(np.linalg.norm(np.ptp(corners, axis=0))) + 1e-6
    return np.vstack([np.zeros(7), np.diag([0.2, 0.2, 0.2, step, step, step, 0.3 * step])])


def _padded(points: Reals, count: int) -> Reals:
    """Points, the first of them repeated (count, 3)."""
    return np.concatenate([points, np.tile(points[0], (count - len(points), 1))])


def _fit(start: Reals, end: Reals, radius: float, corners: Reals) -> Fit:
    if np.linalg.norm(end - start) >= SHORTEST:
        return Fit(start=start, end=end, radius=float(radius))
    middle = (start + end) / 2
    return Fit(start=middle, end=middle, radius=float(np.linalg.norm(corners - middle, axis=1).max()) + SLACK)


def hull(points: Reals) -> Reals:
    """Corners (m, 3) of the convex hull of points (n, 3); all different points if they lie in a plane."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.asarray(points[ConvexHull(points).vertices])
    except (QhullError, ValueError):
        return different(points)[0]


def _capsules(variables: Reals, corners: Reals) -> tuple[Reals, Reals, Reals]:
    """Starts (k, 3), ends (k, 3) and radii (k,) of the shortest capsules with certain axes and radii [m].

    Args:
        variables: Direction of each axis (k, 3) [-], a point of it (k, 3) [m], and how much larger the radius is than
            it must be, whose sign is ignored (k,) [m].
        corners: The points that each contains (k, 3, n) [m].
    """
    axes, origins = variables[:, :3] / np.linalg.norm(variables[:, :3], axis=1)[:, None], variables[:, 3:6]
    arms = corners - origins[:, :, None]
    along = np.einsum("ki,kin->kn", axes, arms)
    across = np.maximum(np.einsum("kin,kin->kn", arms, arms) - along**2, 0.0)
    radii = np.sqrt(across.max(axis=1)) + np.abs(variables[:, 6]) + SLACK
    caps = np.sqrt((radii**2)[:, None] - across)
    low, high = (along + caps).min(axis=1), (along - caps).max(axis=1)
    balls = np.flatnonzero(low >= high)  # one sphere is enough
    if len(balls):
        low[balls] = high[balls] = (low[balls] + high[balls]) / 2
        away = arms[balls] - (low[balls, None] * axes[balls])[:, :, None]
        radii[balls] = np.sqrt(np.einsum("kin,kin->kn", away, away).max(axis=1)) + SLACK
    return origins + low[:, None] * axes, origins + high[:, None] * axes, radii


def _cost(variables: Reals, corners: Reals, supports: Reals) -> Reals:
    """Mean waste (k,) of capsules [m]; arguments as in `_capsules`, and what is not wasted (k, directions) [m]."""
    starts, ends, radii = _capsules(variables, corners)
    waste = np.maximum(np.maximum(starts @ SPHERE.T, ends @ SPHERE.T) + radii[:, None] - supports, 0.0)
    waste = (waste**2) ** (POWER / 2)  # numpy has a quick square, and no quick fourth power
    return np.asarray(waste.mean(axis=1) ** (1.0 / POWER))
