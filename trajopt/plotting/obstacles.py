"""Obstacles beside a motion: upright cylinders and balls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.analysis.obstacles import obstacles_of
from trajopt.plotting.scene import Canvas
from trajopt.plotting.solids import Hull
from trajopt.plotting.style import GREY
from trajopt.robots.round_bodies import Capsule, check_round, round_solid
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution

_ABOVE = 0.1  # height of a cylinder above the motion, relative to the motion's size [-]


def check_obstacles(obstacles: npt.ArrayLike) -> Reals:
    """Checks obstacles and returns them as rows (x, y, z, radius) [m]; z is NaN for a cylinder."""
    rows = check_round("obstacles", obstacles)
    return rows if rows.shape[1] == 4 else np.insert(rows, 2, np.nan, axis=1)


def obstacles_around(solution: Solution, obstacles: npt.ArrayLike) -> Reals:
    """Returns obstacles as from `check_obstacles`; without any, those of the solution that do not move."""
    rows = check_obstacles(obstacles)
    if len(rows):
        return rows
    known = [each for each in obstacles_of(solution) if each.points.shape[1] == 1]
    moments = [np.column_stack([each.points[:, 0], each.radii])[np.isfinite(each.radii)] for each in known]
    still = [rows[0] for rows in moments if len(rows) and np.ptp(np.nan_to_num(rows), axis=0).max() == 0.0]
    return np.reshape(still, (-1, 4))


def solids_around(solution: Solution, obstacles: npt.ArrayLike) -> list[Reals]:
    """Points (n, 3) around boxes and capsules of the solution that do not move [m]; none if others are to be drawn."""
    if len(check_obstacles(obstacles)):
        return []
    still = []
    for each in obstacles_of(solution):
        here = np.isfinite(each.radii)
        if each.points.shape[1] > 1 and here.any() and np.ptp(each.points[here], axis=0).max() == 0.0:
            still.append(_around(each.points[here][0], float(each.radii[here][0])))
    return still


def _around(points: Reals, radius: float) -> Reals:
    """Points whose convex hull is a box with these corners, or a capsule with these ends."""
    if len(points) > 2:
        return points
    return round_solid(Capsule(radius, start=points[0], end=points[1]), "universe").points()


def draw_hulls(scene: Canvas, solids: list[Reals]) -> None:
    """Draws obstacles from points (n, 3) around them."""
    for points in solids:
        Hull(scene, points, GREY)


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
    angle = np.linspace(0, 2 * np.pi, 49)
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
