"""Signed distances of points of the plane from obstacles; of bodies in space the outline from above counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.hull import convex_hull
from trajopt.analysis.obstacles import as_obstacles
from trajopt.planar.grid import OccupancyGrid
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.robots.scene import ObstaclesLike


PART = 1000
"""Number of points whose distances are computed at once, so that the arrays stay small [-]."""


class FreePlane:
    """The plane with obstacles.

    Args:
        obstacles: Obstacles of `planar.around`.

    Raises:
        InvalidArgumentError: An obstacle has another form.
    """

    def __init__(self, obstacles: ObstaclesLike | OccupancyGrid) -> None:
        self.map = obstacles if isinstance(obstacles, OccupancyGrid) else None
        self.outlines = list[tuple[Reals, Reals]]()
        """Corners (m, n, 2) of m convex outlines, counter-clockwise, and radii (m,) around them [m], by n."""
        groups = dict[int, list[tuple[Reals, float]]]()
        for body in [] if isinstance(obstacles, OccupancyGrid) else as_obstacles(obstacles):
            corners = convex_hull(body.outer[0, :, :2])
            groups.setdefault(len(corners), []).append((corners, float(body.radii[0])))
        for outlines in groups.values():
            self.outlines.append((np.array([each[0] for each in outlines]), np.array([each[1] for each in outlines])))

    def distance(self, points: Reals) -> Reals:
        """Signed distance (n,) of points (n, 2) to the nearest obstacle [m]; inf without obstacles."""
        if self.map is not None:
            return self.map.distance(points)
        if len(points) <= PART:
            return self._nearest(points)
        return np.concatenate([self._nearest(points[i : i + PART]) for i in range(0, len(points), PART)])

    def _nearest(self, points: Reals) -> Reals:
        nearest = np.full(len(points), np.inf)
        for corners, radii in self.outlines:
            nearest = np.minimum(nearest, (_from_polygons(points, corners) - radii).min(axis=1))
        return nearest

    def slope(self, points: Reals, step: float) -> Reals:
        """Gradient of `distance` (n, 2) by central differences over a step [m], of unit length where it is not 0."""
        shifts = step * np.array([[[1.0, 0.0]], [[0.0, 1.0]], [[-1.0, 0.0]], [[0.0, -1.0]]])
        sides = self.distance((points + shifts).reshape(-1, 2)).reshape(4, -1)
        gradient = (sides[:2] - sides[2:]).T
        length = np.linalg.norm(gradient, axis=1, keepdims=True)
        return np.divide(gradient, length, out=np.zeros_like(gradient), where=length > 0.0)

    def region(self, ends: Reals, margin: float) -> Reals:
        """Lower and upper corner (2, 2) of a box that contains a shortest path between two points (2, 2) [m].

        It contains the whole of each obstacle, with the margin around it, that it touches, so the way round all of them
        is inside; obstacles far away, of sensors without a reading, count for nothing. A map's path stays on the map.
        """
        if self.map is not None:
            return np.reshape(self.map.extent, (2, 2)).T
        boxes = [
            np.array([each.min(axis=0) - radius - margin, each.max(axis=0) + radius + margin])
            for corners, radii in self.outlines
            for each, radius in zip(corners, radii)
        ]
        box = np.array([ends.min(axis=0), ends.max(axis=0)])
        while touched := [each for each in boxes if np.all((each[0] <= box[1]) & (each[1] >= box[0]))]:
            corners = np.vstack([box, *touched])
            box = np.array([corners.min(axis=0), corners.max(axis=0)])
            boxes = [each for each in boxes if not any(each is other for other in touched)]
        return box


def _from_polygons(points: Reals, corners: Reals) -> Reals:
    """Signed distances (k, m) of points (k, 2) from m convex polygons, edges or points, with corners (m, n, 2) [m]."""
    if corners.shape[1] == 1:
        across, up = points.T[:, :, None] - corners[:, 0].T[:, None]
        return np.hypot(across, up)
    edges = np.roll(corners, -1, axis=1) - corners
    away = points[:, None, None] - corners
    share = np.clip((away * edges).sum(axis=3) / np.maximum((edges**2).sum(axis=2), 1e-300), 0.0, 1.0)
    nearest = np.hypot(*np.moveaxis(away - share[..., None] * edges, 3, 0)).min(axis=2)
    inside = np.all(edges[..., 0] * away[..., 1] - edges[..., 1] * away[..., 0] > 0.0, axis=2)
    return np.where(inside, -nearest, nearest)
