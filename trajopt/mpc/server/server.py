"""MPCServer: receives states from other processes, and answers with controls and gains."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from trajopt.checks import check_count
from trajopt.errors import InvalidArgumentError, TrajoptError
from trajopt.kernels import wait_until_optimised
from trajopt.mpc.server.addresses import ADDRESS, check_address
from trajopt.mpc.server.connection import Connection
from trajopt.mpc.server.desk import Desk
from trajopt.mpc.server.extra import SERVER
from trajopt.mpc.server.fields import fields_of
from trajopt.mpc.server.ledger import LOG, Ledger
from trajopt.mpc.server.messages import pack
from trajopt.mpc.server.service import service_of
from trajopt.mpc.server.sockets import Sockets
from trajopt.mpc.step import MPCStep
from trajopt.objects.closing import Closing

MAX_BYTES = 65_536
"""Longest request by default [bytes]."""


class MPCServer(Closing):
    """Serves the steps of a controller, u, K and the plan, to clients in other processes.

        with MPCServer(controller) as server:      # in a thread, until the block ends
            ...
        MPCServer(controller).run()                # in the foreground, until Ctrl-C

    Requests are answered one after the other, in turn among clients; all of them advance the same controller. The
    answer is sent as soon as the control is computed, and the next step is prepared afterwards. A message that is
    truncated, changed, too long, of another version or invalid is refused with a reason, counted and logged, and
    changes nothing. Do not use the controller elsewhere while the server runs.

    Anyone who reaches the address can send states, so addresses of other machines need `allow_remote`.

    Args:
        controller: An MPCController, which is reset to its problem's x0 if it has no plan yet; or a solver such as
            SolverSQP(problem), which solves the problem for each state from its solution for x0.
        address: Address for requests, such as "tcp://127.0.0.1:5555"; port * selects a free port.
        publish: Address at which each plan is published; None to publish nothing.
        allow_remote: Whether other machines may reach the addresses.
        max_bytes: Longest request; a message of four times this length closes its connection [bytes].

    Attributes:
        address: Address for requests; it has the actual port once the server has started.
        publish: Address of publications, likewise; None without publications.

    Raises:
        InvalidArgumentError: An argument has the wrong type or value, or other machines could reach an address.
        MissingDependencyError: msgpack is not installed.
    """

    settable = ("address", "publish")

    def __init__(
        self,
        controller: Any,
        address: str = ADDRESS,
        *,
        publish: str | None = None,
        allow_remote: bool = False,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        SERVER.load("msgpack")  # raises for a missing package here, not in a thread
        self._service = service_of(controller)
        self.address = check_address("address", address, allow_remote=allow_remote)
        self.publish = None if publish is None else check_address("publish", publish, allow_remote=allow_remote)
        self._ledger = Ledger()
        self._most = check_count("max_bytes", max_bytes, least=1024, most=2**30)
        self._desk = Desk(self._service, self._ledger, self._most)
        self._sockets: Sockets | None = None
        self._thread: threading.Thread | None = None
        self._stop, self._ended = threading.Event(), threading.Event()
        self._published = 0

    # Life

    def start(self) -> MPCServer:
        """Serves in a thread until `close`; returns when the first solve is done and the addresses are bound.

        Raises:
            InvalidArgumentError: The server was started before, or an address is in use.
        """
        self._open()
        self._thread = threading.Thread(target=self._serve, name="trajopt-mpc-server", daemon=True)
        self._thread.start()
        return self

    def run(self) -> None:
        """Serves in this thread, until Ctrl-C or a call of `close` in another thread.

        Raises:
            InvalidArgumentError: The server was started before, or an address is in use.
        """
        with contextlib.suppress(KeyboardInterrupt):
            self._open()
            self._serve()

    def wait(self) -> None:
        """Waits until a started server has ended; Ctrl-C ends only the waiting."""
        self._ended.wait()

    def close(self) -> None:
        """Ends the server after the current answer; further calls do nothing."""
        if self._sockets is not None and self._thread is not threading.current_thread():
            self._stop.set()
            self._ended.wait()

    def __enter__(self) -> MPCServer:
        running = self._sockets is not None and not self._ended.is_set()
        return self if running else self.start()

    def _open(self) -> None:
        if self._sockets is not None:
            raise InvalidArgumentError("start: this server was started before; create a new MPCServer")
        sockets = Sockets(self.address, self.publish, self._ledger, longest=4 * self._most)
        try:
            self._service.begin()
            self._service.prepare()
            wait_until_optimised()
        except BaseException:
            sockets.close()
            raise
        self.address, self.publish = sockets.addresses
        self._sockets = sockets

    def _serve(self) -> None:
        assert self._sockets is not None
        try:
            while not self._stop.is_set():
                for connection, frames in self._sockets.waiting():
                    self._take(connection, frames)
                self._ledger.tell()
        finally:
            self._sockets.close()
            self._ledger.tell(now=True)
            self._ended.set()

    # Each request

    def _take(self, connection: Connection, frames: list[bytes]) -> None:
        """Answers a message of a client, then publishes the plan and prepares the next step."""
        assert self._sockets is not None
        *envelope, message = frames
        if envelope in ([], [b""]):  # from a DEALER or a REQ socket
            reply = self._desk.answer(message)
        else:
            envelope = []
            reply = self._desk.refuse("frames", f"message: expected one frame, got {len(frames)}")
        self._sockets.answer(connection, [*envelope, reply.message])
        if reply.step is not None:
            self._publish(reply.step)
            self._prepare()

    def _publish(self, step: MPCStep) -> None:
        if self._sockets is not None and self.publish is not None:
            self._published += 1
            self._sockets.publish(pack({"kind": "plan", "number": self._published} | fields_of(step)))
            self._ledger.add("published")

    def _prepare(self) -> None:
        try:
            self._service.prepare()
        except Exception as error:  # from a user's own reference; the next request reports it to its client
            LOG.debug("a preparation failed", exc_info=True)
            words = str(error) if isinstance(error, TrajoptError) else f"{type(error).__name__}: {error}"
            self._ledger.drop("preparation failed", words)

    # Accounts

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of answered, repeated and published messages, and of refused and dropped ones by reason."""
        return MappingProxyType(dict(self._ledger.counts))

    def report(self) -> dict[str, str]:
        """Summarises the counts in text by name."""
        return self._ledger.report()

    def __repr__(self) -> str:
        published = f", publish={self.publish!r}" if self.publish else ""
        return f"MPCServer({self._service!r}, {self.address!r}{published})"
