"""Motions without a problem as solutions, for views and films."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.solution.description import completed
from trajopt.solution.record import SolverStatus
from trajopt.solution.solution import Solution
from trajopt.types import Reals


def described_motion(xs: Reals, *, solver: str, **fields: Any) -> Solution:
    """Returns a trajectory without a problem as a Solution that views and films can show.

    Args:
        xs: States (T + 1, nx).
        solver: Where it comes from.
        **fields: Attributes of its description, such as `robot`, `times`, `legs` and `goals`.
    """
    effort: dict[str, Any] = {"status": SolverStatus.UNSOLVED, "iterations": 0, "history": (), "seconds": 0.0}
    us = np.zeros((len(xs) - 1, 0))
    return Solution(xs=xs, us=us, cost=float("nan"), solver=solver, x0=xs[0], described=completed(fields), **effort)
