"""Display of one solution in a scene: its body and its layers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from trajopt.display.layers import LAYERS, Layer, LayerKind
from trajopt.display.layers.base import Switched
from trajopt.display.layers.lazy import LazyLayer
from trajopt.display.robot import RobotBody
from trajopt.display.timeline import Timeline
from trajopt.errors import InvalidArgumentError, TrajoptError
from trajopt.solution import Solution
from trajopt.types import Reals

_LOG = logging.getLogger(__name__)


class Actor(Switched):
    """A solution's body and layers in a scene.

    Args:
        scene: viser's scene.
        solution: The solution.
        name: Path in the scene, such as "/trot".
        number: Index among several solutions; only the first has layers.
        layers: Kinds of layers that it may have.

    Attributes:
        solution: The solution.
        body: Meshes of the robot, or the body of a system without a robot.
        layers: Layers by label; layers that are hidden at first are built when they are shown.
        timeline: Times of the knots.

    Raises:
        InvalidArgumentError: There is nothing to show.
    """

    def __init__(
        self, scene: Any, solution: Solution, name: str, number: int = 0, layers: Sequence[LayerKind] = LAYERS
    ) -> None:
        self.solution, self.timeline = solution, Timeline(solution)
        super().__init__(scene, name)
        bodies = [kind for kind in LAYERS if kind.body and kind.applies(solution)]
        if solution.robot is None and not bodies:
            raise InvalidArgumentError(
                "solution: expected one with its problem or a file with a description, got nothing to show; use "
                "Solution.load(path, problem)"
            )
        self.body: Layer
        if solution.robot is not None:
            self.body = RobotBody(scene, solution, f"{name}/robot", number)
        else:
            self.body = bodies[0].build(scene, solution, f"{name}/body")
        self.layers: dict[str, Layer | LazyLayer] = {}
        for kind in layers if number == 0 else ():
            layer = None if kind.body else _built(kind, scene, solution, name)
            if layer is not None:
                self.layers[kind.label] = layer

    def at(self, time: float) -> None:
        """Moves all visible parts to a time [s]; after the end of the motion they stay at its end."""
        time = min(time, self.timeline.duration)
        for layer in (self.body, *self.layers.values()):
            if layer.visible:
                layer.at(time)

    def move(self, way: Reals) -> None:
        """Moves the whole scene of this solution by a way (3,) [m] from where it belongs."""
        self._root.position = tuple(way)

    def follow(self, xs: Reals) -> None:
        """Switches to another trajectory of states (T + 1, nx), such as that of an iteration.

        The body and the layers that depend on states only, such as paths, follow it. The other layers, such as forces,
        keep the trajectory of the solution.
        """
        for layer in (self.body, *self.layers.values()):
            layer.follow(xs)

    def points(self) -> Reals:
        """Returns the points (n, 3) [m] of the body and its layers that the first camera should show, in the world."""
        return np.concatenate([layer.points() for layer in (self.body, *self.layers.values())])


def _built(kind: LayerKind, scene: Any, solution: Solution, name: str) -> Layer | LazyLayer | None:
    """Builds a layer, or a placeholder if it is hidden at first; None if the solution has no such layer.

    A layer whose numbers cannot be computed is None too, with a warning.
    """
    try:
        if not kind.applies(solution):
            return None
        build = kind.build if kind.on else partial(LazyLayer, kind)
        return build(scene, solution, f"{name}/{kind.label}")
    except TrajoptError as error:  # for example a black box that fails on the trajectory of a failed solve
        _LOG.warning("%s: not shown: %s", kind.label, error)
        return None
