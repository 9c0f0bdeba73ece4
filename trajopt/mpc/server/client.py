"""MPCClient: requests controls from a server."""

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
"""Longest answer that a client accepts [bytes]."""


@dataclass(frozen=True, kw_only=True)
class ServerDescription:
    """Sizes and times of the problem behind a server.

    Attributes:
        nx: Size of a state [-].
        nu: Size of a control [-].
        knots: Number of running knots of a plan [-].
        dt: Time from one measurement to the next [s].
        x0: Initial state of the problem (nx,).
        about: Text that describes the controller.
    """

    nx: int
    nu: int
    knots: int
    dt: float
    x0: Reals
    about: str


class MPCClient(Closing):
    """Client of an MPCServer: sends measured states and returns the controller's steps.

    Requests and answers are numbered, so a late answer is discarded. If no answer arrives in time, the client
    reconnects and repeats the request; the server recognises its number and does not compute a second step. Threads
    may share a client; their requests run one after the other.

    Args:
        address: Address of the server.
        timeout: Time limit for an answer [s].
        retries: Number of times that a request is repeated [-].
        name: Name of the client, unique among the clients of the server; by default a random name. A client that
            replaces one that was killed may reuse its name.

    Attributes:
        counts: Number of repeated requests, late answers and damaged answers, by name.

    Raises:
        InvalidArgumentError: An argument has the wrong type or value.
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
        self._number = time.time_ns() // 1000  # larger than any number of an earlier client with this name
        self._context: Any = self._zmq.Context()
        self._socket: Any = None

    def step(self, x: npt.ArrayLike, t: float | None = None) -> MPCStep:
        """Returns the control for a measured state, as an MPCStep.

        Args:
            x: Measured state (nx,).
            t: Time of the measurement [s]; by default the time at which the controller expects it.

        Raises:
            RequestRefusedError: The server refused the request; the message is its reason.
            NoAnswerError: No answer arrived.
            BadMessageError: The answer is not a step, for example from another version of trajopt.
        """
        return step_of(self._ask("step", self._timeout, {"x": _state(x), "t": _time(t)}))

    def reset(self, x: npt.ArrayLike, t: float = 0.0, *, timeout: float = 60.0) -> MPCStep:
        """Resets the controller to a state, which may take long, and returns its first step.

        Args:
            x: State at the start (nx,).
            t: Time of the start [s].
            timeout: Time limit for the answer [s].

        Raises:
            RequestRefusedError: The server refused the request; the message is its reason.
            NoAnswerError: No answer arrived.
        """
        most = check_positive("timeout", timeout, unit="s")
        return step_of(self._ask("reset", most, {"x": _state(x), "t": _time(t)}))

    def describe(self) -> ServerDescription:
        """Returns sizes and times of the problem behind the server.

        Raises:
            NoAnswerError: No answer arrived.
        """
        return ServerDescription(**read(self._ask("describe", self._timeout, {}), DESCRIPTION))

    def close(self) -> None:
        """Closes the connection; the client cannot be used afterwards."""
        with self._lock:
            self._context.destroy(linger=0)

    def __repr__(self) -> str:
        return f"MPCClient({self._address!r}, timeout={self._timeout:g}, retries={self._retries}, name={self._name!r})"

    def _ask(self, kind: str, timeout: float, fields: dict[str, Any]) -> dict[str, Any]:
        """Sends a new request and returns the fields of its answer."""
        with self._lock:
            if self._context.closed:
                raise InvalidArgumentError(f"{kind}: this client is closed; create a new MPCClient")
            self._number += 1
            message = pack({"kind": kind, "client": self._name, "seq": self._number} | fields)
            refused, self._heard = "", ""
            for attempt in range(self._retries + 1):
                self.counts["asked again"] += attempt > 0
                self._send(message)
                try:
                    fields_received = self._answer(kind, time.monotonic() + timeout)
                except BadMessageError as error:  # the request was damaged on the way: send it again
                    refused = str(error)
                    continue
                if fields_received is not None:
                    return fields_received
                self._disconnect()  # a late answer is lost with its connection
        if refused:
            raise RequestRefusedError(refused)
        heard = f" that can be used ({self._heard})" if self._heard else ""
        raise NoAnswerError(
            f"{kind}: no answer{heard} within {timeout:g} s from {self._address} in {self._retries + 1} attempts; "
            "check that the server runs, or raise timeout or retries if it is busy"
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
        except zmq.Again:  # a full queue counts as no answer
            self._disconnect()

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._socket.close(linger=0)
        self._socket = None

    def _answer(self, kind: str, until: float) -> dict[str, Any] | None:
        """Returns the fields of the answer to the last request; None if none arrives until a time [s].

        Raises:
            RequestRefusedError: The server refused the request.
            BadMessageError: The server could not read a request, and so does not know whose it was.
        """
        zmq = self._zmq
        while self._socket is not None and (left := until - time.monotonic()) > 0.0:
            try:
                self._socket.setsockopt(zmq.RCVTIMEO, max(1, int(1e3 * left)))  # half as long as a poll
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
