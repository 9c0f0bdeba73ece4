"""Counts and log of what a server answered, refused and dropped."""

from __future__ import annotations

import logging
import time
from collections import Counter

LOG = logging.getLogger("trajopt.mpc.server")
EVERY = 1.0  # shortest time between two lines of the log [s]


class Ledger:
    """Counts by name, and a log that a flood can't fill: one line a second at most, with the number since the last one.

    Attributes:
        counts: How often each thing has happened.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._untold: Counter[str] = Counter()
        self._last, self._told = "", -EVERY

    def add(self, name: str) -> None:
        """Counts something that needs no words."""
        self.counts[name] += 1

    def drop(self, name: str, reason: str) -> None:
        """Counts something that was refused or dropped, and logs it."""
        self.counts[name] += 1
        self._untold[name] += 1
        self._last = reason
        self.tell()

    def tell(self, *, now: bool = False) -> None:
        """Logs what is new, unless the last line is not a second old; `now` in any case."""
        at = time.monotonic()
        if self._untold and (now or at - self._told >= EVERY):
            counts = ", ".join(f"{name}: {count}" for name, count in sorted(self._untold.items()))
            LOG.warning("%s; the last: %s", counts, self._last)
            self._untold.clear()
            self._told = at

    def report(self) -> dict[str, str]:
        """Texts by name: what was answered, and what was not."""
        counts = self.counts
        refused = {name: n for name, n in counts.items() if name.startswith("refused")}
        rows = {"answered": f"{counts['answered']}, and {counts['repeated']} of them again"}
        words = [f"{name.removeprefix('refused: ')} {count}" for name, count in sorted(refused.items())]
        rows["refused"] = f"{sum(refused.values())}" + (f" ({', '.join(words)})" if words else "")
        rows["dropped"] = f"{counts['undelivered']} answers to clients that were gone, {counts['disconnected']} "
        rows["dropped"] += f"connections ended, {counts['handshake failed']} never began"
        if counts["published"]:
            rows["published"] = f"{counts['published']} plan{'s' * (counts['published'] != 1)}"
        return rows
