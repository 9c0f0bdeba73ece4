"""Kinds of guesses."""

from __future__ import annotations

import numpy as np

from trajopt.types import Reals

NEARLY = 0.1  # gaps over steps of a guess that is nearly a motion


def is_nearly_a_motion(xs: Reals, gaps: Reals, least: float) -> bool:
    """Whether states (T + 1, nx) have gaps (T + 1, ndx) above `least`, but small ones, as a shifted solution has.

    A rollout would leave such a motion where it is unstable.
    """
    steps, jumps = np.linalg.norm(np.diff(xs, axis=0), axis=1).sum(), np.linalg.norm(gaps[1:], axis=1).sum()
    return bool(least < jumps < NEARLY * steps)
