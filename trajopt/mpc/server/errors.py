"""Errors between a server and its clients."""

from __future__ import annotations

from typing import Any

from trajopt.errors import TrajoptError


class BadMessageError(TrajoptError, ValueError):
    """A message that can't be used: cut, changed on its way, of another version, or not filled in as it should be.

    Attributes:
        kind: What is wrong: "size", "header", "version", "checksum", "msgpack", "fields", "values" or "sequence".
    """

    def __init__(self, kind: str, *args: Any) -> None:
        super().__init__(*args)
        self.kind = kind


class RequestRefusedError(TrajoptError, RuntimeError):
    """The server has refused a request; the message is its reason."""


class NoAnswerError(TrajoptError, TimeoutError):
    """No answer came within the timeout of all attempts."""
