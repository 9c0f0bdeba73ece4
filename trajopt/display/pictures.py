"""Frames of a motion: pictures of the meshes by a browser without a window, otherwise line drawings."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from trajopt.analysis.legs import is_legged
from trajopt.display.actor import Actor
from trajopt.display.camera import Camera, camera_of, line_of_sight
from trajopt.display.extra import DISPLAY
from trajopt.display.headless import BrowserError, Studio, find_browser
from trajopt.display.layers import LayerKind
from trajopt.display.stage import add_ground
from trajopt.errors import MissingDependencyError
from trajopt.plotting.animation import drawn_frames, palette
from trajopt.plotting.film import film_of
from trajopt.plotting.frames import Frame
from trajopt.solution import Solution
from trajopt.types import Reals

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Shot:
    """Content and camera of a film.

    Attributes:
        solution: The motion.
        layers: Kinds of layers that it may have, those of `drawn` included.
        drawn: Objects around the motion for line drawings: arguments of `plotting.film.film_of`.
        camera: Name of a direction, or a camera.
        size: Width and height of a picture [pixel].
    """

    solution: Solution
    layers: Sequence[LayerKind]
    drawn: Mapping[str, Any]
    camera: str | Camera
    size: tuple[int, int]


@contextmanager
def frames_of(shot: Shot, times: Reals, pace: float) -> Iterator[tuple[Iterator[Frame], Any]]:
    """Context manager that yields the frames at some times, and the colours of a GIF or None."""
    studio = _open_studio()
    if isinstance(studio, str):
        _LOG.warning("film: line drawings instead of meshes: %s", studio)
        side = shot.camera == "side" and is_legged(shot.solution)  # as they are drawn anyway
        view = None if side else line_of_sight(shot.camera)
        film = film_of(shot.solution, more=True, view=view, **shot.drawn)
        yield drawn_frames(film, film.times[0] + times, pace, size=shot.size), palette()
        return
    _LOG.info("film: meshes, drawn by %s", studio.browser)
    with studio:
        yield _pictures(studio, shot, times), None


def _open_studio() -> Studio | str:
    """Opens a browser for pictures; returns the reason if there is none."""
    browser = find_browser()
    if browser is None:
        return "no browser was found; install Chromium, such as by apt install chromium"
    try:
        DISPLAY.check("viser", "trimesh")
        return Studio(browser)
    except (BrowserError, MissingDependencyError) as error:
        return str(error)


def _pictures(studio: Studio, shot: Shot, times: Reals) -> Iterator[Frame]:
    """Pictures of the meshes at some times."""
    actor = Actor(studio.scene, shot.solution, "/motion", layers=shot.layers)
    add_ground(studio.scene, actor.points())
    actor.at(float(times[0]))
    studio.aim(camera_of(shot.camera, actor.points(), shot.size[0] / shot.size[1]), shot.size)
    for time in times:
        actor.at(float(time))
        yield studio.picture()
