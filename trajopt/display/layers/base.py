"""Interfaces of the parts of a view besides a robot's meshes: layers in space, panels with curves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.display.layers import films
from trajopt.plotting.film import Film
from trajopt.solution import Solution
from trajopt.types import Reals


class Switched:
    """Objects below one frame of the scene, which are shown or hidden together.

    Args:
        scene: viser's scene: `server.scene`.
        name: Path of the frame in the scene.

    Attributes:
        path: Path of the frame in the scene.
    """

    legend = ""
    """Colour in legends, as a background in CSS; empty for objects with their own colours."""

    def __init__(self, scene: Any, name: str) -> None:
        self.path = name
        self._root = scene.add_frame(name, show_axes=False)

    @property
    def visible(self) -> bool:
        """Whether the objects are visible."""
        return bool(self._root.visible)

    @visible.setter
    def visible(self, wanted: bool) -> None:
        self._root.visible = bool(wanted)

    @property
    def note(self) -> str:
        """Text beside the label, such as the scale of arrows; empty by default."""
        return ""


class Layer(ABC, Switched):
    """Objects in a scene that follow a solution in time, and are shown or hidden together.

    A subclass adds its objects below `name` in its constructor, for example f"{name}/arrow", and moves them in `at`.

    Args:
        scene: viser's scene: `server.scene`.
        solution: The solution, with or without a robot.
        name: Path of the layer in the scene, such as "/a/forces".
    """

    def __init__(self, scene: Any, solution: Solution, name: str) -> None:
        super().__init__(scene, name)
        self.scene, self.solution, self.name = scene, solution, name

    def add_lines(self, name: str, pairs: npt.NDArray[Any], color: Any, width: float) -> Any:
        """Adds lines between pairs of points (n, 2, 3) [m], of a width on the screen [pixel]."""
        path = f"{self.name}/{name}"
        return self.scene.add_line_segments(path, pairs, color, thickness=width, thickness_units="screen")

    @property
    def film(self) -> Film:
        """The motion as the pictures show it."""
        return films.film(self.solution)

    def at(self, time: float) -> None:
        """Moves all objects to a time between 0 and the end of the motion [s]."""

    def follow(self, xs: Reals) -> None:
        """Switches to another trajectory (T + 1, nx), for example of an iteration; other layers do not change."""

    def points(self) -> Reals:
        """Returns points (n, 3) [m] that the initial camera should show; none by default."""
        return np.zeros((0, 3))

    @property
    def place(self) -> Reals:
        """Point (3,) of a body that a camera may follow [m]; the origin by default."""
        return np.zeros(3)


class Panel(ABC):
    """Control beside the scene that follows a solution in time, such as curves with a cursor.

    Args:
        gui: viser's controls: `server.gui`, inside the panel's folder.
        solution: The solution.
    """

    def __init__(self, gui: Any, solution: Solution) -> None:
        self.gui, self.solution = gui, solution

    @abstractmethod
    def at(self, time: float) -> None:
        """Moves the cursor to a time, between 0 and the end of the motion [s]."""


@dataclass(frozen=True, kw_only=True)
class LayerKind:
    """Entry in the list of layers.

    Attributes:
        label: Label of the checkbox.
        applies: Function that returns whether a solution has this layer.
        build: Class of the layer, called as build(scene, solution, name).
        on: Whether the layer is visible at first.
        body: Whether it is the body of a system without a robot; a view needs a body.
    """

    label: str
    applies: Callable[[Solution], bool]
    build: Callable[[Any, Solution, str], Layer]
    on: bool = True
    body: bool = False


@dataclass(frozen=True, kw_only=True)
class PanelKind:
    """Entry in the list of panels.

    Attributes:
        label: Title of the panel's folder.
        applies: Function that returns whether a solution has this panel.
        build: Class of the panel, called as build(gui, solution).
    """

    label: str
    applies: Callable[[Solution], bool]
    build: Callable[[Any, Solution], Panel]
