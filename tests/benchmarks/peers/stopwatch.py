"""How a time is taken, the same on both sides of a comparison; needs Python only, so that a peer can import it."""

import time
from collections.abc import Callable
from statistics import median
from typing import Any


def median_seconds(call: Callable[[], Any], *, calls: int = 1, seconds: float = 0.1) -> float:
    """Median wall time of a call [s].

    A first call warms up and counts only if it alone takes the time that there is.

    Args:
        call: What is measured.
        calls: At least so many calls count, >= 1 [-].
        seconds: Calls go on until they have taken this time [s].
    """
    times = [timed(call)]
    if times[0] < seconds:
        times = []
    while len(times) < calls or sum(times) < seconds:
        times.append(timed(call))
    return median(times)


def timed(call: Callable[[], Any]) -> float:
    """Wall time of one call [s]."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
