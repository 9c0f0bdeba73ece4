"""A bar that shows how far a sweep has come: rows, rate and time left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Tell = Callable[[int, int], None]
"""Takes the number of rows that were solved now, and of rows that were found in the store."""


@contextmanager
def shown_progress(n: int | None, wanted: bool) -> Iterator[Tell]:
    """Gives a function that takes numbers of rows; it shows a bar on a terminal if wanted.

    Args:
        n: Number of all rows; None if it is not known [-].
        wanted: Whether to show the bar.
    """
    from rich.console import Console

    console = Console(stderr=True)
    if not wanted or not console.is_terminal:
        yield lambda solved, found: None
        return
    from rich.progress import BarColumn, Progress, TextColumn

    solved, found, begin = 0, 0, time.monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[words]}"))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("sweeping", total=n, words="compiling")

        def tell(more_solved: int, more_found: int) -> None:
            nonlocal solved, found
            solved, found = solved + more_solved, found + more_found
            words = progress_words(solved, found, n, time.monotonic() - begin)
            bar.update(task, completed=solved + found, words=words)

        yield tell


def progress_words(solved: int, found: int, n: int | None, seconds: float) -> str:
    """Text such as "1024 of 10000 rows, 512 from the store, 310 rows/s, 0:00:27 left".

    Args:
        solved: Rows that were solved [-].
        found: Rows that were in the store [-].
        n: Number of all rows; None if it is not known [-].
        seconds: Time since the beginning [s].
    """
    rate = solved / max(seconds, 1e-9)
    words = f"{solved + found}{'' if n is None else f' of {n}'} rows"
    words += f", {found} from the store" if found else ""
    words += f", {rate:.3g} rows/s" if solved else ""
    if solved and n is not None:
        left = round((n - solved - found) / rate)
        words += f", {left // 3600}:{left // 60 % 60:02d}:{left % 60:02d} left"
    return words
