"""Progress of a sweep as text: rows, rate and remaining time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from trajopt.callbacks.bar import progress_bar, time_left

Tell = Callable[[int, int], None]
"""Function that takes the numbers of newly solved rows, and of rows from the store."""


@contextmanager
def shown_progress(n: int | None, wanted: bool) -> Iterator[Tell]:
    """Context manager that yields a function for progress; it shows a bar on a terminal if wanted.

    Args:
        n: Number of all rows; None if unknown [-].
        wanted: Whether to show the bar.
    """
    solved, stored, begin = 0, 0, time.monotonic()
    with progress_bar("sweeping", n, wanted=wanted) as show:
        show(0, "compiling")

        def report(more_solved: int, more_stored: int) -> None:
            nonlocal solved, stored
            solved, stored = solved + more_solved, stored + more_stored
            show(solved + stored, progress_words(solved, stored, n, time.monotonic() - begin))

        yield report


def progress_words(solved: int, stored: int, n: int | None, seconds: float) -> str:
    """Returns text such as "1024 of 10000 rows, 512 from the store, 310 rows/s, 0:00:27 left".

    Args:
        solved: Number of solved rows [-].
        stored: Number of rows from the store [-].
        n: Number of all rows; None if unknown [-].
        seconds: Time since the start [s].
    """
    words = f"{solved + stored}{'' if n is None else f' of {n}'} rows"
    words += f", {stored} from the store" if stored else ""
    words += f", {solved / max(seconds, 1e-9):.3g} rows/s" if solved else ""
    return words + (f", {time_left(solved, n - stored, seconds)}" if solved and n is not None else "")
