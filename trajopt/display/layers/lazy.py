"""A layer that is built when it is first shown, so that what is hidden costs no time and no bytes."""

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
    """Stands for a layer that is hidden at first; it has what a `Layer` has.

    Args:
        kind: Kind of the layer.
        scene: viser's scene.
        solution: The solution.
        name: Path of the layer in the scene.
    """

    def __init__(self, kind: LayerKind, scene: Any, solution: Solution, name: str) -> None:
        self._kind, self._scene, self._solution, self._name = kind, scene, solution, name
        self._layer: Layer | None = None
        self._xs: Reals | None = None
        self._failed = False

    @property
    def visible(self) -> bool:
        """Whether it is shown."""
        return self._layer is not None and self._layer.visible

    @visible.setter
    def visible(self, wanted: bool) -> None:
        if wanted and self._layer is None and not self._failed:
            self._layer = self._built()
        if self._layer is not None:
            self._layer.visible = wanted

    @property
    def note(self) -> str:
        """Words beside its label: none, as they may need what is not computed."""
        return ""

    def at(self, time: float) -> None:
        """Moves everything to a time, if it is built [s]."""
        if self._layer is not None:
            self._layer.at(time)

    def follow(self, xs: Reals) -> None:
        """Takes another trajectory (T + 1, nx), at the latest when it is built."""
        self._xs = xs
        if self._layer is not None:
            self._layer.follow(xs)

    def points(self) -> Reals:
        """Points that the camera should see at first: none, as it is hidden then."""
        return np.zeros((0, 3))

    def _built(self) -> Layer | None:
        """The layer; None where its numbers cannot be computed, which is told once."""
        try:
            layer = self._kind.build(self._scene, self._solution, self._name)
        except TrajoptError as error:
            _LOG.warning("%s: not shown: %s", self._kind.label, error)
            self._failed = True
            return None
        if self._xs is not None:
            layer.follow(self._xs)
        return layer
