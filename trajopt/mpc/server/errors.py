"""Errors of servers and their clients."""

from __future__ import annotations

from typing import Any

from trajopt.errors import TrajoptError


class BadMessageError(TrajoptError, ValueError):
    """A message that cannot be used: truncated, damaged, of another version, or with wrong fields.

    Attributes:
        kind: Kind of error: "size", "header", "version", "checksum", "msgpack", "fields", "values" or "sequence".
    """

    def __init__(self, kind: str, *args: Any) -> None:
        super().__init__(*args)
        self.kind = kind


class RequestRefusedError(TrajoptError, RuntimeError):
    """The server refused a request; the message is its reason."""


class NoAnswerError(TrajoptError, TimeoutError):
    """No answer arrived within the timeout in any attempt."""
