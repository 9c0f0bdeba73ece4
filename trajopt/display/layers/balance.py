"""Balance of a legged robot: centre of mass, its projection, support polygons, footholds."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.analysis.hull import convex_hull
from trajopt.analysis.legs import LeggedMotion, is_legged
from trajopt.display.layers.base import Layer
from trajopt.display.layers.drawing import closed, disc, fan, merged, rgb, segments
from trajopt.display.layers.films import film, size_of
from trajopt.plotting.ground import ground_level
from trajopt.plotting.style import BLUE, GREY, RAMP, RED
from trajopt.solution import Solution
from trajopt.types import Reals

_BALL, _PRINT = 0.03, 0.025  # radii of the centre of mass and of a foothold, relative to the robot's size [-]
_ABOVE = 0.003  # height of flat objects above the ground, relative to the robot's size [-]
_LINE = 2.0  # width of lines [pixel]


class CentreOfMass(Layer):
    """Centre of mass (blue), its path, and its projection on the ground beside the centre of pressure (red)."""

    legend = BLUE

    def __init__(self, scene: Any, solution: Solution, name: str) -> None:
        super().__init__(scene, solution, name)
        self._motion = motion = _motion(solution)
        size = size_of(self.film)
        self._level, self._lift = ground_level(motion), _ABOVE * size
        self._ball = scene.add_icosphere(f"{name}/ball", _BALL * size, rgb(BLUE))
        spot = disc(np.zeros(3), _BALL * size)
        flat: dict[str, Any] = {"side": "double", "cast_shadow": False, "receive_shadow": False}
        self._shadow = scene.add_mesh_simple(f"{name}/projection", *fan(spot), color=rgb(BLUE), **flat)
        self._pressure = scene.add_mesh_simple(f"{name}/pressure", *fan(0.8 * spot), color=rgb(RED), **flat)
        self._plumb = self.add_lines("plumb", np.zeros((1, 2, 3)), rgb(BLUE), _LINE)
        self.add_lines("path", segments(motion.com), rgb(BLUE), _LINE)
        references = segments(motion.com_references)
        if len(references):
            self.add_lines("asked", references, rgb(GREY), _LINE)
        self.at(0.0)

    def projection(self, time: float) -> Reals:
        """Returns the point (3,) [m] on the ground below the centre of mass at a time [s].

        On uneven ground its height is that of the lowest foot.
        """
        point = self.film.between(self._motion.com, time)
        level = self._level
        if level is None:
            level = min(float(self.film.between(foot.positions, time)[2]) for foot in self._motion.feet)
        return np.array([point[0], point[1], level])

    def at(self, time: float) -> None:
        point, below = self.film.between(self._motion.com, time), self.projection(time)
        lift = np.array([0.0, 0.0, self._lift])
        self._ball.position, self._shadow.position = tuple(point), tuple(below + lift)
        self._plumb.points = np.array([[point, below]], dtype=np.float32)
        pressure = self._motion.pressures[self.film.knot(time)[0]]
        self._pressure.visible = bool(np.isfinite(pressure).all())
        if self._pressure.visible:
            self._pressure.position = tuple(pressure + 2.0 * lift)

    def points(self) -> Reals:
        return self._motion.com


class SupportPolygons(Layer):
    """Convex hull of the soles of all feet in contact with the floor; for two point feet the line between them."""

    legend = RAMP[1]

    def __init__(self, scene: Any, solution: Solution, name: str) -> None:
        super().__init__(scene, solution, name)
        self._motion = motion = _motion(solution)
        lift = _ABOVE * size_of(self.film)
        self._phases: list[tuple[int, int, list[Any]]] = []
        for i, phase in enumerate(motion.phases):
            feet = [motion.feet[k] for k in phase.feet if motion.feet[k].on_floor]
            if not feet:
                continue
            corners = np.concatenate([foot.positions[phase.first] + foot.outline[phase.first] for foot in feet])
            around = _raised(convex_hull(corners[:, :2]), corners, lift)
            handles = [self.add_lines(f"{i}/edge", closed(around), rgb(RAMP[2]), _LINE)]
            if len(around) > 2:
                look: dict[str, Any] = {"side": "double", "opacity": 0.35, "cast_shadow": False}
                area = scene.add_mesh_simple(f"{name}/{i}/area", *fan(around), color=rgb(RAMP[1]), **look)
                handles.append(area)
            self._phases.append((phase.first, phase.last, handles))
        self.at(0.0)

    def at(self, time: float) -> None:
        t = self.film.knot(time)[0]
        for first, last, handles in self._phases:
            for handle in handles:
                handle.visible = first <= t < last


class Footholds(Layer):
    """Footprints at each landing: discs for point feet, outlines for soles."""

    legend = "#333333"

    def __init__(self, scene: Any, solution: Solution, name: str) -> None:
        super().__init__(scene, solution, name)
        size, motion = size_of(film(solution)), _motion(solution)
        lift, meshes = np.array([0.0, 0.0, _ABOVE * size]), []
        for foot in motion.feet:
            for knot in motion.landings(foot):
                corners = foot.positions[knot] + foot.outline[knot]
                corners = disc(corners[0], _PRINT * size) if len(corners) == 1 else corners
                meshes.append(fan(corners + lift))
        self._places = np.concatenate([np.zeros((0, 3)), *(points for points, _ in meshes)])
        if meshes:
            look: dict[str, Any] = {"side": "double", "opacity": 0.6, "cast_shadow": False}
            scene.add_mesh_simple(f"{name}/prints", *merged(meshes), color=rgb("#333333"), **look)

    def points(self) -> Reals:
        return self._places


def stands_on_feet(solution: Solution) -> bool:
    """Whether a solution is the motion of a legged robot."""
    return is_legged(solution)


def _motion(solution: Solution) -> LeggedMotion:
    motion = film(solution).motion
    assert motion is not None
    return motion


def _raised(outline: Reals, corners: Reals, lift: float) -> Reals:
    """Points (n, 3) of an outline (n, 2), with the heights of the nearest corners (m, 3)."""
    nearest = [int(np.argmin(np.linalg.norm(corners[:, :2] - point, axis=1))) for point in outline]
    return np.column_stack([outline, corners[nearest, 2] + lift])
