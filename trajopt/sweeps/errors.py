"""Errors of sweeps that were cut off."""

from __future__ import annotations

from trajopt.errors import TrajoptError


class SweepError(TrajoptError, RuntimeError):
    """A sweep could not go on; the chunks that are done are in its store, and the same call goes on from there."""


class WorkerLostError(TrajoptError, RuntimeError):
    """A process of this machine ended before it answered."""
