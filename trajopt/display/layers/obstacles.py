"""Objects around a motion: fixed or moving obstacles, and planes that contacts may touch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from trajopt.analysis.obstacles import Obstacle
from trajopt.display.layers.base import Layer
from trajopt.display.layers.drawing import fan, rgb, turned_up
from trajopt.display.layers.films import film, size_of
from trajopt.plotting.style import PALETTE
from trajopt.solution import Solution
from trajopt.types import Reals

EARTH = (150, 138, 115)
_LOOK: dict[str, Any] = {"opacity": 0.55}
_ABOVE = 0.25  # height of upright cylinders above a motion, relative to the motion's height [-]
_BESIDE = 0.06  # the same beside the path of a point in the plane, relative to the path's extent [-]
_FAR = 2.0  # distance from a motion beyond which obstacles need not be in view, relative to its extent [-]
_GROUND, _SAME = (0.0, 0.0, 1.0, 0.0), 1e-4  # coefficients of the ground, and their difference that counts as none
_REACH = 0.15  # margin of planes around a motion, relative to its largest extent [-]


class Obstacles(Layer):
    """Balls, capsules, boxes, meshes and upright cylinders, at their current positions.

    Args:
        scene: viser's scene.
        solution: The solution.
        name: Path of the layer in the scene.
        bodies: The obstacles, at all knots; by default those of distance costs and constraints.
    """

    legend = PALETTE[4]

    def __init__(self, scene: Any, solution: Solution, name: str, *, bodies: Sequence[Obstacle] | None = None) -> None:
        super().__init__(scene, solution, name)
        points = self.film.skeleton.points.reshape(-1, 3)
        low, high = min(float(points[:, 2].min()), 0.0), float(points[:, 2].max())
        point = self.film.skeleton.points.shape[1] == 1  # its size is that of the path
        self._span = (low, high + max(_ABOVE * (high - low), (_BESIDE if point else _ABOVE) * size_of(self.film)))
        drawn = solution.description.obstacles if bodies is None else bodies
        self._shown = [(each, self._add(f"{name}/{i}", each)) for i, each in enumerate(drawn)]
        self.at(0.0)

    def _add(self, name: str, each: Obstacle) -> tuple[Any, list[Any]]:
        """Adds an obstacle: a rod, cylinder or box if it has one, and its balls, all of radius or side 1."""
        color = rgb(PALETTE[4])
        if each.triangles is not None:
            corners = each.triangles.reshape(-1, 3)
            faces = np.arange(len(corners)).reshape(-1, 3)
            return self.scene.add_mesh_simple(f"{name}/mesh", corners, faces, color=color, side="double", **_LOOK), []
        if each.box:
            return self.scene.add_box(f"{name}/box", color, (1.0, 1.0, 1.0), **_LOOK), []
        if each.upright:
            return self.scene.add_cylinder(f"{name}/cylinder", 1.0, 1.0, color, **_LOOK), []
        count = each.points.shape[1]
        balls = [self.scene.add_icosphere(f"{name}/ball{i}", 1.0, color, **_LOOK) for i in range(count)]
        return (self.scene.add_cylinder(f"{name}/rod", 1.0, 1.0, color, **_LOOK) if count > 1 else None), balls

    def at(self, time: float) -> None:
        t, part = self.film.knot(time)
        for each, (rod, balls) in self._shown:
            radius, points = self.film.between(each.radii, time), self.film.between(each.points, time)
            if not np.isfinite(radius):  # a neighbouring knot lacks this obstacle
                near = [min(t + 1, len(each.radii) - 1), t] if part > 0.5 else [t, min(t + 1, len(each.radii) - 1)]
                k = next((k for k in near if np.isfinite(each.radii[k])), t)
                radius, points = each.radii[k], each.points[k]
            self._place(each, rod, balls, np.asarray(points), float(radius))

    def _place(self, each: Obstacle, rod: Any, balls: list[Any], points: Reals, radius: float) -> None:
        shown = bool(np.isfinite(radius))
        for handle in (*balls, *([] if rod is None else [rod])):
            handle.visible = shown
        if not shown:
            return
        if each.triangles is not None:
            turn = pin.Quaternion((points[1:] - points[0]).T).normalized()
            rod.position, rod.wxyz = tuple(points[0]), (turn.w, turn.x, turn.y, turn.z)
            return
        if each.box:
            sides = points[[4, 2, 1]] - points[0]
            lengths = np.linalg.norm(sides, axis=1)
            turn = pin.Quaternion((sides / lengths[:, None]).T)
            rod.position, rod.wxyz = tuple(points.mean(axis=0)), (turn.w, turn.x, turn.y, turn.z)
            rod.scale = tuple(lengths)
            return
        ends = points if not each.upright else np.array([[*points[0, :2], z] for z in self._span])
        for ball, point in zip(balls, ends):
            ball.position, ball.scale = tuple(point), (radius, radius, radius)
        if rod is not None:
            along = ends[1] - ends[0]
            rod.position, rod.wxyz = tuple(ends.mean(axis=0)), turned_up(along)
            rod.scale = (radius, radius, float(np.linalg.norm(along)))

    def points(self) -> Reals:
        ends = [each.outer + sign * each.radii[:, None, None] for each, _ in self._shown for sign in (-1.0, 1.0)]
        every = np.concatenate([np.zeros((0, 3)), *(e.reshape(-1, 3) for e in ends)])
        every[:, 2] = np.where(np.isnan(every[:, 2]), self._span[0], every[:, 2])
        motion = self.film.skeleton.points.reshape(-1, 3)
        low, high = motion.min(axis=0), motion.max(axis=0)
        reach = _FAR * max(float((high - low).max()), size_of(self.film))
        return every[np.all((every > low - reach) & (every < high + reach), axis=1)]


class Planes(Layer):
    """Planes of the world that a simulator's contacts may touch, as large as the motion."""

    def __init__(self, scene: Any, solution: Solution, name: str) -> None:
        super().__init__(scene, solution, name)
        points = film(solution).skeleton.points[:, 1:].reshape(-1, 3)
        for i, (normal, offset) in enumerate(tilted_planes(solution)):
            corners = corners_of_plane(points, normal, offset, size_of(film(solution)))
            look: dict[str, Any] = {"side": "double", "opacity": 0.9, "cast_shadow": False}
            scene.add_mesh_simple(f"{name}/{i}", *fan(corners), color=EARTH, **look)


def corners_of_plane(points: Reals, normal: Reals, offset: float, size: float) -> Reals:
    """Corners (4, 3) of a rectangle in a plane around the projections of points (n, 3) [m].

    Args:
        points: The points.
        normal: Unit normal of the plane (3,) [-].
        offset: Its fourth coefficient [m].
        size: Least margin around the points [m].
    """
    along = np.cross(np.eye(3)[1], normal)
    along = np.eye(3)[0] if np.linalg.norm(along) < 1e-6 else along / np.linalg.norm(along)
    across = np.cross(normal, along)
    places = points @ np.column_stack([along, across])
    low, high = places.min(axis=0), places.max(axis=0)
    room = max(_REACH * float((high - low).max()), size)
    (a, b), (c, d) = low - room, high + room
    corners = [(a, b), (c, b), (c, d), (a, d)]
    return np.array([x * along + y * across - offset * normal for x, y in corners])


def tilted_planes(solution: Solution) -> list[tuple[Reals, float]]:
    """Normal (3,) and offset [m] of each plane that contacts may touch, except the level one at height 0.

    That is the ground, which is there already; a replay computes it from the feet, to rounding.
    """
    planes = [np.array(row) for row in solution.description.planes]
    return [(row[:3], float(row[3])) for row in planes if np.abs(row - _GROUND).max() > _SAME]
