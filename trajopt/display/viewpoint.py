"""Camera of a view: directions to look from, and a scene that moves back as the body goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trajopt.display.actor import Actor
from trajopt.display.camera import DIRECTIONS, camera_of
from trajopt.display.layers.films import film, size_of
from trajopt.types import Reals

_LOOKS = 20  # number of times at which the body's travel is measured [-]
_TRAVEL = 1e-3  # least travel of a body that can be followed [m]


class Viewpoint:
    """Buttons for directions to look from, and whether the camera follows the first body.

    The camera follows by moving the scene back, so that it can be turned meanwhile, and a file needs no camera.

    Args:
        server: viser's server.
        actors: The bodies; the camera follows the first.
        ground: viser's ground.
        show: Function that shows the current time again.
    """

    def __init__(self, server: Any, actors: list[Actor], ground: Any, show: Callable[[], None]) -> None:
        self._server, self._actors, self._ground, self._show = server, actors, ground, show
        self._level = np.array(ground.position)
        self._start, self.moves = self._travel()
        self._box: Any = None
        self._following = False
        buttons = server.gui.add_button_group("camera", tuple(DIRECTIONS))
        buttons.on_click(lambda event: self.look_from(event.target.value, event.client))
        if self.moves:
            self._box = server.gui.add_checkbox("follow", False)
            self._box.on_update(lambda _: self._set(bool(self._box.value)))

    @property
    def following(self) -> bool:
        """Whether the camera follows the first body."""
        return self._following

    @following.setter
    def following(self, wanted: bool) -> None:
        if self._box is not None:
            self._box.value = bool(wanted)  # calls _set

    def _set(self, wanted: bool) -> None:
        self._following = wanted
        self._show()

    def move(self) -> None:
        """Moves the scene back by the way that the body has gone, if the camera follows it."""
        way = self._actors[0].body.place - self._start if self._following else np.zeros(3)
        back = np.array([-way[0], -way[1], 0.0])
        for actor in self._actors:
            actor.move(back)
        self._ground.position = tuple(self._level + back)

    def look_from(self, direction: str, client: Any = None) -> None:
        """Places the camera of one page, or of all open pages, so that it shows the whole motion from a direction.

        While it follows the body, it shows the body only.
        """
        points = self._points()
        for page in self._server.get_clients().values() if client is None else [client]:
            camera = camera_of(direction, points, page.camera.aspect)
            with page.atomic():
                page.camera.up_direction, page.camera.fov = (0.0, 0.0, 1.0), camera.fov
                page.camera.position, page.camera.look_at = camera.position, camera.target

    def _points(self) -> Reals:
        if not self._following:
            return np.concatenate([actor.points() for actor in self._actors])
        size = size_of(film(self._actors[0].solution))
        return self._start + 0.6 * size * np.array([[-1.0, -1.0, -1.0], [1.0, 1.0, 1.0]])

    def _travel(self) -> tuple[Reals, bool]:
        """Place of the first body at the start (3,) [m], and whether it leaves it in the plane."""
        body, duration = self._actors[0].body, self._actors[0].timeline.duration
        places = []
        for time in np.linspace(duration, 0.0, _LOOKS):
            body.at(float(time))
            places.append(body.place)
        return places[-1], bool(np.ptp(np.array(places)[:, :2], axis=0).max() > _TRAVEL)
