"""Parts of a view that stand beside a robot's meshes: layers in space, panels with curves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.solution import Solution
from trajopt.types import Reals


class Layer(ABC):
    """Things in a scene that follow a solution in time, shown or hidden together.

    A subclass adds its nodes below `name`, as f"{name}/arrow", in its constructor, and moves them in `at`.

    Args:
        scene: viser's scene: `server.scene`.
        solution: The solution, with a robot or without.
        name: Path of the layer in the scene, such as "/a/forces".
    """

    def __init__(self, scene: Any, solution: Solution, name: str) -> None:
        self.scene, self.solution, self.name = scene, solution, name
        self._root = scene.add_frame(name, show_axes=False)

    def add_lines(self, name: str, pairs: npt.NDArray[Any], color: Any, width: float) -> Any:
        """Adds lines between pairs of points (n, 2, 3) [m], of a width on the screen [pixel]."""
        path = f"{self.name}/{name}"
        return self.scene.add_line_segments(path, pairs, color, thickness=width, thickness_units="screen")

    @abstractmethod
    def at(self, time: float) -> None:
        """Moves everything to where it is at a time, between 0 and the end of the motion [s]."""

    def follow(self, xs: Reals) -> None:  # noqa: B027 (optional: most layers are those of the solution)
        """Takes another trajectory (T + 1, nx), such as that of an iteration; what knows only the solution stays."""

    def points(self) -> Reals:
        """Points (n, 3) that the camera should see at first [m]; none by default."""
        return np.zeros((0, 3))

    @property
    def note(self) -> str:
        """Words beside its label, such as the scale of arrows; none by default."""
        return ""

    @property
    def visible(self) -> bool:
        """Whether it is shown."""
        return bool(self._root.visible)

    @visible.setter
    def visible(self, wanted: bool) -> None:
        self._root.visible = bool(wanted)


class Panel(ABC):
    """Something beside the scene that follows a solution in time, such as curves with a cursor.

    Args:
        gui: viser's controls: `server.gui`, inside the folder where the panel stands.
        solution: The solution.
    """

    def __init__(self, gui: Any, solution: Solution) -> None:
        self.gui, self.solution = gui, solution

    @abstractmethod
    def at(self, time: float) -> None:
        """Moves the cursor to a time, between 0 and the end of the motion [s]."""


@dataclass(frozen=True, kw_only=True)
class LayerKind:
    """An entry of the list of layers.

    Attributes:
        label: Words beside the checkbox.
        applies: Whether a solution has this.
        build: The class, called as build(scene, solution, name).
        on: Whether it is shown at first.
        body: Whether it is the body of a system without a robot, which a view needs at least.
    """

    label: str
    applies: Callable[[Solution], bool]
    build: Callable[[Any, Solution, str], Layer]
    on: bool = True
    body: bool = False


@dataclass(frozen=True, kw_only=True)
class PanelKind:
    """An entry of the list of panels.

    Attributes:
        label: Title of the folder in which it stands.
        applies: Whether a solution has this.
        build: The class, called as build(gui, solution).
    """

    label: str
    applies: Callable[[Solution], bool]
    build: Callable[[Any, Solution], Panel]
