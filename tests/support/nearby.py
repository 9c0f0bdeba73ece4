"""Starts beside one another, for tests of what a solver does from most of them: rounding, so the processor, decides."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trajopt.shooting import ShootingProblem


def nearby(problem: ShootingProblem, count: int) -> Iterator[ShootingProblem]:
    """The problem from this number of starts 1e-9 apart, one after the other; it has its own again at the end."""
    x0, rng = problem.x0, np.random.default_rng(0)
    for _ in range(count):
        problem.x0 = x0 + 1e-9 * rng.standard_normal(x0.shape)
        yield problem
    problem.x0 = x0
