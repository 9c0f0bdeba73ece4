"""Time of a solve in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution

COUNTS = 0.05
"""Time of compiling from which it is said [s]."""


def time_words(solution: Solution) -> str:
    """Time of a solve, with that of compiling apart where it counts: "0.11 s and 4.2 s to compile"."""
    apart = solution.compile_seconds
    return f"{solution.seconds:.3g} s" + (f" and {apart:.2g} s to compile" if apart >= COUNTS else "")
