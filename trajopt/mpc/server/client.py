"""MPCClient: asks a server for controls."""

from __future__ import annotations

import secrets
import threading
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.checks import as_numbers, check_count, check_finite, check_positive, check_text
from trajopt.errors import InvalidArgumentError
from trajopt.mpc.server.addresses import ADDRESS, check_address, check_port
from trajopt.mpc.server.errors import BadMessageError, NoAnswerError, RequestRefusedError
from trajopt.mpc.server.extra import SERVER
from trajopt.mpc.server.fields import DESCRIPTION, NAME, REFUSAL, SENDER, part, read, step_of
from trajopt.mpc.server.messages import pack, unpack
from trajopt.mpc.step import MPCStep
from trajopt.objects.closing import Closing
from trajopt.types import Reals

LONGEST = 2**26
"""Longest answer that a client takes [bytes]."""


@dataclass(frozen=True, kw_only=True)
class ServerDescription:
    """Description of what a server controls.

    Attributes:
        nx: Size of a state [-].
        nu: Size of a control [-].
        knots: Number of knots of a plan [-].
        dt: Time from one measurement to the next [s].
        x0: State that the problem begins at (nx,).
        about: The server's own words.
    """

    nx: int
    nu: int
    knots: int
    dt: float
    x0: Reals
    about: str


class MPCClient(Closing):
    """Sends measured states to an MPCServer, and returns its steps.

    Each request has a number, and so has its answer: one that comes late is thrown away, never taken for that of
    another request. Where none comes in time, the client connects anew and asks again; the server knows the request by
    its number, and makes no second step. Threads may share a client, whose requests then wait for each other.

    Args:
        address: Address of the server.
        timeout: Time that an answer may take [s].
        retries: How often it asks again [-].
        name: Name of the client, one that no other client of the server has at the time; a random one by default. A
            client that takes the place of one that was killed may have its name.

    Attributes:
        counts: How often it asked again, and threw away late and damaged answers, by name.

    Raises:
        InvalidArgumentError: An argument does not fit.
        MissingDependencyError: pyzmq or msgpack is not installed.
    """

    def __init__(
        self, address: str = ADDRESS, *, timeout: float = 1.0, retries: int = 2, name: str | None = None
    ) -> None:
        self._zmq = SERVER.load("zmq")
        SERVER.load("msgpack")
        self._address = check_port(check_address("address", address, allow_remote=True), "server.address")
        self._timeout = check_positive("timeout", timeout, unit="s")
        self._retries = check_count("retries", retries)
        self._name = secrets.token_hex(8) if name is None else check_text("name", name)
        if not 1 <= len(self._name) <= NAME:
            raise InvalidArgumentError(f"name: expected 1 to {NAME} characters, got {len(self._name)}")
        self.counts = {"asked again": 0, "late": 0, "damaged": 0}
        self._heard, self._lock = "", threading.Lock()
        self._number = time.time_ns() // 1000  # one of this name that was killed has counted from earlier
        self._context: Any = self._zmq.Context()
        self._socket: Any = None

    def step(self, x: npt.ArrayLike, t: float | None = None) -> MPCStep:
        """The control for a measured state.

        Args:
            x: Measured state (nx,).
            t: Time of the measurement [s]; by default when the controller expects it.

        Raises:
            RequestRefusedError: The server refuses it; the message is its reason.
            NoAnswerError: No answer came.
            BadMessageError: The answer is no step, as of another trajopt.
        """
        return step_of(self._ask("step", self._timeout, {"x": _state(x), "t": _time(t)}))

    def reset(self, x: npt.ArrayLike, t: float = 0.0, *, timeout: float = 60.0) -> MPCStep:
        """Lets the controller begin anew, which may take its time.

        Args:
            x: State at the start (nx,).
            t: Time of the start [s].
            timeout: Time that the answer may take [s].

        Raises:
            RequestRefusedError: The server refuses it; the message is its reason.
            NoAnswerError: No answer came.
        """
        most = check_positive("timeout", timeout, unit="s")
        return step_of(self._ask("reset", most, {"x": _state(x), "t": _time(t)}))

    def describe(self) -> ServerDescription:
        """Sizes and times of what the server controls.

        Raises:
            NoAnswerError: No answer came.
        """
        return ServerDescription(**read(self._ask("describe", self._timeout, {}), DESCRIPTION))

    def close(self) -> None:
        """Ends the connection; the client can't be used any more."""
        with self._lock:
            self._context.destroy(linger=0)

    def __repr__(self) -> str:
        return f"MPCClient({self._address!r}, timeout={self._timeout:g}, retries={self._retries}, name={self._name!r})"

    def _ask(self, kind: str, timeout: float, fields: dict[str, Any]) -> dict[str, Any]:
        """The fields of the answer to a new request."""
        with self._lock:
            if self._context.closed:
                raise InvalidArgumentError(f"{kind}: this client is closed; make another one")
            self._number += 1
            message = pack({"kind": kind, "client": self._name, "seq": self._number} | fields)
            refused, self._heard = "", ""
            for attempt in range(self._retries + 1):
                self.counts["asked again"] += attempt > 0
                self._send(message)
                try:
                    found = self._answer(kind, time.monotonic() + timeout)
                except BadMessageError as error:  # the request was damaged on its way: it is sent again
                    refused = str(error)
                    continue
                if found is not None:
                    return found
                self._disconnect()  # an answer that comes late finds nobody
        if refused:
            raise RequestRefusedError(refused)
        heard = f" but what can't be used ({self._heard})" if self._heard else ""
        raise NoAnswerError(
            f"{kind}: no answer{heard} within {timeout:g} s from {self._address} in {self._retries + 1} attempts; is "
            "the server running? raise timeout or retries if it is busy"
        )

    def _send(self, message: bytes) -> None:
        zmq = self._zmq
        if self._socket is None:
            self._socket = self._context.socket(zmq.DEALER)
            for option, value in ((zmq.LINGER, 0), (zmq.MAXMSGSIZE, LONGEST), (zmq.IPV6, int("[" in self._address))):
                self._socket.setsockopt(option, value)
            self._socket.connect(self._address)
        try:
            self._socket.send(message, zmq.DONTWAIT)
        except zmq.Again:  # the queue is full: as good as no answer
            self._disconnect()

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._socket.close(linger=0)
        self._socket = None

    def _answer(self, kind: str, until: float) -> dict[str, Any] | None:
        """The fields of the answer to the last request; None if there is none until a time [s].

        Raises:
            RequestRefusedError: It was refused.
            BadMessageError: The server could not read a request, and so not say whose it was.
        """
        zmq = self._zmq
        while self._socket is not None and (left := until - time.monotonic()) > 0.0:
            try:
                self._socket.setsockopt(zmq.RCVTIMEO, max(1, int(1e3 * left)))  # half the time of a poll
                frames = self._socket.recv_multipart()
                fields = unpack(frames[-1], LONGEST)
                refused = fields.get("kind") == "refused"
                sender, rest = (read(fields, REFUSAL), {}) if refused else part(fields, SENDER)
            except zmq.Again:
                return None
            except BadMessageError as error:
                self.counts["damaged"] += 1
                self._heard = str(error)
                continue
            if refused and sender["seq"] is None:
                raise BadMessageError(sender["error"], f"the server could not read the request ({sender['reason']})")
            if (sender["client"], sender["seq"]) != (self._name, self._number):
                self.counts["late"] += 1
                continue
            if refused:
                raise RequestRefusedError(sender["reason"])
            return rest
        return None


def _state(x: npt.ArrayLike) -> Reals:
    """A state as a vector; the server checks the rest."""
    array = as_numbers("x", x, "a vector of numbers")
    return np.atleast_1d(array)


def _time(t: float | None) -> float | None:
    return None if t is None else check_finite("t", t)
