"""Errors of closed loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trajopt.errors import TrajoptError

if TYPE_CHECKING:
    from trajopt.mpc.log import ClosedLoop


class ClosedLoopError(TrajoptError, RuntimeError):
    """A plant, a controller or a disturbance ended a closed loop; the message says at which time.

    Attributes:
        log: The closed loop up to there, without a step if it ended in its first period.
    """

    def __init__(self, *args: Any, log: ClosedLoop | None = None) -> None:
        super().__init__(*args)
        self.log = log
