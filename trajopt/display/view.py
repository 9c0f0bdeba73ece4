"""A page in the browser with moving solutions, served on this machine."""

from __future__ import annotations

import atexit
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from trajopt import notebook
from trajopt.analysis.basics import check_solution
from trajopt.checks import (
    check_array,
    check_count,
    check_flag,
    check_instance,
    check_items,
    check_known,
    check_positive,
    check_text,
    check_texts,
)
from trajopt.display.actor import Actor
from trajopt.display.camera import DIRECTIONS
from trajopt.display.extra import DISPLAY
from trajopt.display.keys import add_keys
from trajopt.display.layers import LAYERS, PANELS, LayerKind, PanelKind
from trajopt.display.offline import FRAMES, offline_page
from trajopt.display.page import Page
from trajopt.display.player import RATE, Player
from trajopt.display.stage import set_stage
from trajopt.display.viewpoint import Viewpoint
from trajopt.errors import InvalidArgumentError, TrajoptError, UnsupportedOperationError
from trajopt.files import check_output_path, output_file
from trajopt.objects.closing import Closing
from trajopt.objects.read import Read
from trajopt.plotting.notebook import html_of_solution
from trajopt.solution import Solution
from trajopt.types import Reals

T = TypeVar("T")
_LOG = logging.getLogger(__name__)
_HEIGHT = 500  # height of the frame in a notebook [pixel]


class View(Closing):
    """A page that shows solutions over time; its server runs until `close` or the end of the program.

    The page can be opened and closed several times. Several views have different ports. As a context manager the view
    is closed at the end.

    Args:
        solutions: The solutions; the first has its own colours and all layers, others are translucent.
        labels: Name of each solution; by default "solution", or "solution 1", ...
        iterates: Trajectories (T + 1, nx) of the first solution's iterations, selected by a slider.
        host: Address to listen at; other than with loopback addresses, other machines can see the page.
        port: Port; 0 selects a free port.
        playing: Whether the motion plays at first.
        layers: Kinds of layers that the first solution may have.
        panels: Kinds of panels beside the scene, if the solution has them.
        page: An empty page that is already served, with its own host and port.
        camera: First direction of the camera: "corner", "side", "front" or "top".
        follow: Whether the camera follows the first body at first, as `following`.

    Attributes:
        url: URL of the page.
        host: Address at which the page's server listens.
        port: Port at which the page's server listens.
        closed: Whether the server has ended.
        page: The page.
        server: viser's server, for your own objects: `view.server.scene.add_icosphere(...)`.
        player: Clock with `time`, `speed`, `play()` and `pause()`.
        actors: Body and layers of each solution by label.

    Raises:
        InvalidArgumentError: There is nothing to show, states are not finite, labels do not fit, or the port is in
            use.
        UnknownNameError: There is no camera of this name.
        MissingDependencyError: The extra `display` is not installed.
    """

    url = Read[str](lambda view: view.page.url)
    host = Read[str](lambda view: view.page.host)
    port = Read[int](lambda view: view.page.port)
    closed = Read[bool](lambda view: view.page.closed)

    def __init__(
        self,
        solutions: Solution | Sequence[Solution],
        *,
        labels: Sequence[str] | None = None,
        iterates: Sequence[Reals] = (),
        host: str = "127.0.0.1",
        port: int = 0,
        playing: bool = True,
        layers: Sequence[LayerKind] = LAYERS,
        panels: Sequence[PanelKind] = PANELS,
        page: Page | None = None,
        camera: str = "corner",
        follow: bool = False,
    ) -> None:
        DISPLAY.load("viser")
        DISPLAY.load("trimesh")
        several = list(solutions) if isinstance(solutions, (list, tuple)) else [solutions]
        self.solutions = tuple(check_solution(solution) for solution in several)
        names = _labels(labels, len(self.solutions))
        layers, panels = _check_kinds("layers", layers, LayerKind), _check_kinds("panels", panels, PanelKind)
        self._iterates = _check_iterates(iterates, self.solutions)
        check_text("host", host), check_count("port", port, most=65535)
        self._direction = check_known("camera", camera, DIRECTIONS)
        check_flag("follow", follow)
        self.page = Page(host, port) if page is None else _check_empty(page)
        self.server = self.page.server
        atexit.register(self.close)
        try:
            self._fill(names, check_flag("playing", playing), layers, panels)
            self.following = follow
        except BaseException:
            self.close()
            raise

    def _fill(
        self, names: Sequence[str], playing: bool, layers: Sequence[LayerKind], panels: Sequence[PanelKind]
    ) -> None:
        """Builds the scene and the controls."""
        with self.server.atomic():  # an open page draws the scene once, not piece by piece
            self._set_scene(names, layers)
            self._add_controls(playing)
            self.player.time = 0.0
        self._panel_kinds = tuple(panels)
        for kind in panels:
            self._add_panel(self.server.gui, kind)
        self.player.time = 0.0
        self.player.start()

    def _set_scene(self, names: Sequence[str], layers: Sequence[LayerKind]) -> None:
        self.page.start()
        pairs = enumerate(zip(names, self.solutions))
        self.actors = {name: Actor(self.server.scene, solution, f"/{name}", i, layers) for i, (name, solution) in pairs}
        points = np.concatenate([actor.points() for actor in self.actors.values()])
        self._ground = set_stage(self.server, points, DIRECTIONS[self._direction])
        self.page.name(", ".join(names))

    def _add_controls(self, playing: bool) -> None:
        """Adds the clock, and checkboxes for solutions and layers."""
        gui, first = self.server.gui, next(iter(self.actors.values()))
        self._panels: list[Any] = []
        knots = np.concatenate([actor.timeline.times for actor in self.actors.values()])
        self.player = Player(gui, knots, self._show, lambda: bool(self.server.get_clients()), playing=playing)
        self._viewpoint = Viewpoint(self.server, [*self.actors.values()], self._ground, self._again)
        add_keys(gui, self.player, self._viewpoint)
        if len(self._iterates) > 1:
            last = len(self._iterates)
            slider = gui.add_slider("iteration", min=1, max=last, step=1, initial_value=last)
            slider.on_update(lambda _: self.choose(int(slider.value) - 1))
        if len(self.actors) > 1:
            self._checkboxes(gui, "Solutions", self.actors)
        if first.layers:
            self._checkboxes(gui, "Layers", first.layers)

    @property
    def following(self) -> bool:
        """Whether the camera follows the first body; it cannot follow a body that stays in its place."""
        return self._viewpoint.following

    @following.setter
    def following(self, wanted: bool) -> None:
        self._viewpoint.following = check_flag("following", wanted)

    def look_from(self, direction: str) -> None:
        """Turns the cameras of all open pages to a direction: "corner", "side", "front" or "top".

        Raises:
            UnknownNameError: There is no direction of this name.
        """
        self._viewpoint.look_from(check_known("direction", direction, DIRECTIONS))

    def _again(self) -> None:
        """Shows the current time again."""
        self.player.time = self.player.time

    def _add_panel(self, gui: Any, kind: PanelKind) -> None:
        """Adds a panel in a folder, or logs a warning if its numbers cannot be computed."""
        folder = None
        try:
            if kind.applies(self.solutions[0]):
                folder = gui.add_folder(kind.label)
                with folder:
                    self._panels.append(kind.build(gui, self.solutions[0]))
        except TrajoptError as error:
            _LOG.warning("%s: not shown: %s", kind.label, error)
            if folder is not None:
                folder.remove()

    def _checkboxes(self, gui: Any, title: str, things: Mapping[str, Any]) -> None:
        """Adds a checkbox for each object, which shows and hides it."""
        with gui.add_folder(title):
            for label, thing in things.items():
                note = getattr(thing, "note", "")
                box = gui.add_checkbox(f"{label} ({note})" if note else label, thing.visible)

                def change(_: Any, box: Any = box, thing: Any = thing) -> None:
                    thing.visible = box.value
                    self._again()

                box.on_update(change)

    def choose(self, iteration: int) -> None:
        """Shows the trajectory of one of the `iterates`, numbered from 0.

        Raises:
            InvalidArgumentError: There is no iterate of this number.
        """
        number = check_count("iteration", iteration)
        if number >= len(self._iterates):
            raise InvalidArgumentError(f"iteration: expected one of {len(self._iterates)} iterates, got {number}")
        next(iter(self.actors.values())).follow(self._iterates[number])
        self._again()

    def _show(self, time: float) -> None:
        """Moves everything to a time [s]."""
        with self.server.atomic():
            for actor in self.actors.values():
                if actor.visible:
                    actor.at(time)
            self._viewpoint.move()
        for panel in self._panels:
            panel.at(time)

    def open(self) -> bool:
        """Opens the page in the browser of this machine; returns whether there is a graphical browser."""
        return self.page.open()

    def html(self, *, frames_per_second: float = RATE) -> str:
        """Returns the motion as an HTML page that plays without a server or network.

        It has the title, all layers with their colours and checkboxes, and the curves. Layers that are visible now are
        visible at first.

        Args:
            frames_per_second: Frame rate, > 0 [1/s]; it is lowered to keep at most 1,500 frames.

        Raises:
            UnsupportedOperationError: The view is closed.
        """
        rate = check_positive("frames_per_second", frames_per_second)
        if self.closed:
            raise UnsupportedOperationError("view: expected an open one, got a closed one; show the solution again")
        rate = min(rate, FRAMES / max(self.player.duration, 1e-9))
        return offline_page(self.server, self.player, self.actors, self._panel_kinds, rate)

    def save(self, path: str | Path, *, frames_per_second: float = RATE) -> Path:
        """Writes the page of `html` to a .html file, and returns its path.

        Raises:
            InvalidArgumentError: The suffix is not .html, or the file cannot be written.
        """
        path = check_output_path(path, "path", (".html",))
        page = self.html(frames_per_second=frames_per_second).encode()
        with output_file(path) as file:
            file.write(page)
        return path

    def wait(self) -> None:
        """Waits until the view is closed; Ctrl-C closes it."""
        self.page.wait()
        self.close()

    def close(self) -> None:
        """Ends the server; open pages keep what they show. A view cannot be reopened."""
        atexit.unregister(self.close)
        if hasattr(self, "player"):
            self.player.close()
        self.page.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else self.url
        return f"View({', '.join(self.actors)}; {state})"

    def _repr_html_(self) -> str:
        still = html_of_solution(self.solutions[0])
        return still if self.closed else notebook.page(self.url, _HEIGHT, still)


def _labels(labels: Sequence[str] | None, count: int) -> list[str]:
    if count == 0:
        raise InvalidArgumentError("solutions: expected at least one solution, got none")
    if labels is None:
        return ["solution"] if count == 1 else [f"solution {i + 1}" for i in range(count)]
    names = [name.replace("/", "-") for name in check_texts("labels", labels)]
    if len(names) != count or len(set(names)) != count or not all(names):
        raise InvalidArgumentError(f"labels: expected {count} different names, one for each solution, got {names}")
    return names


def _check_kinds(argument: str, kinds: Any, kind: type[T]) -> list[T]:
    """Checks kinds of layers or panels, and returns them."""
    several = enumerate(check_items(argument, kinds, f"{kind.__name__}s"))
    return [
        check_instance(f"{argument}[{i}]", each, kind, "such as one of trajopt.display.layers") for i, each in several
    ]


def _check_empty(page: Any) -> Page:
    """Checks that a view can fill a page, and returns the page."""
    check_instance("page", page, Page, "such as trajopt.display.Page()")
    if page.closed or page.filled:
        state = "closed" if page.closed else "filled"
        raise InvalidArgumentError(f"page: expected an open page without a view, got a {state} one; create a new Page")
    return cast(Page, page)


def _check_iterates(iterates: Sequence[Reals], solutions: Sequence[Solution]) -> list[Reals]:
    """Checks that trajectories of iterations fit the first solution, and returns them."""
    shape, cure = solutions[0].xs.shape, "CallbackLogger(trajectories=True) stores those of a solve"
    trajectories = check_items("iterates", iterates, "trajectories (T + 1, nx)", cure=cure)
    return [check_array(f"iterates[{i}]", xs, shape, cure=cure) for i, xs in enumerate(trajectories)]
