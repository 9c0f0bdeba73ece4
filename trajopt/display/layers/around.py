"""Objects that a caller adds to a motion: lines such as gates and lanes, balls and upright cylinders."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.display.layers.base import Layer, LayerKind
from trajopt.display.layers.drawing import rgb, segments
from trajopt.display.layers.films import film, size_of
from trajopt.plotting.obstacles import check_obstacles
from trajopt.plotting.scene import DARK, SceneLines
from trajopt.plotting.style import PALETTE
from trajopt.solution import Solution
from trajopt.types import Reals

_LINE = 3.0  # width of lines [pixel]


class Around(Layer):
    """Fixed lines, balls and upright cylinders.

    Args:
        scene: viser's scene.
        solution: The solution.
        name: Path of the layer in the scene.
        bodies: Balls (x, y, z, radius), shape (n, 4), with z = NaN for upright cylinders [m].
        lines: Polylines, each with points (n, 3) [m].
    """

    legend = PALETTE[4]

    def __init__(self, scene: Any, solution: Solution, name: str, *, bodies: Reals, lines: Sequence[Reals]) -> None:
        super().__init__(scene, solution, name)
        pairs = np.concatenate([np.zeros((0, 2, 3)), *(segments(np.asarray(line)) for line in lines)])
        if len(pairs):
            self.add_lines("lines", pairs.astype(np.float32), rgb(DARK), _LINE)
        tall = float(film(solution).skeleton.points[..., 2].max()) + size_of(film(solution))
        look: dict[str, Any] = {"opacity": 0.55}
        for i, (x, y, z, radius) in enumerate(bodies.tolist()):
            if np.isnan(z):
                place = (x, y, tall / 2)
                scene.add_cylinder(f"{name}/{i}", radius, tall, rgb(PALETTE[4]), position=place, **look)
            else:
                scene.add_icosphere(f"{name}/{i}", radius, rgb(PALETTE[4]), position=(x, y, z), **look)
        ends = [bodies[:, :3] + sign * bodies[:, 3:] for sign in (-1.0, 1.0)]
        self._points = np.nan_to_num(np.concatenate([pairs.reshape(-1, 3), *ends]))

    def points(self) -> Reals:
        return self._points


def around(obstacles: npt.ArrayLike = (), lines: Sequence[npt.ArrayLike] = ()) -> tuple[LayerKind, ...]:
    """Returns the kind of a layer with a caller's objects; empty without objects.

    Args:
        obstacles: Upright cylinders (x, y, radius), shape (n, 3), or balls (x, y, z, radius), shape (n, 4) [m].
        lines: Polylines, each with points (n, 2) or (n, 3) [m].

    Raises:
        InvalidArgumentError: An argument has a wrong shape.
    """
    bodies, joined = check_obstacles(obstacles), [np.asarray(line) for line in SceneLines(lines, ()).lines]
    if not len(bodies) and not joined:
        return ()
    build = partial(Around, bodies=bodies, lines=joined)
    return (LayerKind(label="surroundings", applies=lambda solution: True, build=build),)
