"""Request handling: from the bytes of a request to those of its answer, with checks and sequence numbers."""

from __future__ import annotations

import zlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from trajopt.errors import TrajoptError
from trajopt.mpc.server.errors import BadMessageError
from trajopt.mpc.server.fields import SENDER, TEXT, fields_of, part, read, state_request
from trajopt.mpc.server.ledger import LOG, Ledger
from trajopt.mpc.server.messages import pack, unpack
from trajopt.mpc.server.service import Service
from trajopt.mpc.step import MPCStep

CLIENTS = 256
"""Number of clients whose last answer is stored [-]."""


@dataclass(frozen=True)
class Reply:
    """An answer, with its step; the step is None for a refusal, a description, or a repeated answer."""

    message: bytes
    step: MPCStep | None = None


class Desk:
    """Answers messages one after the other. No message raises an error, and a refused message changes nothing.

    A client numbers its requests. A repeated request, whose answer was lost, gets the same answer without a second
    step. A request with an earlier number, or with the last number and other content, is refused.

    Args:
        service: Service that computes steps.
        ledger: Counts of answers and refusals.
        max_bytes: Longest request [bytes].
    """

    def __init__(self, service: Service, ledger: Ledger, max_bytes: int) -> None:
        self._service, self._ledger, self._most = service, ledger, max_bytes
        self._asked = state_request(service.problem.state.nx)
        self._x0 = service.problem.x0.copy()
        self._last: OrderedDict[str, tuple[int, int, bytes]] = OrderedDict()

    def answer(self, message: bytes) -> Reply:
        """Returns the answer to a message, or a refusal."""
        sender: dict[str, Any] = {"client": None, "seq": None}
        try:
            sender, rest = part(unpack(message, self._most), SENDER)
            reply = self._stored_answer(sender, message) or self._new(sender, rest, message)
        except BadMessageError as error:
            return self.refuse(error.kind, str(error), sender)
        except TrajoptError as error:
            return self.refuse("request", str(error), sender)
        except Exception as error:  # from a user's own reference or model
            LOG.debug("a request failed", exc_info=True)
            return self.refuse("controller", f"{type(error).__name__}: {error}", sender)
        return reply

    def refuse(self, kind: str, reason: str, sender: dict[str, Any] | None = None) -> Reply:
        """Returns a refusal and counts it; `sender` is None if the message does not say who sent it."""
        self._ledger.drop(f"refused: {kind}", reason)
        sender = sender or {"client": None, "seq": None}
        fields = {"kind": "refused", "client": sender["client"], "seq": sender["seq"], "error": kind}
        return Reply(pack(fields | {"reason": reason[:TEXT]}))

    def _stored_answer(self, sender: dict[str, Any], message: bytes) -> Reply | None:
        """Returns the stored answer to a repeated request; None for a new request."""
        last, checksum, answer = self._last.get(sender["client"], (0, 0, b""))
        if sender["seq"] > last:
            return None
        if sender["seq"] == last and checksum == zlib.crc32(message):
            self._ledger.add("repeated")
            return Reply(answer)
        raise BadMessageError(
            "sequence",
            f"seq: expected more than {last}, the last number of client {sender['client']!r}, got {sender['seq']}; "
            "number requests in ascending order, or use another client name",
        )

    def _new(self, sender: dict[str, Any], rest: dict[str, Any], message: bytes) -> Reply:
        step = None
        if sender["kind"] == "describe":
            read(rest, {})
            fields = self._description()
        elif sender["kind"] in ("step", "reset"):
            request = read(rest, self._asked)
            make = self._service.step if sender["kind"] == "step" else self._service.reset
            step = make(request["x"], request["t"])
            fields = fields_of(step)
        else:
            raise BadMessageError("fields", f"kind: expected 'step', 'reset' or 'describe', got {sender['kind']!r}")
        answer = pack(sender | fields)
        self._last[sender["client"]] = sender["seq"], zlib.crc32(message), answer
        self._last.move_to_end(sender["client"])
        if len(self._last) > CLIENTS:
            self._last.popitem(last=False)
        self._ledger.add("answered")
        return Reply(answer, step)

    def _description(self) -> dict[str, Any]:
        problem = self._service.problem
        sizes = {"nx": problem.state.nx, "nu": problem.nu, "knots": problem.T}
        return sizes | {"dt": self._service.dt, "x0": self._x0, "about": repr(self._service)[:TEXT]}
