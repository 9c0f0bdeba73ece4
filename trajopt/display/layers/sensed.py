"""Maps and LIDAR scans for a motion in the plane."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.display.layers.base import Layer, LayerKind
from trajopt.display.layers.drawing import boxes, rgb
from trajopt.plotting.sensed import Sensed, rectangles
from trajopt.plotting.style import GREEN, GREY, RED
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.planar import OccupancyGrid, Scan
    from trajopt.solution import Solution

_TALL = 0.06  # height of walls, relative to the longer side of the map [-]
_RISE = 0.03  # height of beams, relative to the reach of the LIDAR [-]
_DOT = 0.006  # size of a beam's end point, relative to the reach of the LIDAR [-]
_BEAMS = 120  # largest number of beams to draw
_WIDTH = 0.5  # half length of the nearest wall, also for the fit of its direction [m]


class Map(Layer):
    """Occupied cells of a grid as walls.

    Args:
        scene: viser's scene.
        solution: The solution.
        name: Path of the layer in the scene.
        grid: The grid.
    """

    legend = GREY

    def __init__(self, scene: Any, solution: Solution, name: str, *, grid: OccupancyGrid) -> None:
        super().__init__(scene, solution, name)
        left, right, low, high = grid.extent
        tall = _TALL * max(right - left, high - low)
        self._corners = np.array([[left, low, 0.0], [right, high, tall]])
        if grid.occupied.any():
            points, faces = boxes(rectangles(grid), tall)
            scene.add_mesh_simple(
                f"{name}/walls",
                points.astype(np.float32),
                faces.astype(np.uint32),
                color=rgb(GREY),
                flat_shading=True,
                cast_shadow=False,
            )

    def points(self) -> Reals:
        return self._corners


class Scans(Layer):
    """Beams of a LIDAR with their end points (red), and the nearest wall with its normal (green).

    Args:
        scene: viser's scene.
        solution: The solution.
        name: Path of the layer in the scene.
        scans: One scan, or one for each knot.
    """

    legend = RED

    def __init__(self, scene: Any, solution: Solution, name: str, *, scans: Sequence[Scan]) -> None:
        super().__init__(scene, solution, name)
        self._scans, self._shown = scans, -1
        reach = max(scan.most for scan in scans)
        self._rise = _RISE * reach
        none = np.zeros((1, 2, 3), dtype=np.float32)
        self._beams = self.add_lines("beams", none, (250, 190, 170), 1.0)
        self._wall = self.add_lines("wall", none, rgb(GREEN), 4.0)
        look: dict[str, Any] = {"point_size": _DOT * reach, "point_shape": "circle", "point_shading": "flat"}
        self._hits = scene.add_point_cloud(f"{name}/hits", none[0, :1], rgb(RED), precision="float32", **look)
        self.at(0.0)

    def at(self, time: float) -> None:
        number = min(self.film.reached(time), len(self._scans) - 1)
        if number == self._shown:
            return
        self._shown, scan = number, self._scans[number]
        points = self._raised(scan.points)
        self._beams.visible = self._hits.visible = bool(len(points))
        if len(points):
            ends = points[:: max(1, -(-len(points) // _BEAMS))]
            start = self._raised(scan.pose[None, :2])
            self._beams.points = np.stack([np.broadcast_to(start, ends.shape), ends], axis=1)
            self._hits.points = points
        wall = scan.wall(_WIDTH)
        self._wall.visible = wall is not None
        if wall is not None:
            along, away = _WIDTH * wall.tangent(), 0.5 * _WIDTH * wall.normal
            pairs = [(wall.point - along, wall.point + along), (wall.point, wall.point + away)]
            self._wall.points = np.array([self._raised(np.array(pair)) for pair in pairs])

    def _raised(self, points: Reals) -> Reals:
        """Points (n, 3) at beam height above points (n, 2) of the plane."""
        return np.column_stack([points, np.full(len(points), self._rise)]).astype(np.float32)

    def points(self) -> Reals:
        return np.concatenate([self._raised(scan.points) for scan in self._scans])


def sensed(grid: OccupancyGrid | None, scans: Scan | Sequence[Scan], solution: Solution) -> tuple[LayerKind, ...]:
    """Returns the kinds of layers for a map and for scans; empty without them.

    Args:
        grid: The map.
        scans: One scan, or one for each knot of the solution, 0..T - 1 or 0..T.
        solution: The first displayed solution.

    Raises:
        InvalidArgumentError: The map is not an OccupancyGrid, or the scans are not Scan objects or have a wrong
            number.
    """
    around = Sensed(grid, scans, len(solution.xs) - 1)
    kinds = []
    if grid is not None:
        kinds.append(LayerKind(label="map", applies=lambda solution: True, build=partial(Map, grid=grid)))
    if around.several:
        kinds.append(
            LayerKind(label="scans", applies=lambda solution: True, build=partial(Scans, scans=around.several))
        )
    return tuple(kinds)
