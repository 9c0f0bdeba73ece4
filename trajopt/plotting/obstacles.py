"""Obstacles beside a motion: upright cylinders and balls."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.plotting.scene import Scene
from trajopt.plotting.style import GREY
from trajopt.robots.round_bodies import check_round
from trajopt.types import Reals


def check_obstacles(obstacles: npt.ArrayLike) -> Reals:
    """Checks obstacles and returns them as rows (x, y, z, radius) [m]; z is NaN for a cylinder."""
    rows = check_round("obstacles", obstacles)
    return rows if rows.shape[1] == 4 else np.insert(rows, 2, np.nan, axis=1)


def corners(bodies: Reals, points: Reals) -> Reals:
    """Returns two opposite corners of a box around each obstacle, (m, 3) [m]; a cylinder is as high as the path."""
    ends = [body[:3] + sign * body[3] * np.array([1.0, 1.0, 1.0]) for body in bodies for sign in (-1.0, 1.0)]
    corners = np.array(ends).reshape(-1, 3)
    corners[:, 2] = np.where(np.isnan(corners[:, 2]), points[0, 2], corners[:, 2])
    return corners


def draw_obstacle(scene: Scene, body: Reals, points: Reals) -> None:
    """Draws a ball, or a cylinder as high as the path; in a plane its outline."""
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
    low, high = points[:, 2].min(), points[:, 2].max()
    z = (low + high) / 2 + turn * (high - low) / 2 if cylinder else center[2] + radius * turn
    x, y = center[0] + radius * wide * np.cos(angle), center[1] + radius * wide * np.sin(angle)
    scene.axes.plot_surface(x, y, z + 0 * x, shade=True, label="_obstacle", **look)
