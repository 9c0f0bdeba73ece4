"""Errors of interrupted sweeps."""

from __future__ import annotations

from trajopt.errors import TrajoptError


class SweepError(TrajoptError, RuntimeError):
    """A sweep was interrupted; finished chunks are in its store, and the same call continues from there."""


class WorkerLostError(TrajoptError, RuntimeError):
    """A worker process of this machine ended before it returned a result."""
