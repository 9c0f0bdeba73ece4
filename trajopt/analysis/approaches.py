"""Closest points between bodies and obstacles along a motion, for distance costs and constraints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from trajopt.analysis.references import distances_of
from trajopt.residuals import ResidualModelCollisions, ResidualModelPairDistance
from trajopt.robots.closest_points import closest_points
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution

Pair = tuple[Reals, Reals, Reals, Reals]
"""Points (T + 1, n, 3) and radii (T + 1,) of a body, then those of a second body [m]."""


@dataclass(frozen=True, kw_only=True)
class Approach:
    """Closest points between a body and the nearest obstacle of one cost term or constraint.

    Attributes:
        name: Name of the cost term or constraint.
        starts: Closest point on the surface of the body, shape (T + 1, 3) [m]; NaN at knots without the term.
        ends: Closest point on the surface of the obstacle, shape (T + 1, 3) [m].
        distances: Distance between the surfaces, < 0 if they overlap, shape (T + 1,) [m].
        least: Smallest distance that a constraint allows, shape (T + 1,) [m]; 0 for a cost and without a bound.
    """

    name: str
    starts: Reals
    ends: Reals
    distances: Reals
    least: Reals

    @property
    def margins(self) -> Reals:
        """Distance minus the smallest allowed distance, shape (T + 1,) [m]."""
        return self.distances - self.least


def approaches_of(solution: Solution) -> list[Approach]:
    """Computes the closest points for each distance cost and constraint between balls and capsules.

    It is empty for a solution without its problem, and without boxes and the rows of `ResidualModelCollisions`.

    Args:
        solution: The solution.
    """
    items, values = distances_of(solution)
    items = [item for item in items if _is_round(item.residual)]
    return [_approach(solution, item, values) for item in items]


def _is_round(residual: Any) -> bool:
    """Whether all bodies of a residual are balls and capsules that do not change from knot to knot."""
    if isinstance(residual, ResidualModelPairDistance):
        return not residual.has_boxes
    return not isinstance(residual, ResidualModelCollisions)


def _approach(solution: Solution, item: Any, values: Mapping[str, Reals]) -> Approach:
    """Computes the nearest of all pairs of bodies of a distance residual."""
    pairs = _pair_of_two if isinstance(item.residual, ResidualModelPairDistance) else _pairs_of_obstacles
    surfaces = [_surfaces(*pair) for pair in pairs(solution, item, values)]
    starts, ends, distances = (np.array([each[k] for each in surfaces]) for k in range(3))
    lower = values.get(f"{item.name}.lower", np.zeros(distances.T.shape)).T
    least = np.where(np.isfinite(lower), lower, 0.0)
    margins = distances - least
    nearest = np.where(np.isfinite(margins), margins, np.inf).argmin(axis=0), np.arange(distances.shape[1])
    return Approach(
        name=item.name, starts=starts[nearest], ends=ends[nearest], distances=distances[nearest], least=least[nearest]
    )


def _pair_of_two(solution: Solution, item: Any, values: Mapping[str, Reals]) -> Iterator[Pair]:
    """Yields the two bodies of a pair; one of them may be fixed in the world."""
    points = [
        _carried(solution, frame, _rows_of_points(values[f"{item.name}.{key}"]))
        for key, frame in zip(("first", "second"), item.residual.frame_ids)
    ]
    radii = values[f"{item.name}.radii"]
    yield points[0], radii[:, 0], points[1], radii[:, 1]


def _pairs_of_obstacles(solution: Solution, item: Any, values: Mapping[str, Reals]) -> Iterator[Pair]:
    """Yields the body with each obstacle; upright cylinders are points at the body's height."""
    residual, radius = item.residual, values[f"{item.name}.radius"]
    rows = values[f"{item.name}.{'circles' if residual.dim == 2 else 'spheres'}"]
    if residual.frame_id is None:
        body = np.zeros((len(rows), 1, 3))
        body[:, 0, : residual.dim] = solution.xs[:, : residual.dim]
    else:
        body = _carried(solution, residual.frame_id, np.tile(residual.shape.points, (len(rows), 1, 1)))
    for i in range(rows.shape[1]):
        height = body[:, :, 2] if residual.dim == 2 else rows[:, i, 2:3]
        yield body, radius, np.concatenate([rows[:, i, :2], height], axis=1)[:, None], rows[:, i, -1]


def _rows_of_points(values: Reals) -> Reals:
    """Points (T + 1, n, 3) from a centre (T + 1, 3) or from ends (T + 1, 2, 3)."""
    return values[:, None] if values.ndim == 2 else values


def _carried(solution: Solution, frame: int | None, points: Reals) -> Reals:
    """Transforms points from a frame to the world, (T + 1, n, 3) [m]; frame None is the world."""
    robot = solution.robot
    if frame is None or robot is None:
        return points
    poses = robot.placement(solution.xs[:, : robot.nq], robot.model.frames[frame].name)
    return np.asarray(points @ poses[:, :3, :3].swapaxes(1, 2) + poses[:, None, :3, 3])


def _surfaces(first: Reals, rho: Reals, second: Reals, radii: Reals) -> tuple[Reals, Reals, Reals]:
    """Closest points (T + 1, 3) on the surfaces of two bodies, and their distance (T + 1,) [m]."""
    weights = _weights(first.shape[1], second.shape[1])
    p, q = np.full((len(first), 3), np.nan), np.full((len(first), 3), np.nan)
    for t in np.flatnonzero(np.isfinite(first).all(axis=(1, 2)) & np.isfinite(second).all(axis=(1, 2))):
        a, b = (w.full().ravel() for w in weights(first[t], second[t]))
        p[t], q[t] = a @ first[t], b @ second[t]
    away = q - p
    length = np.linalg.norm(away, axis=1)
    along = away / np.maximum(length, np.finfo(float).tiny)[:, None]
    return p + rho[:, None] * along, q - radii[:, None] * along, length - rho - radii


@cache
def _weights(first: int, second: int) -> ca.Function:
    """Numeric function of `closest_points` for two shapes with these numbers of points."""
    a, b = ca.SX.sym("a", first, 3), ca.SX.sym("b", second, 3)
    return ca.Function("weights", [a, b], list(closest_points(a, b)))
