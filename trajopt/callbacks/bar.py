"""Progress bar on the terminal for long work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from trajopt.kernels import notice

T = TypeVar("T")

MOVES = 1000  # largest number of updates of a bar [-]
EVERY = 5.0  # smallest time between notices without a terminal [s]


@contextmanager
def progress_bar(title: str, total: int | None, *, wanted: bool) -> Iterator[Callable[[int, str], None]]:
    """Context manager that yields a function (done, words), which updates the bar and the text beside it.

    Without a terminal there are notices instead, as about compiling: after a second, then at most every five. They go
    to standard error in a notebook, otherwise to the log at level INFO.

    Args:
        title: Text before the bar.
        total: Number of items to do; None if unknown [-].
        wanted: Whether to show the bar or the notices.
    """
    from rich.console import Console

    console = Console(stderr=True)
    if not wanted:
        yield lambda done, words: None
        return
    if not console.is_terminal:
        yield _noticed(title, total)
        return
    from rich.progress import BarColumn, Progress, TextColumn

    every = 1 if total is None else max(1, total // MOVES)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[words]}"),
        console=console,
        transient=True,
    ) as bar:
        task, shown = bar.add_task(title, total=total, words=""), 0

        def tell(done: int, words: str) -> None:
            nonlocal shown
            if done in (0, total) or done >= shown + every:
                shown = done
                bar.update(task, completed=done, words=words)

        yield tell


def _noticed(title: str, total: int | None) -> Callable[[int, str], None]:
    """Function (done, words) that writes a notice when the last one is old enough."""
    due = time.monotonic() + notice.PATIENCE

    def tell(done: int, words: str) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + EVERY
            count = f"{done} of {total}" if total is not None else str(done)
            told = words if count in words else ", ".join(part for part in (count, words) if part)
            notice.say(f"{title}: {told}")

    return tell


def counted(items: Iterable[T], total: int, show: Callable[[int, str], None]) -> Iterator[T]:
    """Passes items on, and shows after each how many there were and the remaining time."""
    begin = time.monotonic()
    for done, item in enumerate(items, 1):
        yield item
        show(done, time_left(done, total, time.monotonic() - begin))


def time_left(done: int, total: int, seconds: float) -> str:
    """Returns the remaining time as text, such as "0:00:27 left", if `done` of `total` items took `seconds`."""
    left = round((total - done) * seconds / max(done, 1))
    return f"{left // 3600}:{left // 60 % 60:02d}:{left % 60:02d} left"
