"""Obstacles beside a motion: upright cylinders, balls, capsules, boxes and meshes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.analysis.obstacles import Obstacle, as_obstacles, placed
from trajopt.plotting.scene import Canvas
from trajopt.plotting.solids import Hull
from trajopt.plotting.style import GREY, RAMP, time_ramp
from trajopt.robots.round_bodies import Capsule, Sphere, round_solid
from trajopt.robots.scene import ObstaclesLike
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution

_ROUND = 49  # points on a circle [-]
_MOST = 6  # largest number of pictures of an obstacle that moves [-]
_FAR = 0.5  # largest distance of an obstacle that moves and is drawn, relative to the motion's size [-]
_THIN = 1e-3  # least height of a cylinder [m]
_ABOVE = 0.1  # height of a cylinder above the motion, relative to the motion's size [-]


def obstacles_to_draw(solution: Solution, obstacles: ObstaclesLike = (), *, more: bool = False) -> list[Obstacle]:
    """Obstacles that a caller passes, otherwise those of the solution's costs and constraints.

    Args:
        solution: The solution.
        obstacles: Obstacles of the caller, see `as_obstacles`.
        more: Whether to draw those of the caller besides those of the solution.
    """
    passed = as_obstacles(obstacles)
    known = [*solution.description.obstacles, *passed] if more else passed or solution.description.obstacles
    return [each for each in known if np.isfinite(each.radii).any()]


class Surroundings:
    """Obstacles around a motion in a picture.

    Args:
        drawn: The obstacles.
        points: Points (n, 3) of the motion, which upright cylinders stand beside [m].
        frames: Number of knots at which obstacles that move are shown [-].

    Attributes:
        points: Points (n, 3) around all of them [m].
        moving: Time from 0 to 1 and points of the obstacles that move, at each knot that shows them.
    """

    def __init__(self, drawn: Sequence[Obstacle], points: Reals, frames: int = 1) -> None:
        self._bodies, self._hulls, self._beside = obstacles_around(drawn), solids_around(drawn), points
        self.moving = at_knots(moving_around(drawn, points), frames)
        around = [corners(self._bodies, points), *self._hulls, *(place for _, place in self.moving)]
        self.points = np.concatenate([each.reshape(-1, 3) for each in around])

    def draw(self, scene: Canvas) -> None:
        """Draws them, those that move in the colours of their times."""
        for body in self._bodies:
            draw_obstacle(scene, body, self._beside)
        draw_hulls(scene, self._hulls)
        draw_moving(scene, self.moving)


def obstacles_around(drawn: Sequence[Obstacle]) -> Reals:
    """Rows (x, y, z, radius) of the balls and upright cylinders that do not move [m]; z is NaN for a cylinder."""
    still = [each for each in drawn if each.points.shape[1] == 1 and not moves(each)]
    return np.reshape([[*each.points[_first(each), 0], each.radii[_first(each)]] for each in still], (-1, 4))


def solids_around(drawn: Sequence[Obstacle]) -> list[Reals]:
    """Points (n, 3) around the boxes and capsules that do not move, and triangles (m, 3, 3) of meshes [m]."""
    still = [each for each in drawn if each.points.shape[1] > 1 and not moves(each)]
    return [_around(each, _first(each)) for each in still]


def moving_around(drawn: Sequence[Obstacle], points: Reals) -> list[Reals]:
    """Points (T + 1, n, 3) around the obstacles that move, at each knot [m]; NaN at knots without the obstacle.

    They are NaN, too, where the obstacle is farther from the motion than half of the motion's size: a body that comes
    from afar would make the robot small. Those of a mesh are its triangles (T + 1, m, 3, 3).

    Args:
        drawn: The obstacles.
        points: Points (n, 3) of the motion, which upright cylinders stand beside [m].
    """
    hulls = []
    for each in drawn:
        if moves(each):
            around = [_around(each, t, _span(points)) for t in range(len(each.radii))]
            empty = np.full_like(around[_first(each)], np.nan)
            hulls.append(np.array([empty if np.isnan(r) else hull for hull, r in zip(around, each.radii)]))
    for hull in hulls:
        if len(hull) > 1 and np.isnan(hull[-1]).all():
            hull[-1] = hull[-2]  # the last knot of a problem has constraints of its own
        hull[_is_far(hull, points)] = np.nan
    return [hull for hull in hulls if np.isfinite(hull).any()]


def _is_far(hull: Reals, points: Reals) -> Any:
    """Whether an obstacle is farther than `_FAR` from the box around points (n, 3), at each knot of a hull (T + 1,)."""
    around = hull.reshape(len(hull), -1, 3)
    low, high = points.min(axis=0), points.max(axis=0)
    apart = np.maximum(low - around.max(axis=1), around.min(axis=1) - high)
    size = float(np.max(high - low))
    return np.any(apart > _FAR * size, axis=1) if size > 0.0 else np.zeros(len(hull), dtype=np.bool_)


def moves(obstacle: Obstacle) -> bool:
    """Whether an obstacle moves or changes its size between the knots that have it."""
    here = np.isfinite(obstacle.radii)
    ways = [np.ptp(np.nan_to_num(values[here]), axis=0).max() for values in (obstacle.points, obstacle.radii)]
    return max(ways) > 0.0


def _first(obstacle: Obstacle) -> int:
    """First knot that has an obstacle."""
    return int(np.flatnonzero(np.isfinite(obstacle.radii))[0])


def _around(obstacle: Obstacle, knot: int, span: tuple[float, float] = (0.0, 0.0)) -> Reals:
    """Points (n, 3) whose convex hull is an obstacle at a knot, or triangles (m, 3, 3) of a mesh.

    An upright cylinder is between the heights `span`.
    """
    points, radius = obstacle.points[knot], float(obstacle.radii[knot])
    if obstacle.triangles is not None:
        return placed(obstacle.triangles, points)
    if len(points) > 2 or np.isnan(radius):
        return points
    if np.isnan(points[0, 2]):
        angle = np.linspace(0.0, 2.0 * np.pi, _ROUND)
        circle = points[0, :2] + radius * np.column_stack([np.cos(angle), np.sin(angle)])
        return np.concatenate([np.insert(circle, 2, z, axis=1) for z in (span[0], max(span[1], span[0] + _THIN))])
    body = Sphere(radius, center=points[0]) if len(points) == 1 else Capsule(radius, start=points[0], end=points[1])
    return round_solid(body, "universe").points()


def draw_hulls(scene: Canvas, solids: list[Reals]) -> None:
    """Draws obstacles from points (n, 3) around them, or triangles (m, 3, 3)."""
    for points in solids:
        Hull(scene, points, GREY)


def at_knots(hulls: Sequence[Reals], frames: int) -> list[tuple[float, Reals]]:
    """Returns moving obstacles at knots that are even in time: the time from 0 to 1, and points around each.

    Args:
        hulls: Result of `moving_around`.
        frames: Number of knots [-]; at most `_MOST` are used, as more would hide each other.
    """
    last = len(hulls[0]) - 1 if len(hulls) else 0
    knots = np.unique(np.round(np.linspace(0, last, min(frames, _MOST))).astype(int))
    return [(t / max(last, 1), hull[t]) for hull in hulls for t in knots if np.isfinite(hull[t]).all()]


def draw_moving(scene: Canvas, shown: Sequence[tuple[float, Reals]]) -> None:
    """Draws obstacles that move in the colours of their times, with an entry for the legend."""
    for time, points in shown:
        Hull(scene, points, time_ramp()(time), zorder=1.2)
    if shown:
        look: dict[str, Any] = {"color": RAMP[1], "alpha": 0.5, "marker": "o", "markersize": 9, "linestyle": ""}
        scene.draw(np.zeros((0, 3)), label="moving obstacle", **look)


def corners(bodies: Reals, points: Reals) -> Reals:
    """Returns two opposite corners of a box around each obstacle, (m, 3) [m]."""
    ends = np.array([body[:3] + sign * body[3] for body in bodies for sign in (-1.0, 1.0)]).reshape(-1, 3)
    upright = np.isnan(ends[:, 2])
    ends[upright, 2] = np.resize(_span(points), int(upright.sum()))
    return ends


def _span(points: Reals) -> tuple[float, float]:
    """Heights of the ends of cylinders beside points (n, 3): from the floor, or below it, to above the points [m].

    Points in a horizontal plane have no floor.
    """
    low, high = float(points[:, 2].min()), float(points[:, 2].max())
    if high - low < 1e-9:
        return low, high
    return min(low, 0.0), high + _ABOVE * float(np.ptp(points, axis=0).max())


def draw_obstacle(scene: Canvas, body: Reals, points: Reals) -> None:
    """Draws a ball, or a cylinder that begins at the floor; in a plane its outline."""
    look: dict[str, Any] = {"color": GREY, "linewidth": 0, "alpha": 0.35}
    angle = np.linspace(0, 2 * np.pi, _ROUND)
    center, radius = body[:3], body[3]
    if len(scene.shown) == 2:
        across, up = (center[i] for i in scene.shown)
        if np.isnan(up):
            scene.axes.axvspan(across - radius, across + radius, label="_obstacle", **look)
        else:
            scene.axes.fill(across + radius * np.cos(angle), up + radius * np.sin(angle), label="_obstacle", **look)
        return
    turn = np.linspace(-1, 1, 25)[:, None]
    cylinder = bool(np.isnan(center[2]))
    wide = np.ones_like(turn) if cylinder else np.sqrt(1 - turn**2)
    low, high = _span(points)
    z = (low + high) / 2 + turn * (high - low) / 2 if cylinder else center[2] + radius * turn
    x, y = center[0] + radius * wide * np.cos(angle), center[1] + radius * wide * np.sin(angle)
    scene.axes.plot_surface(x, y, z + 0 * x, shade=True, label="_obstacle", **look)
