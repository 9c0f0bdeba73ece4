"""PlanSubscriber: receives the plans that a server publishes."""

from __future__ import annotations

import time
from typing import Any

from trajopt.checks import check_flag, check_positive
from trajopt.mpc.server.addresses import check_address, check_port
from trajopt.mpc.server.client import LONGEST
from trajopt.mpc.server.errors import BadMessageError
from trajopt.mpc.server.extra import SERVER
from trajopt.mpc.server.fields import Check, count, part, step_of, text
from trajopt.mpc.server.messages import unpack
from trajopt.mpc.step import MPCStep
from trajopt.objects.closing import Closing

NEWS: dict[str, Check] = {"kind": text, "number": count}
"""Fields of a publication besides those of a step: kind "plan", and its number from 1."""


class PlanSubscriber(Closing):
    """Receives the published plans of an MPCServer, for example to draw them.

    Args:
        address: Address at which the server publishes.
        every: True to keep all plans until they are read, as far as memory allows; False to keep the newest only.

    Attributes:
        missed: Number of published plans that did not arrive, since the first one that did [-].
        damaged: Number of messages that were not plans [-].

    Raises:
        InvalidArgumentError: An argument has the wrong type or value.
        MissingDependencyError: pyzmq or msgpack is not installed.
    """

    settable = ("missed", "damaged")

    def __init__(self, address: str, *, every: bool = False) -> None:
        zmq = SERVER.load("zmq")
        SERVER.load("msgpack")
        self._address = check_port(check_address("address", address, allow_remote=True), "server.publish")
        check_flag("every", every)
        self.missed, self.damaged, self._last = 0, 0, 0
        self._context: Any = zmq.Context()
        self._socket = self._context.socket(zmq.SUB)
        options = {zmq.LINGER: 0, zmq.MAXMSGSIZE: LONGEST, zmq.CONFLATE: int(not every)}
        for option, value in options.items():
            self._socket.setsockopt(option, value)
        self._socket.setsockopt(zmq.IPV6, int("[" in self._address))
        self._socket.setsockopt(zmq.SUBSCRIBE, b"")
        self._socket.connect(self._address)

    def receive(self, timeout: float = 1.0) -> MPCStep | None:
        """Returns the next plan, or with `every=False` the newest; None if none arrives in time.

        Args:
            timeout: Longest time to wait [s].
        """
        until = time.monotonic() + check_positive("timeout", timeout, unit="s")
        while (left := until - time.monotonic()) > 0.0:
            if not self._socket.poll(max(1, int(1e3 * left))):
                break
            try:
                news, rest = part(unpack(self._socket.recv(), LONGEST), NEWS)
                step = step_of(rest)
            except BadMessageError:
                self.damaged += 1
                continue
            self.missed += max(news["number"] - self._last - 1, 0) if self._last else 0
            self._last = news["number"]
            return step
        return None

    def close(self) -> None:
        """Closes the connection."""
        self._context.destroy(linger=0)

    def __repr__(self) -> str:
        return f"PlanSubscriber({self._address!r})"
