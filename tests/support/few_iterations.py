"""Ready problems after one iteration, which is enough for the layout of their pictures; each is solved once."""

from __future__ import annotations

import functools

from trajopt import problems
from trajopt.problems import ProblemCase
from trajopt.solution import Solution


@functools.cache
def few_iterations(name: str) -> tuple[ProblemCase, Solution]:
    """A ready problem, and its solution after one iteration."""
    case = problems.load(name)
    return case, case.solve(max_iterations=1)
