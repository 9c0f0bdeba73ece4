"""Obstacles in the distance costs and constraints of a problem, at each knot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.references import distances_of
from trajopt.residuals import ResidualModelObstacleDistance, ResidualModelPairDistance
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution


@dataclass(frozen=True, kw_only=True)
class Obstacle:
    """A ball, capsule or upright cylinder, fixed or moving: all points within a radius of a point, segment or axis.

    Attributes:
        name: Name of the cost term or constraint, with an index if it has several obstacles.
        points: Centre of a ball or cylinder (T + 1, 1, 3), or ends of a capsule (T + 1, 2, 3) [m]; z is NaN for an
            upright cylinder. NaN at knots without the obstacle.
        radii: Radius (T + 1,) [m].
    """

    name: str
    points: Reals
    radii: Reals

    @property
    def upright(self) -> bool:
        """Whether the obstacle is an upright cylinder."""
        return bool(np.isnan(self.points[np.isfinite(self.radii)][..., 2]).all())


def obstacles_of(solution: Solution) -> list[Obstacle]:
    """Returns the obstacles in a solution's costs and constraints; empty for a solution without its problem.

    Args:
        solution: The solution.
    """
    obstacles: list[Obstacle] = []
    items, values = distances_of(solution)
    for item in items:
        if isinstance(item.residual, ResidualModelObstacleDistance):
            rows = values[f"{item.name}.{'circles' if item.residual.dim == 2 else 'spheres'}"]
            rows = rows if rows.shape[2] == 4 else np.insert(rows, 2, np.nan, axis=2)
            many = rows.shape[1] > 1
            obstacles += [
                Obstacle(
                    name=f"{item.name}[{i}]" if many else item.name, points=rows[:, i, None, :3], radii=rows[:, i, 3]
                )
                for i in range(rows.shape[1])
            ]
        pair = item.residual.frame_ids if isinstance(item.residual, ResidualModelPairDistance) else []
        for i, (key, frame) in enumerate(zip(("first", "second"), pair)):
            if frame is None:
                points = values[f"{item.name}.{key}"]
                points = points[:, None] if points.ndim == 2 else points
                obstacles.append(Obstacle(name=item.name, points=points, radii=values[f"{item.name}.radii"][:, i]))
    return _without_copies(obstacles)


def planes_of(solution: Solution) -> list[tuple[float, ...]]:
    """Coefficients (a, b, c, d) of the planes in the world that spheres of a simulated robot may touch, sorted."""
    from trajopt.simulator import Plane

    surfaces = [contact.surface for contact in solution.description.spheres if contact.surface.body is None]
    return sorted({tuple(np.ravel(s.coefficients).tolist()) for s in surfaces if isinstance(s, Plane)})


def _without_copies(obstacles: list[Obstacle]) -> list[Obstacle]:
    """Removes obstacles that equal an earlier one at all knots, since each limb has its own term for them."""
    kept: dict[bytes, Obstacle] = {}
    for each in obstacles:
        here = np.flatnonzero(np.isfinite(each.radii))[:1]
        key = each.points[here].tobytes() + each.radii[here].tobytes() + np.ptp(each.points, axis=0).tobytes()
        kept.setdefault(key, each)
    return list(kept.values())
