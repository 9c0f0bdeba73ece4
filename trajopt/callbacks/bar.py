"""Progress bar on the terminal for long work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

MOVES = 1000  # largest number of updates of a bar [-]


@contextmanager
def progress_bar(title: str, total: int | None, *, wanted: bool) -> Iterator[Callable[[int, str], None]]:
    """Context manager that yields a function (done, words), which updates the bar and the text beside it.

    Args:
        title: Text before the bar.
        total: Number of items to do; None if unknown [-].
        wanted: Whether to show the bar; it needs a terminal in any case.
    """
    from rich.console import Console

    console = Console(stderr=True)
    if not wanted or not console.is_terminal:
        yield lambda done, words: None
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


def time_left(done: int, total: int, seconds: float) -> str:
    """Returns the remaining time as text, such as "0:00:27 left", if `done` of `total` items took `seconds`."""
    left = round((total - done) * seconds / max(done, 1))
    return f"{left // 3600}:{left // 60 % 60:02d}:{left % 60:02d} left"
