"""An empty page in the browser: server, address and light."""

from __future__ import annotations

import atexit
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from trajopt.checks import check_count, check_text, is_loopback
from trajopt.display.browser import open_page
from trajopt.display.extra import DISPLAY
from trajopt.display.origins import own_origins_only
from trajopt.display.scripts import name_tab
from trajopt.display.stage import light_simply
from trajopt.errors import InvalidArgumentError
from trajopt.objects.closing import Closing


class Page(Closing):
    """A page that is served until `close` or the end of the program, and is filled by a `View`.

        with Page(words="solving ...") as page:
            page.open()
            View(solver.solve(), page=page).wait()

    Browsers may read it from pages of its own address only, and not from pages of other sites.

    A browser takes a second or more to load viser's client. With a page it does so while the problem is solved.

    Args:
        host: Address to listen at; other than with loopback addresses, other machines can see the page.
        port: Port; 0 selects a free port.
        words: Text on the page until it is filled.

    Attributes:
        server: viser's server.
        host: Address of the server.
        port: Port of the server.
        filled: Whether a view fills the page.

    Raises:
        InvalidArgumentError: The address is not on this machine, or the port is in use.
        MissingDependencyError: The extra `display` is not installed.
    """

    settable = ("filled",)

    def __init__(self, host: str = "127.0.0.1", port: int = 0, *, words: str = "") -> None:
        viser = DISPLAY.load("viser")
        logging.getLogger("websockets.server").addFilter(_is_news)
        self.host = check_address(host, port)
        check_text("words", words)
        with _silence(), own_origins_only(local=self.host == "localhost" or is_loopback(self.host)):
            self.server: Any = viser.ViserServer(host=self.host, port=port, label="trajopt", verbose=False)
        self.port = int(self.server.get_port())
        self.filled, self._closed = False, threading.Event()
        atexit.register(self.close)
        light_simply(self.server)
        gui = self.server.gui
        gui.configure_theme(show_logo=False, show_share_button=False, control_width="medium")
        gui.main_panel.dock_right()
        self.name(words or "trajopt")
        self._words = gui.add_html(f'<div style="padding:0 1em">{escape(words)}</div>') if words else None

    def name(self, title: str) -> None:
        """Names the browser's tab and the panel of controls."""
        check_text("title", title)
        name_tab(self.server, title)

    def start(self) -> None:
        """Removes the text, as a view fills the page now."""
        self.filled = True
        if self._words is not None:
            self._words.remove()
            self._words = None

    @property
    def url(self) -> str:
        """URL of the page."""
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "::1": "[::1]"}.get(self.host, self.host)
        return f"http://{host}:{self.port}"

    def open(self) -> bool:
        """Opens the page in the browser of this machine; returns whether there is a graphical browser."""
        return open_page(self.url)

    def wait(self) -> None:
        """Waits until the page is closed; Ctrl-C closes it."""
        try:
            while not self._closed.wait(0.5):
                pass
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """Ends the server; browsers keep what they show. A page cannot be reopened."""
        if self._closed.is_set():
            return
        self._closed.set()
        atexit.unregister(self.close)
        with _silence():
            self.server.stop()

    @property
    def closed(self) -> bool:
        """Whether the server has ended."""
        return self._closed.is_set()

    def __repr__(self) -> str:
        return f"Page({'closed' if self.closed else self.url})"


def check_address(host: Any, port: Any) -> str:
    """Checks that a server can listen at a host and port, and returns the host; raises InvalidArgumentError if not."""
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
            f"({getattr(error, 'strerror', error)}); port 0 selects a free port"
        ) from error
    return str(host)


def _is_news(record: logging.LogRecord) -> bool:
    """False for connections that a browser opens in reserve and closes unused; viser filters them a moment later."""
    return record.getMessage() != "opening handshake failed"


@contextmanager
def _silence() -> Iterator[None]:
    """Context manager that keeps viser from printing when a server starts and stops."""
    import rich

    console = rich.get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before
