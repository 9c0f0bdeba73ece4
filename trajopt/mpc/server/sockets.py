"""Sockets of a server: requests and answers, publications, and connections that end."""

from __future__ import annotations

import contextlib
import selectors
import socket
import time
from collections.abc import Iterator

from trajopt.mpc.server import listeners, zmtp
from trajopt.mpc.server.connection import Connection, ConnectionEndedError
from trajopt.mpc.server.ledger import Ledger

PATIENCE = 0.05  # time after which the server checks whether to end [s]
REQUESTS = 100  # after which the server checks whether to end [-]
MOST = 512  # connections at a time; further ones are closed at once [-]
CHECKS = 0.25  # time between two checks of which clients are alive [s]
PARTNERS = {b"ROUTER": (b"DEALER", b"REQ", b"ROUTER"), b"PUB": (b"SUB", b"XSUB")}


class Sockets:
    """Sockets for requests and for plans, with limits that no client can exceed; clients use those of ZeroMQ.

    A client that does not read its answers or publications loses them; the server never waits for it. Requests are
    read only when earlier ones of the client are answered: until then, the client's own socket waits.

    Args:
        address: Address for requests.
        publish: Address for publications; None for none.
        ledger: Counts of events.
        longest: Longest message; a longer one closes its connection before memory is allocated [bytes].

    Raises:
        InvalidArgumentError: An address is in use or not valid.
    """

    def __init__(self, address: str, publish: str | None, ledger: Ledger, *, longest: int) -> None:
        self._ledger, self._longest = ledger, longest
        self._selector = selectors.DefaultSelector()
        self._listeners: list[socket.socket] = []
        self._connections: set[Connection] = set()
        self._subscribers: set[Connection] = set()
        self._checked = 0.0
        try:
            self.addresses = (
                self._listen(b"ROUTER", "address", address),
                None if publish is None else self._listen(b"PUB", "publish", publish),
            )
        except BaseException:
            self.close()
            raise

    addresses: tuple[str, str | None]
    """Addresses for requests and for publications, with the actual ports."""

    def _listen(self, kind: bytes, argument: str, address: str) -> str:
        listener, actual = listeners.listen(argument, address)
        self._listeners.append(listener)
        self._selector.register(listener, selectors.EVENT_READ, kind)
        return actual

    def waiting(self) -> Iterator[tuple[Connection, list[bytes]]]:
        """Waits for requests for a short time and yields them with their clients, in turn among clients."""
        number = 0
        while number < REQUESTS:
            waiting = [each for each in self._connections if each.requests]
            self._serve(0.0 if waiting else PATIENCE)
            waiting = [each for each in self._connections if each.requests]
            if not waiting:
                return
            for connection in waiting:
                if connection.requests:
                    number += 1
                    yield connection, connection.requests.popleft()

    def _serve(self, patience: float) -> None:
        """Waits until sockets are ready, at most a time [s], and serves them."""
        events = self._selector.select(patience)
        now = time.monotonic()
        for key, mask in events:
            if isinstance(key.data, Connection):
                with self._ending(key.data) as connection:
                    if mask & selectors.EVENT_WRITE:
                        connection.flush()
                    if mask & selectors.EVENT_READ:
                        connection.receive(now)
                    self._watch(connection)
            elif isinstance(key.fileobj, socket.socket):
                self._accept(key.fileobj, key.data, now)
        if now - self._checked > CHECKS:
            self._checked = now
            for connection in list(self._connections):
                with self._ending(connection):
                    connection.check_life(now)
                    self._watch(connection)

    def _accept(self, listener: socket.socket, kind: bytes, now: float) -> None:
        with contextlib.suppress(OSError):  # the client has gone, or the process has no descriptor left
            line = listener.accept()[0]
            if len(self._connections) >= MOST:
                line.close()
                self._ledger.add("handshake failed")
                return
            if line.family != socket.AF_UNIX:
                line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(line, kind, PARTNERS[kind], self._longest, now)
            self._selector.register(line, selectors.EVENT_READ, connection)
            self._connections.add(connection)
            if kind == b"PUB":
                self._subscribers.add(connection)
            with self._ending(connection):
                connection.flush()
                self._watch(connection)

    @contextlib.contextmanager
    def _ending(self, connection: Connection) -> Iterator[Connection]:
        """Context that closes a connection if it has ended, and counts it."""
        try:
            yield connection
        except ConnectionEndedError:
            self._ledger.add("disconnected" if connection.open else "handshake failed")
            self._selector.unregister(connection.line)
            self._connections.discard(connection)
            self._subscribers.discard(connection)
            connection.close()

    def _watch(self, connection: Connection) -> None:
        """Waits until the client reads, if bytes wait for it."""
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if connection.waits_to_write else 0)
        if self._selector.get_key(connection.line).events != events:
            self._selector.modify(connection.line, events, connection)

    def _send(self, connection: Connection, data: bytes) -> bool:
        """Sends bytes; returns False if the client does not read, or has disconnected."""
        sent = False
        if not connection.closed:
            with self._ending(connection):
                sent = connection.send_bytes(data)
                self._watch(connection)
        return sent

    def answer(self, connection: Connection, frames: list[bytes]) -> None:
        """Sends an answer; drops it if the client has disconnected or does not read."""
        if not self._send(connection, zmtp.message(frames)):
            why = "has disconnected" if connection.closed else "does not read its answers"
            self._ledger.drop("undelivered", f"an answer to a client that {why}")

    def publish(self, message: bytes) -> None:
        """Sends a message to all subscribers that keep up."""
        data = zmtp.message([message])
        for connection in [each for each in self._subscribers if each.wants(message)]:
            self._send(connection, data)

    def close(self) -> None:
        """Closes all sockets at once."""
        for connection in self._connections:
            connection.close()
        for listener in self._listeners:
            listeners.close(listener)
        self._selector.close()
