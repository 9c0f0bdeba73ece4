"""A bar that shows how far a closed loop has come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def shown_progress(periods: int, dt: float, wanted: bool) -> Iterator[Callable[[int], None]]:
    """Gives a function that takes the number of periods that are done; it shows a bar on the terminal if wanted.

    Args:
        periods: Number of all periods [-].
        dt: Control period [s].
        wanted: Whether to show the bar.
    """
    if not wanted:
        yield lambda done: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[clock]}"), TimeRemainingColumn())
    with Progress(*columns, transient=True) as bar:
        task, every = bar.add_task("simulating", total=periods, clock=""), max(1, periods // 1000)

        def tell(done: int) -> None:
            if done % every == 0 or done == periods:
                bar.update(task, completed=done, clock=f"{done * dt:.2f} of {periods * dt:g} s")

        yield tell
