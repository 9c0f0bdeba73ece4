"""Counts and log of the messages that a server answered, refused and dropped."""

from __future__ import annotations

import logging
import time
from collections import Counter

LOG = logging.getLogger("trajopt.mpc.server")
EVERY = 1.0  # shortest time between two lines in the log [s]


class Ledger:
    """Counts events by name, and logs at most one line per second, so that a flood of messages cannot fill the log.

    Attributes:
        counts: Number of events by name.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._untold: Counter[str] = Counter()
        self._last, self._told = "", -EVERY

    def add(self, name: str) -> None:
        """Counts an event by its name without logging it."""
        self.counts[name] += 1

    def drop(self, name: str, reason: str) -> None:
        """Counts a refused or dropped message, and logs it."""
        self.counts[name] += 1
        self._untold[name] += 1
        self._last = reason
        self.tell()

    def tell(self, *, now: bool = False) -> None:
        """Logs new events if the last line is at least a second old, or in any case with `now`."""
        at = time.monotonic()
        if self._untold and (now or at - self._told >= EVERY):
            counts = ", ".join(f"{name}: {count}" for name, count in sorted(self._untold.items()))
            LOG.warning("%s; the last: %s", counts, self._last)
            self._untold.clear()
            self._told = at

    def report(self) -> dict[str, str]:
        """Returns texts by name: answered, refused, dropped and published messages."""
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
