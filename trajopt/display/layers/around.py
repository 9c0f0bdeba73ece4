"""Objects that a caller adds to a motion: lines such as gates and lanes, and obstacles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.analysis.obstacles import Obstacle, as_obstacles
from trajopt.analysis.vehicles import in_vertical_plane
from trajopt.display.layers.base import Layer, LayerKind
from trajopt.display.layers.drawing import rgb, segments
from trajopt.display.layers.obstacles import Obstacles
from trajopt.plotting.scene import DARK, SceneLines
from trajopt.plotting.style import PALETTE
from trajopt.robots.scene import ObstaclesLike
from trajopt.solution import Solution
from trajopt.types import Reals

_LINE = 3.0  # width of lines [pixel]


class Around(Layer):
    """Fixed lines and obstacles.

    Args:
        scene: viser's scene.
        solution: The solution.
        name: Path of the layer in the scene.
        bodies: Obstacles with points of one knot.
        lines: Polylines, each with points (n, 2) or (n, 3) [m].
    """

    legend = PALETTE[4]

    def __init__(
        self, scene: Any, solution: Solution, name: str, *, bodies: Sequence[Obstacle], lines: Sequence[npt.ArrayLike]
    ) -> None:
        super().__init__(scene, solution, name)
        joined = SceneLines(lines, (), in_vertical_plane(solution)).lines
        pairs = np.concatenate([np.zeros((0, 2, 3)), *(segments(np.asarray(line)) for line in joined)])
        if len(pairs):
            self.add_lines("lines", pairs.astype(np.float32), rgb(DARK), _LINE)
        knots = len(solution.xs)
        still = [replace(each, points=_at_all(each.points, knots), radii=_at_all(each.radii, knots)) for each in bodies]
        ends = Obstacles(scene, solution, f"{name}/bodies", bodies=still).points() if still else np.zeros((0, 3))
        self._points = np.nan_to_num(np.concatenate([pairs.reshape(-1, 3), ends]))

    def points(self) -> Reals:
        return self._points


def _at_all(values: Reals, knots: int) -> Reals:
    """Values (1, ...) of one knot at all knots (T + 1, ...)."""
    return np.broadcast_to(values, (knots, *values.shape[1:]))


def around(obstacles: ObstaclesLike = (), lines: Sequence[npt.ArrayLike] = ()) -> tuple[LayerKind, ...]:
    """Returns the kind of a layer with a caller's objects; empty without objects.

    Args:
        obstacles: Obstacles, see `as_obstacles`.
        lines: Polylines, each with points (n, 2) or (n, 3) [m].

    Raises:
        InvalidArgumentError: An argument has a wrong shape.
    """
    bodies, joined = as_obstacles(obstacles), SceneLines(lines, ()).lines
    if not bodies and not joined:
        return ()
    build = partial(Around, bodies=bodies, lines=lines)
    return (LayerKind(label="surroundings", applies=lambda solution: True, build=build),)
