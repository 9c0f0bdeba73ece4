"""Errors of closed loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trajopt.errors import TrajoptError

if TYPE_CHECKING:
    from trajopt.mpc.log import ClosedLoop


class ClosedLoopError(TrajoptError, RuntimeError):
    """A plant, controller or function ended a closed loop with an error; the message has the time.

    Attributes:
        log: Closed loop up to the error; it has no steps if the first period failed.
    """

    def __init__(self, *args: Any, log: ClosedLoop | None = None) -> None:
        super().__init__(*args)
        self.log = log
