"""Contact forces as arrows at the feet, and friction cones."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.analysis.legs import has_contacts
from trajopt.display.layers.base import Layer
from trajopt.display.layers.drawing import cone, mixed, rgb, turned_up
from trajopt.display.layers.films import film, size_of
from trajopt.plotting.style import GREEN, RED
from trajopt.solution import Solution
from trajopt.types import Reals

_SHAFT, _HEAD = 0.012, 0.03  # radii of an arrow, relative to the robot's size [-]
_FORCE = (190, 20, 30)  # darker than the red of plots, which the light would turn into yellow
_LONGER = 5.0  # length relative to flat plots, as legs hide short arrows [-]
_CONE = 0.18  # height of a cone, relative to the robot's size [-]


class ContactForces(Layer):
    """Force of the ground on each foot, an arrow from the point where it acts, of length `scale` times the force.

    Attributes:
        scale: Length of an arrow per force [m/N].
    """

    legend = "rgb(190, 20, 30)"

    def __init__(self, scene: Any, solution: Solution, name: str) -> None:
        super().__init__(scene, solution, name)
        self.scale, size = _LONGER * self.film.scale, size_of(self.film)
        self._arrows = scene.add_arrows(
            f"{name}/arrows",
            np.zeros((1, 2, 3), dtype=np.float32),
            _FORCE,
            shaft_radius=_SHAFT * size,
            head_radius=_HEAD * size,
            head_length=2.5 * _HEAD * size,
        )
        self.at(0.0)

    @property
    def note(self) -> str:
        """Scale of the arrows as text, such as "0.1 m is 50 N"; empty if the scale is 0."""
        return f"0.1 m is {0.1 / self.scale:.3g} N" if self.scale > 0.0 else ""

    def arrows(self, time: float) -> Reals:
        """Returns start and end of each arrow at a time [s], (n, 2, 3) [m], for feet in contact."""
        starts, along = self.film.forces(time)
        shown = np.linalg.norm(along, axis=1) > 1e-9
        return np.stack([starts, starts + _LONGER * along], axis=1)[shown]

    def at(self, time: float) -> None:
        arrows = self.arrows(time)
        self._arrows.visible = bool(len(arrows))
        if len(arrows):
            self._arrows.points = arrows.astype(np.float32)


class FrictionCones(Layer):
    """Cone |f_t| <= μ f_n at each foot in contact: green, and red if friction is fully used."""

    legend = GREEN

    def __init__(self, scene: Any, solution: Solution, name: str) -> None:
        super().__init__(scene, solution, name)
        self._height = _CONE * size_of(self.film)
        points, faces = cone()
        motion = self.film.motion
        assert motion is not None
        self.feet = [foot for foot in motion.feet if np.isfinite(foot.mu).any()]
        self._uses = [foot.cone_use for foot in self.feet]
        self._cones = [
            scene.add_mesh_simple(
                f"{name}/{foot.name}", points, faces, color=rgb(GREEN), opacity=0.3, side="double", cast_shadow=False
            )
            for foot in self.feet
        ]
        self.at(0.0)

    def use(self, foot: int, knot: int) -> float:
        """Returns the use of friction of a foot at a knot, |f_t| / (μ f_n) [-]."""
        return float(self._uses[foot][knot])

    def at(self, time: float) -> None:
        t = self.film.knot(time)[0]
        for i, (foot, handle) in enumerate(zip(self.feet, self._cones)):
            handle.visible = bool(foot.stands[t] and np.isfinite(foot.mu[t]))
            if handle.visible:
                wide = float(foot.mu[t]) * self._height
                handle.position, handle.wxyz = tuple(foot.positions[t]), turned_up(foot.normals[t])
                handle.scale = (wide, wide, self._height)
                handle.color = mixed(rgb(GREEN), rgb(RED), float(np.clip(2.0 * self.use(i, t) - 1.0, 0.0, 1.0)))


def has_cones(solution: Solution) -> bool:
    """Whether a contact of a solution has a friction coefficient."""
    motion = film(solution).motion if has_contacts(solution) else None
    return motion is not None and any(np.isfinite(foot.mu).any() for foot in motion.feet)
