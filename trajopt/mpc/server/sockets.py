"""Sockets of a server: requests and answers, publications, and connection events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trajopt.errors import InvalidArgumentError
from trajopt.mpc.server.extra import SERVER
from trajopt.mpc.server.ledger import Ledger

PATIENCE = 50  # time after which the server checks whether to end [ms]
QUEUE = 100  # messages that wait, for each client and direction
AT_ONCE = 100  # messages after which the server checks whether to end
HANDSHAKE, BEAT, DEAD = 2_000, 1_000, 5_000  # times after which silent connections are closed [ms]


class Sockets:
    """A ROUTER socket for requests and a PUB socket for plans, with limits that no client can exceed.

    A client that does not read its answers or publications loses them; the server never waits for it. The queue of
    requests is limited too: when it is full, the client's own socket waits.

    Args:
        address: Address for requests.
        publish: Address for publications; None for none.
        ledger: Counts of events.
        longest: Longest frame; a longer one closes its connection before memory is allocated [bytes].

    Raises:
        InvalidArgumentError: An address is in use or not valid.
    """

    def __init__(self, address: str, publish: str | None, ledger: Ledger, *, longest: int) -> None:
        self._zmq, self._ledger = SERVER.load("zmq"), ledger
        zmq = self._zmq
        self._context = zmq.Context()
        self._plans: Any = None
        try:
            self._requests = self._socket(zmq.ROUTER, longest)
            self._requests.setsockopt(zmq.ROUTER_MANDATORY, 1)  # raises if the client has disconnected
            events = zmq.EVENT_DISCONNECTED | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
            self._events = {zmq.EVENT_DISCONNECTED: "disconnected"}
            self._news = self._context.socket(zmq.PAIR)
            self._news.setsockopt(zmq.RCVHWM, 0)  # a full queue here would block all clients
            self._requests.monitor("inproc://news", events)
            self._news.connect("inproc://news")
            self._bind(self._requests, "address", address)
            if publish is not None:
                self._plans = self._socket(zmq.PUB, longest)
                self._bind(self._plans, "publish", publish)
        except BaseException:
            self.close()
            raise
        self._poller = zmq.Poller()
        self._poller.register(self._requests, zmq.POLLIN)
        self._poller.register(self._news, zmq.POLLIN)

    def _socket(self, kind: int, longest: int) -> Any:
        zmq, socket = self._zmq, self._context.socket(kind)
        options = {
            zmq.LINGER: 0,
            zmq.RCVHWM: QUEUE,
            zmq.SNDHWM: QUEUE,
            zmq.MAXMSGSIZE: longest,
            zmq.HANDSHAKE_IVL: HANDSHAKE,
            zmq.HEARTBEAT_IVL: BEAT,
            zmq.HEARTBEAT_TIMEOUT: DEAD,
        }
        for option, value in options.items():
            socket.setsockopt(option, value)
        return socket

    def _bind(self, socket: Any, argument: str, address: str) -> None:
        socket.setsockopt(self._zmq.IPV6, int("[" in address))
        try:
            socket.bind(address)
        except self._zmq.ZMQError as error:
            raise InvalidArgumentError(
                f"{argument}: expected a free address, got {address!r}: {error}; port * selects a free port"
            ) from None

    @property
    def addresses(self) -> tuple[str, str | None]:
        """Addresses for requests and for publications, with the actual ports."""
        ends = [each and each.getsockopt_string(self._zmq.LAST_ENDPOINT) for each in (self._requests, self._plans)]
        return str(ends[0]), ends[1]

    def waiting(self) -> Iterator[list[bytes]]:
        """Waits for messages for a short time and yields them, in turn among clients."""
        ready = dict(self._poller.poll(PATIENCE))
        if self._news in ready:
            self._count_news()
        for _ in range(AT_ONCE if self._requests in ready else 0):
            try:
                yield self._requests.recv_multipart(self._zmq.DONTWAIT)
            except self._zmq.Again:
                return

    def _count_news(self) -> None:
        from zmq.utils.monitor import recv_monitor_message

        while self._news.poll(0):
            event = recv_monitor_message(self._news)["event"]
            self._ledger.add(self._events.get(event, "handshake failed"))

    def answer(self, frames: list[bytes]) -> None:
        """Sends an answer; drops it if the client has disconnected or does not read."""
        try:
            self._requests.send_multipart(frames, self._zmq.DONTWAIT)
        except self._zmq.Again:
            self._ledger.drop("undelivered", "an answer to a client that does not read its answers")
        except self._zmq.ZMQError as error:
            self._ledger.drop("undelivered", f"an answer to a client that has disconnected: {error}")

    def publish(self, message: bytes) -> None:
        """Sends a message to all subscribers that keep up."""
        self._plans.send(message, self._zmq.DONTWAIT)

    def close(self) -> None:
        """Closes all sockets at once."""
        self._context.destroy(linger=0)
