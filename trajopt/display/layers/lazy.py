"""A layer that is built when it is first shown, so that hidden layers cost no time and no memory."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from trajopt.display.layers.base import Layer, LayerKind
from trajopt.errors import TrajoptError
from trajopt.solution import Solution
from trajopt.types import Reals

_LOG = logging.getLogger(__name__)


class LazyLayer:
    """Placeholder for a layer that is hidden at first, with the interface of `Layer`.

    Args:
        kind: Kind of the layer.
        scene: viser's scene.
        solution: The solution.
        name: Path of the layer in the scene.
    """

    def __init__(self, kind: LayerKind, scene: Any, solution: Solution, name: str) -> None:
        self.path = name
        self._kind, self._scene, self._solution, self._name = kind, scene, solution, name
        self._layer: Layer | None = None
        self._xs: Reals | None = None
        self._failed = False

    @property
    def visible(self) -> bool:
        """Whether the layer is visible; setting it to True builds the layer."""
        return self._layer is not None and self._layer.visible

    @visible.setter
    def visible(self, wanted: bool) -> None:
        if wanted and self._layer is None and not self._failed:
            self._layer = self._built()
        if self._layer is not None:
            self._layer.visible = wanted

    @property
    def legend(self) -> str:
        """Colour in legends; empty until the layer is built."""
        return "" if self._layer is None else self._layer.legend

    @property
    def note(self) -> str:
        """Empty text, as the layer's text may need numbers that are not computed yet."""
        return ""

    def at(self, time: float) -> None:
        """Moves all objects to a time [s], if the layer is built."""
        if self._layer is not None:
            self._layer.at(time)

    def follow(self, xs: Reals) -> None:
        """Switches to another trajectory (T + 1, nx), at the latest when the layer is built."""
        self._xs = xs
        if self._layer is not None:
            self._layer.follow(xs)

    def points(self) -> Reals:
        """Returns no points, as the layer is hidden at first."""
        return np.zeros((0, 3))

    def _built(self) -> Layer | None:
        """Builds the layer; None with a warning if its numbers cannot be computed."""
        try:
            layer = self._kind.build(self._scene, self._solution, self._name)
        except TrajoptError as error:
            _LOG.warning("%s: not shown: %s", self._kind.label, error)
            self._failed = True
            return None
        if self._xs is not None:
            layer.follow(self._xs)
        return layer
