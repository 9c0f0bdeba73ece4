"""Connection: one client of a server, with limits on what waits in both directions."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Collection

from trajopt.mpc.server import zmtp

QUEUE = 100  # answers and plans that wait for a client to read them [-]
CHUNK = 16_384  # bytes that are read at once; the requests in them are answered before more is read
HANDSHAKE, BEAT, DEAD = 2.0, 1.0, 5.0  # times after which silent connections are closed [s]
SUBSCRIPTIONS, TOPIC = 16, 256  # of one client [-], and the longest of them [bytes]


class ConnectionEndedError(Exception):
    """The client has disconnected, or is disconnected for what it sent."""


class Connection:
    """One client: decodes what it sends, and keeps what it has not read yet.

    Args:
        line: Connected socket.
        kind: Type of our socket, b"ROUTER" or b"PUB".
        partners: Types of sockets that may connect to it.
        longest: Longest message [bytes].
        now: Time [s].

    Attributes:
        open: Whether the handshake is complete.
        requests: Complete messages that wait for an answer, oldest first.
    """

    def __init__(self, line: socket.socket, kind: bytes, partners: Collection[bytes], longest: int, now: float) -> None:
        line.setblocking(False)
        self.line, self._partners, self._decoder = line, partners, zmtp.Decoder(longest)
        self._out = deque([memoryview(zmtp.GREETING + zmtp.ready(kind))])
        self._minor: int | None = None
        self._begun, self._heard, self._pinged = now, now, 0.0
        self._topics: list[bytes] = []
        self._publishes = kind == b"PUB"
        self.open, self.closed = False, False
        self.requests: deque[list[bytes]] = deque()

    @property
    def waits_to_write(self) -> bool:
        """Whether bytes wait for the client to read."""
        return bool(self._out)

    def receive(self, now: float) -> None:
        """Reads what has arrived, unless earlier requests still wait: then the client's own socket has to wait.

        Raises:
            ConnectionEndedError: The client has disconnected, or sent what is not allowed.
        """
        if self.requests:
            return
        try:
            data = self.line.recv(CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            raise ConnectionEndedError(str(error)) from error
        if not data:
            raise ConnectionEndedError("the client has disconnected")
        self._heard, self._pinged = now, 0.0
        self._decoder.feed(data)
        try:
            if self._minor is None:
                self._minor = self._decoder.greeting()
            if self._minor is not None:
                for is_command, frames in self._decoder.messages():
                    self._take(is_command, frames)
        except zmtp.ProtocolError as error:
            raise ConnectionEndedError(str(error)) from error

    def _take(self, is_command: bool, frames: list[bytes]) -> None:
        name, content = zmtp.read_command(frames[0]) if is_command else (b"", b"")
        if not self.open:
            if name != b"READY" or zmtp.socket_type(content) not in self._partners:
                raise zmtp.ProtocolError("expected a READY of a socket that can connect")
            self.open = True
        elif name == b"PING":
            self.send_bytes(zmtp.pong(content))
        elif is_command:
            pass
        elif self._publishes:
            self._subscribe(frames[0])
        else:
            self.requests.append(frames)

    def _subscribe(self, data: bytes) -> None:
        """Adds or removes a topic: byte 1 or 0, then the beginning of the messages that the client wants."""
        if data[:1] == b"\1" and len(self._topics) < SUBSCRIPTIONS and len(data) <= TOPIC:
            self._topics.append(data[1:])
        elif data[:1] == b"\0" and data[1:] in self._topics:
            self._topics.remove(data[1:])

    def wants(self, data: bytes) -> bool:
        """Whether the client has subscribed to a message."""
        return any(data.startswith(topic) for topic in self._topics)

    def send_bytes(self, data: bytes) -> bool:
        """Sends bytes, as far as the client reads; returns False and sends nothing if too much waits already.

        Raises:
            ConnectionEndedError: The client has disconnected.
        """
        if len(self._out) >= QUEUE:
            return False
        self._out.append(memoryview(data))
        if len(self._out) == 1:
            self.flush()
        return True

    def flush(self) -> None:
        """Sends what waits, as far as the client reads.

        Raises:
            ConnectionEndedError: The client has disconnected.
        """
        try:
            while self._out:
                sent = self.line.send(self._out[0])
                if sent < len(self._out[0]):
                    self._out[0] = self._out[0][sent:]
                    return
                self._out.popleft()
        except (BlockingIOError, InterruptedError):
            pass
        except OSError as error:
            raise ConnectionEndedError(str(error)) from error

    def check_life(self, now: float) -> None:
        """Sends a heartbeat to a client that is silent; call it after reading what has arrived.

        Raises:
            ConnectionEndedError: The handshake takes too long, or heartbeats are not answered.
        """
        if not self.open:
            if now - self._begun > HANDSHAKE:
                raise ConnectionEndedError("the handshake took too long")
        elif self._minor and not self.requests and now - self._heard > BEAT:
            if not self._pinged:
                self._pinged = now
                self.send_bytes(zmtp.ping(DEAD))
            elif now - self._pinged > DEAD:
                raise ConnectionEndedError("no answer to heartbeats")

    def close(self) -> None:
        """Closes the connection at once."""
        self.closed = True
        self.requests.clear()
        self.line.close()
