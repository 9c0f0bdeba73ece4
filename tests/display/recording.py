"""A scene and controls that keep what they are told, in the place of viser's."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from trajopt.types import Reals


class Recording:
    """Takes the calls of viser's `scene` and `gui` with their arguments, and returns them as handles.

    Attributes:
        nodes: Handles by their names; those of controls, which have none, by the call and a number.
    """

    def __init__(self) -> None:
        viser = pytest.importorskip("viser", reason="no viser: pip install viser trimesh pycollada")
        self._owners = (viser.SceneApi, viser.GuiApi)
        self.nodes: dict[str, Any] = {}

    def __getattr__(self, call: str) -> Any:
        function = next(getattr(owner, call) for owner in self._owners if hasattr(owner, call))

        def add(*given: Any, **named: Any) -> Any:
            bound = inspect.signature(function).bind(self, *given, **named)
            bound.apply_defaults()
            values = {k: v for k, v in bound.arguments.items() if k != "self"}
            handle = SimpleNamespace(**values, on_update=lambda change: setattr(handle, "change", change))
            handle.on_click = handle.on_update
            handle.value = values.get("initial_value")
            self.nodes[values.get("name", f"{call}{len(self.nodes)}")] = handle
            return handle

        return add

    def ending(self, end: str) -> list[Any]:
        """Handles whose names end like this."""
        return [handle for name, handle in self.nodes.items() if name.endswith(end)]


def vertices(handle: Any) -> Reals:
    """Points (n, 3) of a mesh in the world, with its scale and place but without its turn."""
    return np.asarray(handle.vertices) * handle.scale + handle.position
