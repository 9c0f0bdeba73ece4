"""Check of who connects to a view: pages of other sites in the same browser must not read the motion.

A browser lets every page connect to servers of its own machine, and names the page's site in the header Origin. viser
has no hook for it, so the function that starts its websocket server is wrapped while it starts.
"""

from __future__ import annotations

import http
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from trajopt.checks import is_loopback

_starting = threading.Lock()  # one wrapped start at a time


def is_own(origin: str | None, host: str, *, local: bool) -> bool:
    """Whether a page may connect: it came from the server itself.

    Args:
        origin: Header Origin; None for programs that are no browsers.
        host: Header Host: the server's address, as the browser sees it.
        local: Whether the server has an address of this machine only. Then a name that another site has directed to
            this machine is refused as well.
    """
    if origin is None:
        return True
    site = urlsplit(origin)
    name = urlsplit(f"//{host}").hostname or ""
    return site.netloc.lower() == host.lower() and (not local or name == "localhost" or is_loopback(name))


@contextmanager
def own_origins_only(*, local: bool) -> Iterator[None]:
    """Context in which viser servers start that refuse websockets of other sites; `local` as in `is_own`."""
    from websockets.asyncio import server

    with _starting:
        serve = server.serve

        def checked(handler: Any, *arguments: Any, process_request: Any = None, **options: Any) -> Any:
            if getattr(process_request, "__module__", "").startswith("viser."):  # not a server of another thread
                process_request = _checked(process_request, local)
            return serve(handler, *arguments, process_request=process_request, **options)

        server.serve = checked  # type: ignore[misc, assignment]
        try:
            yield
        finally:
            server.serve = serve  # type: ignore[misc]


def _checked(process_request: Callable[[Any, Any], Any], local: bool) -> Callable[[Any, Any], Any]:
    def check(connection: Any, request: Any) -> Any:
        upgrades = request.headers.get("Upgrade", "").lower() == "websocket"
        if upgrades and not is_own(request.headers.get("Origin"), request.headers.get("Host", ""), local=local):
            return connection.respond(http.HTTPStatus.FORBIDDEN, "This view is open to its own page only.\n")
        return process_request(connection, request)

    return check
