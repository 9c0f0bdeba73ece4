"""Paths of feet, tools and bodies, and their goals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from trajopt.analysis.goals import goal_placements, goal_poses, moving_goals
from trajopt.display.layers.base import Layer
from trajopt.display.layers.drawing import quaternion, ramp, rgb
from trajopt.display.layers.films import film, has_place, size_of, trails_of
from trajopt.plotting.style import RAMP, RED
from trajopt.solution import Solution
from trajopt.types import Reals

_LINE = 3.0  # width of paths [pixel]
_STAR, _AXIS = 0.03, 0.12  # radius of a goal, and length of its axes, relative to the size of the body [-]


class Paths(Layer):
    """Paths of feet, of tools, or of the body, from the first knot (light) to the last (dark)."""

    legend = f"linear-gradient(90deg, {', '.join(RAMP)})"

    def __init__(self, scene: Any, solution: Solution, name: str) -> None:
        super().__init__(scene, solution, name)
        self._trails = trails_of(solution)
        shades = np.tile(np.array(ramp(len(solution.xs) - 1)), (len(self._trails), 1))
        colors = np.repeat(shades[:, None], 2, axis=1).astype(np.uint8)
        self._line = self.add_lines("lines", self._segments(), colors, _LINE)

    def _segments(self) -> Reals:
        """Segments (n, 2, 3) of all paths."""
        return np.concatenate([np.stack([trail[:-1], trail[1:]], axis=1) for trail in self._trails]).astype(np.float32)

    def follow(self, xs: Reals) -> None:
        self._trails = trails_of(replace(self.solution, xs=xs))
        self._line.points = self._segments()

    def points(self) -> Reals:
        return self._trails.reshape(-1, 3)


class Goals(Layer):
    """Goals of costs and constraints as red points, with axes for goals that include a rotation.

    Terminal goals are fixed. Smaller points show the current reference of moving goals.
    """

    legend = RED

    def __init__(self, scene: Any, solution: Solution, name: str) -> None:
        super().__init__(scene, solution, name)
        size = size_of(film(solution))
        self._points = self.film.goals
        look: dict[str, Any] = {"opacity": 0.8}
        self._moving = [
            (scene.add_icosphere(f"{name}/of {frame}", 0.7 * _STAR * size, rgb(RED), **look), points)
            for frame, points in moving_goals(solution)
        ]
        for i, point in enumerate(self._points):
            scene.add_icosphere(f"{name}/{i}", _STAR * size, rgb(RED), opacity=0.8, position=tuple(point))
        for i, placement in enumerate(_with_axes(solution)):
            scene.add_frame(
                f"{name}/axes{i}",
                axes_length=_AXIS * size,
                axes_radius=0.06 * _AXIS * size,
                origin_radius=0.0,
                position=tuple(placement[:3, 3]),
                wxyz=quaternion(placement[:3, :3]),
            )
        self.at(0.0)

    def at(self, time: float) -> None:
        for handle, points in self._moving:
            point = self.film.between(points, time)
            handle.visible = bool(np.isfinite(point).all())
            if handle.visible:
                handle.position = tuple(point)

    def points(self) -> Reals:
        return self._points


def _with_axes(solution: Solution) -> list[Reals]:
    """Placements (4, 4) of the goals that include a rotation."""
    poses = goal_poses(solution) if solution.robot is None else np.zeros((0, 4, 4))
    whole = poses[np.isfinite(poses).all(axis=(1, 2))]
    return [*(placement for _, placement in goal_placements(solution)), *np.unique(whole, axis=0)]


def has_trails(solution: Solution) -> bool:
    """Whether there are paths to draw."""
    return len(solution.xs) > 1 and len(trails_of(solution)) > 0


def has_goals(solution: Solution) -> bool:
    """Whether there are goals to draw."""
    if not has_place(solution):
        return False
    return len(film(solution).goals) > 0 or bool(goal_placements(solution) or moving_goals(solution))
