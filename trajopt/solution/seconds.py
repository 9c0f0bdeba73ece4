"""Time of a solve as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution

COUNTS = 0.05
"""Shortest time of code and guess that the text mentions [s]."""


def time_words(solution: Solution) -> str:
    """Time of a solve as text, with that of code and guess if it is long: "0.11 s and 4.2 s for code and guess"."""
    apart = solution.compile_seconds
    return f"{solution.seconds:.3g} s" + (f" and {apart:.2g} s for code and guess" if apart >= COUNTS else "")
