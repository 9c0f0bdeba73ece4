"""Gaps between the union of capsules and the surface that it contains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trajopt.robots.collisions.fit import DIRECTIONS, POWER, SPHERE, Fit
from trajopt.types import Reals

RINGS, SIDES = 5, 30  # of points on the tube of a capsule
OFTEN = 95  # percentile of `most_gaps`


def gaps(fits: Sequence[Fit], tree: Any) -> list[Reals]:
    """Distances from points on each capsule that lie in no other one to the nearest point of a surface [m].

    Args:
        fits: The capsules.
        tree: A scipy.spatial.KDTree of points on the surface.
    """
    exposed = []
    for number, fit in enumerate(fits):
        points = _points(fit)
        for other in (*fits[:number], *fits[number + 1 :]):
            points = points[_from_axis(points, other) > other.radius]
        exposed.append(np.asarray(tree.query(points)[0]) if len(points) else np.zeros(0))
    return exposed


def mean_gap(exposed: Sequence[Reals]) -> float:
    """Mean of gaps, by the power of a fit [m]."""
    every = np.concatenate(exposed)
    return float(np.mean(every**POWER) ** (1.0 / POWER)) if len(every) else 0.0


def most_gaps(exposed: Sequence[Reals]) -> float:
    """95th percentile of gaps [m]."""
    every = np.concatenate(exposed)
    return float(np.percentile(every, OFTEN)) if len(every) else 0.0


def _points(fit: Fit) -> Reals:
    """Points (n, 3) on a capsule: one in each direction, and rings around its tube."""
    axis = fit.end - fit.start
    caps = np.where((SPHERE @ axis > 0.0)[:, None], fit.end, fit.start) + fit.radius * SPHERE
    square = float(axis @ axis)
    if square == 0.0:
        return np.asarray(caps)
    sides = SPHERE[:: DIRECTIONS // SIDES]
    sides = sides - (sides @ axis)[:, None] * axis / square
    sides = sides / np.linalg.norm(sides, axis=1)[:, None]
    along = np.linspace(0.0, 1.0, RINGS)[:, None, None]
    return np.concatenate([caps, (fit.start + along * axis + fit.radius * sides).reshape(-1, 3)])


def _from_axis(points: Reals, fit: Fit) -> Reals:
    """Distances (n,) of points (n, 3) from the axis of a capsule [m]."""
    axis = fit.end - fit.start
    square = float(axis @ axis)
    part = np.clip((points - fit.start) @ axis / square, 0.0, 1.0) if square > 0.0 else np.zeros(len(points))
    return np.asarray(np.linalg.norm(points - fit.start - part[:, None] * axis, axis=1))
