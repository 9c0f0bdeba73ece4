"""Bytes of ZeroMQ connections: ZMTP 3.0 with the NULL mechanism, and heartbeats of 3.1.

The server has sockets of its own, since libzmq 4.3.5 ends the process of a ROUTER socket with a limited queue
(RCVHWM): a client that sends more requests than fit, then a heartbeat, and disconnects, fails an assertion
(libzmq issues 3937 and 4767). Without a limit its queue grows as long as a client sends.

Sources: https://rfc.zeromq.org/spec/23 (ZMTP 3.0), https://rfc.zeromq.org/spec/37 (ZMTP 3.1).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
"""First bytes of both ends: signature, version 3.0, security mechanism, role and filler."""

MORE, LONG, COMMAND = 1, 2, 4  # flags of a frame
MOST = 64  # frames of a message [-]
_LONGEST_CONTEXT = 16  # of a heartbeat [bytes]


class ProtocolError(Exception):
    """The other end does not speak ZMTP, or exceeds a limit."""


def frame(data: bytes, flags: int = 0) -> bytes:
    """Bytes of a frame."""
    if len(data) > 255:
        return struct.pack(">BQ", flags | LONG, len(data)) + data
    return bytes([flags, len(data)]) + data


def message(frames: list[bytes]) -> bytes:
    """Bytes of a message of several frames."""
    return b"".join(frame(data, MORE if i + 1 < len(frames) else 0) for i, data in enumerate(frames))


def command(name: bytes, content: bytes = b"") -> bytes:
    """Bytes of a command, such as READY."""
    return frame(bytes([len(name)]) + name + content, COMMAND)


def ready(kind: bytes) -> bytes:
    """The command that ends the handshake; `kind` is the type of the socket, such as b"ROUTER"."""
    return command(b"READY", b"".join(_property(*each) for each in ((b"Socket-Type", kind), (b"Identity", b""))))


def ping(seconds: float) -> bytes:
    """A heartbeat; the other end may close the connection if it hears nothing else within a time [s]."""
    return command(b"PING", struct.pack(">H", round(10 * seconds)))


def _property(name: bytes, value: bytes) -> bytes:
    return bytes([len(name)]) + name + struct.pack(">I", len(value)) + value


def check_greeting(data: bytes) -> int:
    """Checks the greeting of the other end, as far as it has come, and returns its minor version.

    Raises:
        ProtocolError: It is not that of ZMTP 3 with the NULL mechanism.
    """
    begins = data[:1] in (b"", b"\xff") and data[9:10] in (b"", b"\x7f")
    if not begins or (data[10:11] or b"\x03") < b"\x03" or not GREETING[12:32].startswith(data[12:32]):
        raise ProtocolError("expected the greeting of ZMTP 3 with the NULL mechanism")
    return data[11] if len(data) > 11 else 0


def read_command(data: bytes) -> tuple[bytes, bytes]:
    """Returns name and content of a command.

    Raises:
        ProtocolError: Its name is not complete.
    """
    end = 1 + (data[0] if data else 0)
    if not data or len(data) < end:
        raise ProtocolError("expected the name of a command")
    return data[1:end], data[end:]


def socket_type(content: bytes) -> bytes:
    """Type of the socket at the other end, from the content of its READY.

    Raises:
        ProtocolError: The content does not give one.
    """
    at = 0
    try:
        while at < len(content):
            name, at = content[at + 1 : at + 1 + content[at]], at + 1 + content[at]
            (size,) = struct.unpack_from(">I", content, at)
            value, at = content[at + 4 : at + 4 + size], at + 4 + size
            if name.lower() == b"socket-type":
                return value
    except (IndexError, struct.error):
        pass
    raise ProtocolError("expected a READY with the type of the socket")


def pong(content: bytes) -> bytes:
    """The answer to a heartbeat: its context, which follows two bytes of time."""
    return command(b"PONG", content[2 : 2 + _LONGEST_CONTEXT])


class Decoder:
    """Cuts the bytes that arrive on a connection into frames.

    Args:
        longest: Longest message in all its frames; a longer one is refused before its bytes are awaited [bytes].
    """

    def __init__(self, longest: int) -> None:
        self._data, self._longest = bytearray(), longest
        self._frames: list[bytes] = []

    def feed(self, data: bytes) -> None:
        """Adds bytes."""
        self._data += data

    def greeting(self) -> int | None:
        """Takes the greeting and returns its minor version; None while it is incomplete.

        Raises:
            ProtocolError: It is not a greeting.
        """
        minor = check_greeting(bytes(self._data[: len(GREETING)]))
        if len(self._data) < len(GREETING):
            return None
        del self._data[: len(GREETING)]
        return minor

    def messages(self) -> Iterator[tuple[bool, list[bytes]]]:
        """Takes complete messages: whether each is a command, and its frames.

        Raises:
            ProtocolError: A message is too long or has too many frames.
        """
        begin = 0
        try:
            while (head := self._head(begin)) is not None:
                flags, start, end = head
                if end > len(self._data):
                    return
                data, begin = bytes(self._data[start:end]), end
                if flags & COMMAND:
                    yield True, [data]
                    continue
                self._frames.append(data)
                if not flags & MORE:
                    frames, self._frames = self._frames, []
                    yield False, frames
        finally:
            del self._data[:begin]

    def _head(self, at: int) -> tuple[int, int, int] | None:
        """Flags of the frame at a position, and where its content begins and ends; None while it is incomplete."""
        flags = self._data[at] if at < len(self._data) else 0
        start = at + (9 if flags & LONG else 2)
        if len(self._data) < start:
            return None
        size = int.from_bytes(self._data[at + 1 : start], "big")
        before = sum(map(len, self._frames))
        if flags & ~(MORE | LONG | COMMAND) or before + size > self._longest or len(self._frames) >= MOST:
            raise ProtocolError(f"expected frames of at most {self._longest} bytes")
        return flags, start, start + size
