"""Listening sockets at addresses of a server."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat

from trajopt.errors import InvalidArgumentError

BACKLOG = 128  # connections that wait to be accepted [-]


def listen(argument: str, address: str) -> tuple[socket.socket, str]:
    """Returns a listening socket at an address, and the address with its actual port.

    Raises:
        InvalidArgumentError: The address is in use or not valid; the message names the argument.
    """
    kind, _, place = address.partition("://")
    listener = None
    try:
        if kind == "ipc":
            listener = _listen_at_path(place)
        else:
            listener, address = _listen_at_port(place)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except (OSError, UnicodeError) as error:  # names of hosts have their own rules
        if listener is not None:
            listener.close()
        raise InvalidArgumentError(
            f"{argument}: expected a free address, got {address!r}: {error}; port * selects a free port"
        ) from None
    return listener, address


def close(listener: socket.socket) -> None:
    """Closes a listening socket, and removes its file if it has one."""
    name = listener.getsockname() if listener.family == socket.AF_UNIX else ""
    listener.close()
    if isinstance(name, str) and name:
        with contextlib.suppress(OSError):
            os.unlink(name)


def _listen_at_port(place: str) -> tuple[socket.socket, str]:
    host, _, port = place.rpartition(":")
    found = socket.getaddrinfo(
        None if host == "*" else host.strip("[]"),
        0 if port == "*" else int(port),
        family=socket.AF_UNSPEC if host != "*" else socket.AF_INET,
        type=socket.SOCK_STREAM,
        flags=socket.AI_PASSIVE,
    )
    family, kind, protocol, _, name = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind(name)
    except OSError:
        listener.close()
        raise
    bound = listener.getsockname()
    shown = f"[{bound[0]}]" if family == socket.AF_INET6 else bound[0]
    return listener, f"tcp://{shown}:{bound[1]}"


def _listen_at_path(path: str) -> socket.socket:
    """A socket at a path; the file of a server that ended without removing it is replaced."""
    name = "\0" + path[1:] if path.startswith("@") else path
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if name == path and _is_left_over(path):
            os.unlink(path)
        listener.bind(name)
    except OSError:
        listener.close()
        raise
    return listener


def _is_left_over(path: str) -> bool:
    """Whether a path is a socket at which nobody listens."""
    if not os.path.exists(path) or not stat.S_ISSOCK(os.stat(path).st_mode):
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        return client.connect_ex(path) == errno.ECONNREFUSED
