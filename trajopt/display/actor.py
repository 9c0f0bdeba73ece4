"""One solution in a scene: its body, and the layers that it has."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from trajopt.display.layers import LAYERS, Layer, LayerKind
from trajopt.display.layers.lazy import LazyLayer
from trajopt.display.robot import RobotBody
from trajopt.display.timeline import Timeline
from trajopt.errors import InvalidArgumentError, TrajoptError
from trajopt.solution import Solution
from trajopt.types import Reals

_LOG = logging.getLogger(__name__)


class Actor:
    """A solution's body and layers in a scene.

    Args:
        scene: viser's scene.
        solution: The solution.
        name: Path in the scene, such as "/trot".
        number: Which of several solutions it is; only the first one has layers.
        layers: Kinds of layers that it may have.

    Attributes:
        body: Meshes of the robot, or the body of a system without one.
        layers: Layers by their labels; those that are hidden at first are built when they are shown.
        timeline: Times of the knots.

    Raises:
        InvalidArgumentError: There is nothing to show.
    """

    def __init__(
        self, scene: Any, solution: Solution, name: str, number: int = 0, layers: Sequence[LayerKind] = LAYERS
    ) -> None:
        self.timeline, self._root = Timeline(solution), scene.add_frame(name, show_axes=False)
        bodies = [kind for kind in LAYERS if kind.body and kind.applies(solution)]
        if solution.robot is None and not bodies:
            raise InvalidArgumentError(
                "solution: expected one with its problem or from a file with its description, got nothing to show; "
                "Solution.load(path, problem) gives it back"
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
        """Moves everything that is shown to a time [s]; after the end it stays there."""
        time = min(time, self.timeline.duration)
        for layer in (self.body, *self.layers.values()):
            if layer.visible:
                layer.at(time)

    def follow(self, xs: Reals) -> None:
        """Takes another trajectory (T + 1, nx): the body, and those layers that are of states alone."""
        for layer in (self.body, *self.layers.values()):
            layer.follow(xs)

    def points(self) -> Reals:
        """Points (n, 3) that the camera should see [m]."""
        return np.concatenate([layer.points() for layer in (self.body, *self.layers.values())])

    @property
    def visible(self) -> bool:
        """Whether it is shown."""
        return bool(self._root.visible)

    @visible.setter
    def visible(self, wanted: bool) -> None:
        self._root.visible = bool(wanted)


def _built(kind: LayerKind, scene: Any, solution: Solution, name: str) -> Layer | LazyLayer | None:
    """A layer; None where the solution has none, or where its numbers cannot be computed, which is told.

    One that is hidden at first is built when it is shown.
    """
    try:
        if not kind.applies(solution):
            return None
        build = kind.build if kind.on else partial(LazyLayer, kind)
        return build(scene, solution, f"{name}/{kind.label}")
    except TrajoptError as error:  # such as a black box that fails on the trajectory of a solve that failed
        _LOG.warning("%s: not shown: %s", kind.label, error)
        return None
