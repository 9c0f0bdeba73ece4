"""A page in the browser with moving solutions, served on this machine."""

from __future__ import annotations

import atexit
import logging
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.analysis.basics import check_solution
from trajopt.checks import check_array, check_count, check_items, check_positive, check_text, check_texts
from trajopt.display.actor import Actor
from trajopt.display.extra import import_trimesh, import_viser
from trajopt.display.layers import LAYERS, PANELS, LayerKind, PanelKind
from trajopt.display.player import RATE, Player
from trajopt.display.stage import light_simply, set_stage
from trajopt.errors import InvalidArgumentError, TrajoptError, UnsupportedOperationError
from trajopt.plotting.style import check_output_path
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution

_LOG = logging.getLogger(__name__)
_HEIGHT = 500  # of the frame in a notebook [pixel]
_MOST = 1500  # pictures of a file


class View:
    """A page that shows solutions over time, as long as its server runs: until `close`, or the end of the program.

    A page may be opened several times, and closed; that ends nothing. Several views have ports of their own. As a
    context it is closed at the end.

    Args:
        solutions: The solutions; the first one has its own colours and all layers, others are translucent.
        labels: Name of each; by default "solution", or "solution 1", ...
        iterates: Trajectories (T + 1, nx) of the iterations of the first solution, to be chosen by a slider.
        host: Address at which it listens; others than loopback let other machines see the page.
        port: Port; 0 takes a free one.
        playing: Whether it plays at first.
        layers: Kinds of layers that the first solution may have.
        panels: Kinds of panels that stand beside it, where it has them.

    Attributes:
        server: viser's server, to add things of one's own: `view.server.scene.add_icosphere(...)`.
        player: Clock with `time`, `speed`, `play()` and `pause()`.
        actors: Body and layers of each solution by its label.
        host: Address at which it listens.
        port: Port at which it listens.

    Raises:
        InvalidArgumentError: There is nothing to show, states are not finite, labels do not fit, or the port is taken.
        MissingDependencyError: The extra `display` is not installed.
    """

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
    ) -> None:
        viser, _ = import_viser(), import_trimesh()
        several = list(solutions) if isinstance(solutions, (list, tuple)) else [solutions]
        self.solutions = tuple(check_solution(solution) for solution in several)
        names = _labels(labels, len(self.solutions))
        self._iterates = _check_iterates(iterates, self.solutions)
        self.host = check_address(host, port)
        with _silence():
            self.server = viser.ViserServer(host=self.host, port=port, label="trajopt", verbose=False)
        self.port = int(self.server.get_port())
        self._closed = threading.Event()
        atexit.register(self.close)
        try:
            self._fill(names, playing, layers, panels)
        except BaseException:
            self.close()
            raise

    def _fill(
        self, names: Sequence[str], playing: bool, layers: Sequence[LayerKind], panels: Sequence[PanelKind]
    ) -> None:
        """Builds the scene and the controls."""
        scene, gui = self.server.scene, self.server.gui
        gui.configure_theme(show_logo=False, show_share_button=False, control_width="medium")
        gui.main_panel.dock_right()
        pairs = enumerate(zip(names, self.solutions))
        self.actors = {name: Actor(scene, solution, f"/{name}", i, layers) for i, (name, solution) in pairs}
        self.server.on_client_connect(light_simply)
        set_stage(self.server, np.concatenate([actor.points() for actor in self.actors.values()]))
        duration = max(actor.timeline.duration for actor in self.actors.values())
        self._panels: list[Any] = []
        self.player = Player(gui, duration, self._show, playing=playing)
        first = next(iter(self.actors.values()))
        if len(self._iterates) > 1:
            last = len(self._iterates)
            slider = gui.add_slider("iteration", min=1, max=last, step=1, initial_value=last)
            slider.on_update(lambda _: self.choose(int(slider.value) - 1))
        if len(self.actors) > 1:
            self._checkboxes(gui, "Solutions", self.actors)
        if first.layers:
            self._checkboxes(gui, "Layers", first.layers)
        for kind in panels:
            self._add_panel(gui, kind)
        self.player.time = 0.0
        self.player.start()

    def _add_panel(self, gui: Any, kind: PanelKind) -> None:
        """A panel in a folder; none where its numbers cannot be computed, which is told."""
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
        """A box for each thing, which shows and hides it."""
        with gui.add_folder(title):
            for label, thing in things.items():
                note = getattr(thing, "note", "")
                box = gui.add_checkbox(f"{label} ({note})" if note else label, thing.visible)

                def change(_: Any, box: Any = box, thing: Any = thing) -> None:
                    thing.visible = box.value
                    self.player.time = self.player.time

                box.on_update(change)

    def choose(self, iteration: int) -> None:
        """Shows the trajectory of one of the `iterates`, from 0.

        Raises:
            InvalidArgumentError: There is no such iteration.
        """
        number = check_count("iteration", iteration)
        if number >= len(self._iterates):
            raise InvalidArgumentError(f"iteration: expected one of {len(self._iterates)} iterates, got {number}")
        next(iter(self.actors.values())).follow(self._iterates[number])
        self.player.time = self.player.time

    def _show(self, time: float) -> None:
        """Moves everything to a time [s]."""
        with self.server.atomic():
            for actor in self.actors.values():
                if actor.visible:
                    actor.at(time)
        for panel in self._panels:
            panel.at(time)

    @property
    def url(self) -> str:
        """Address of the page."""
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "::1": "[::1]"}.get(self.host, self.host)
        return f"http://{host}:{self.port}"

    def open(self) -> bool:
        """Opens the page in the browser of this machine's screen; returns whether there is one."""
        from trajopt.display.browser import open_page

        return open_page(self.url)

    def html(self, *, frames_per_second: float = RATE) -> str:
        """The motion as one page that plays without a server and a network; layers as they are shown now.

        Args:
            frames_per_second: Pictures a second, > 0 [1/s]; fewer where there would be more than 1,500.

        Raises:
            UnsupportedOperationError: The view is closed.
        """
        rate = check_positive("frames_per_second", frames_per_second)
        if self.closed:
            raise UnsupportedOperationError("view: expected an open one, got a closed one; show the solution again")
        duration = self.player.duration
        rate = min(rate, _MOST / max(duration, 1e-9))
        playing, time = self.player.playing, self.player.time
        self.player.pause()
        self.player.time = 0.0
        recording = self.server.get_scene_serializer()
        for frame in np.arange(1, int(np.ceil(duration * rate - 1e-9)) + 1):
            recording.insert_sleep(1.0 / rate)
            self.player.time = min(frame / rate, duration)
        page = str(recording.as_html())
        self.player.time = time
        if playing:
            self.player.play()
        title = escape(", ".join(self.actors))
        return page.replace("<title>Viser</title>", f"<title>{title}</title>", 1)

    def save(self, path: str | Path, *, frames_per_second: float = RATE) -> Path:
        """Writes the page of `html` to a file .html, and returns its path.

        Raises:
            InvalidArgumentError: The suffix is another, or the file cannot be written.
        """
        path = check_output_path(path, "path", (".html",))
        path.write_text(self.html(frames_per_second=frames_per_second), encoding="utf-8")
        return path

    def wait(self) -> None:
        """Returns when the view is closed, or after Ctrl-C, which closes it."""
        try:
            while not self._closed.wait(0.5):
                pass
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """Ends the server; pages that are open stay as they are. A closed view stays closed."""
        if self._closed.is_set():
            return
        self._closed.set()
        atexit.unregister(self.close)
        if hasattr(self, "player"):
            self.player.close()
        with _silence():
            self.server.stop()

    @property
    def closed(self) -> bool:
        """Whether the server has ended."""
        return self._closed.is_set()

    def __enter__(self) -> View:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else self.url
        return f"View({', '.join(self.actors)}; {state})"

    def _repr_html_(self) -> str:
        if self.closed:
            return f"<code>{escape(repr(self))}</code>"
        return f'<iframe src="{self.url}" width="100%" height="{_HEIGHT}" style="border:1px solid #ddd"></iframe>'


def _labels(labels: Sequence[str] | None, count: int) -> list[str]:
    if count == 0:
        raise InvalidArgumentError("solutions: expected at least one solution, got none")
    if labels is None:
        return ["solution"] if count == 1 else [f"solution {i + 1}" for i in range(count)]
    names = [name.replace("/", "-") for name in check_texts("labels", labels)]
    if len(names) != count or len(set(names)) != count or not all(names):
        raise InvalidArgumentError(f"labels: expected {count} different names, one for each solution, got {names}")
    return names


def _check_iterates(iterates: Sequence[Reals], solutions: Sequence[Solution]) -> list[Reals]:
    """Trajectories of iterations, which fit the first solution."""
    shape, cure = solutions[0].xs.shape, "CallbackLogger(trajectories=True) keeps those of a solve"
    given = check_items("iterates", iterates, "trajectories (T + 1, nx)", cure=cure)
    return [check_array(f"iterates[{i}]", xs, shape, cure=cure) for i, xs in enumerate(given)]


def check_address(host: Any, port: Any) -> str:
    """Returns `host`; raises InvalidArgumentError unless one can listen at a port of it."""
    check_text("host", host)
    check_count("port", port, most=65535)
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((host, port))
    except (OSError, UnicodeError) as error:
        raise InvalidArgumentError(
            f"host, port: expected an address of this machine with a free port, got {host}:{port} "
            f"({getattr(error, 'strerror', error)}); port 0 takes a free one"
        ) from error
    return str(host)


@contextmanager
def _silence() -> Iterator[None]:
    """Keeps viser from printing when a server starts and stops."""
    import rich

    console = rich.get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before
