"""Addresses that a server may listen at."""

from __future__ import annotations

import ipaddress
import re

from trajopt.checks import check_flag, check_text
from trajopt.errors import InvalidArgumentError, shown

ADDRESS = "tcp://127.0.0.1:5555"
"""Address that clients expect a server at."""
_TCP = re.compile(r"tcp://(?P<host>\[[0-9a-fA-F:.]+\]|[^:/\[\]\s]+):(?P<port>\d{1,5}|\*)")


def check_address(argument: str, address: str, *, allow_remote: bool, cure: str = "pass allow_remote=True") -> str:
    """Returns an address, "localhost" as a number.

    Args:
        argument: Name of the argument, for messages.
        address: "tcp://host:port", port * for any that is free, or "ipc://path".
        allow_remote: Whether other machines may reach it.
        cure: Way to allow that, for messages.

    Raises:
        InvalidArgumentError: It is none, or other machines could reach it although that was not asked for.
    """
    text = check_text(argument, address, such_as=ADDRESS)
    check_flag("allow_remote", allow_remote)
    if re.fullmatch(r"ipc://[^\0\s]+", text):
        return text
    found = _TCP.fullmatch(text)
    if found is None or (found["port"] != "*" and int(found["port"]) > 65535):
        raise InvalidArgumentError(f"{argument}: expected an address such as {ADDRESS!r}, got {shown(address)}")
    host = "127.0.0.1" if found["host"].lower() == "localhost" else found["host"]
    if not allow_remote and not is_loopback(host):
        raise InvalidArgumentError(
            f"{argument}: expected one of this machine, such as {ADDRESS!r}, got {shown(address)}, which others can "
            "reach: any of them could move the robot, as messages are neither secret nor signed; if that is meant, "
            f"{cure}"
        )
    return f"tcp://{host}:{found['port']}"


def check_port(address: str, known: str) -> str:
    """Returns an address to connect to, which needs a port; `known` is what has it, for messages.

    Raises:
        InvalidArgumentError: Its port is *.
    """
    if address.endswith(":*"):
        raise InvalidArgumentError(f"address: expected a port, got {address!r}; {known} has it")
    return address


def is_loopback(host: str) -> bool:
    """Whether a host is this machine alone, by its number."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:  # a name, or *
        return False
