"""Checks of addresses that a server listens at."""

from __future__ import annotations

import re

from trajopt.checks import check_flag, check_text, is_loopback
from trajopt.errors import InvalidArgumentError, shown

ADDRESS = "tcp://127.0.0.1:5555"
"""Default address of servers and clients."""
_TCP = re.compile(r"tcp://(?P<host>\[[0-9a-fA-F:.]+\]|[^:/\[\]\s]+):(?P<port>\d{1,5}|\*)")


def check_address(argument: str, address: str, *, allow_remote: bool, cure: str = "pass allow_remote=True") -> str:
    """Checks an address and returns it, with "localhost" replaced by 127.0.0.1.

    Args:
        argument: Name of the argument, for messages.
        address: "tcp://host:port", with port * for any free port, or "ipc://path".
        allow_remote: Whether addresses that other machines can reach are accepted.
        cure: How the user allows such addresses, for messages.

    Raises:
        InvalidArgumentError: The text is not an address, or other machines could reach it without `allow_remote`.
    """
    text = check_text(argument, address, such_as=ADDRESS)
    check_flag("allow_remote", allow_remote)
    if re.fullmatch(r"ipc://[^\0\s]+", text):
        return text
    match = _TCP.fullmatch(text)
    if match is None or (match["port"] != "*" and int(match["port"]) > 65535):
        raise InvalidArgumentError(f"{argument}: expected an address such as {ADDRESS!r}, got {shown(address)}")
    host = "127.0.0.1" if match["host"].lower() == "localhost" else match["host"]
    if not allow_remote and not is_loopback(host):
        raise InvalidArgumentError(
            f"{argument}: expected an address of this machine, such as {ADDRESS!r}, got {shown(address)}, which other "
            "machines can reach. Messages are neither encrypted nor signed, so any of them could move the robot; to "
            f"accept that, {cure}"
        )
    return f"tcp://{host}:{match['port']}"


def check_port(address: str, origin: str) -> str:
    """Checks that an address to connect to has a port, and returns it; `origin` names its source in messages.

    Raises:
        InvalidArgumentError: The port is *.
    """
    if address.endswith(":*"):
        raise InvalidArgumentError(f"address: expected a port, got {address!r}; {origin} has the port of the server")
    return address
