"""Runs of many calls in processes that may crash or hang, and the count of what came of them."""

from __future__ import annotations

import collections
import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

FAULTS = ("crash", "hang", "raw", "nonsense", "assigned", "long", "unmade")
LIMIT = 60.0  # of one call [s]; some compile


@dataclass
class Tally:
    """How often each verdict came, and the first call of each distinct fault.

    Attributes:
        verdicts: Number of calls by verdict.
        faults: The first call of each distinct fault: its number and what came of it.
        counts: Number of calls of each distinct fault.
        fine: Number of calls that went well, by what was called.
    """

    verdicts: collections.Counter[str] = field(default_factory=collections.Counter)
    faults: dict[tuple[str, ...], dict[str, Any]] = field(default_factory=dict)
    counts: collections.Counter[tuple[str, ...]] = field(default_factory=collections.Counter)
    fine: collections.Counter[str] = field(default_factory=collections.Counter)

    def add(self, number: int, outcome: dict[str, Any]) -> None:
        """Counts a call."""
        verdict = outcome["verdict"]
        self.verdicts[verdict] += 1
        if verdict == "fine":
            self.fine[outcome["call"].partition("(")[0]] += 1
        if verdict in FAULTS:
            what = outcome["error"] if verdict == "nonsense" else outcome["error"].partition(":")[0]
            key = (verdict, what, outcome["place"] or outcome["call"].partition("(")[0])
            self.counts[key] += 1
            self.faults.setdefault(key, {"number": number, **outcome})

    def merge(self, other: Tally) -> None:
        """Adds the calls of another one."""
        self.verdicts.update(other.verdicts)
        self.counts.update(other.counts)
        self.fine.update(other.fine)
        for key, fault in other.faults.items():
            self.faults.setdefault(key, fault)

    def table(self, seed: int, room: str = "trajopt") -> str:
        """Counts of verdicts, then each distinct fault with the command that repeats it."""
        lines = [f"{verdict:10} {count:7}" for verdict, count in self.verdicts.most_common()]
        for key, fault in sorted(self.faults.items(), key=lambda item: item[0]):
            lines += [
                f"\n{fault['verdict'].upper()} x {self.counts[key]}: {fault['call']}",
                f"    {fault['error']}",
                f"    at {fault['place']}; python -m tests.fuzz --seed {seed} --room {room} --call {fault['number']}",
            ]
        return "\n".join(lines)


def run(seed: int, first: int, end: int, *, room: str = "trajopt", limit: float = LIMIT) -> Tally:
    """Makes calls first..end-1 of a seed; after a crash or a hang a new process goes on with the next call."""
    tally = Tally()
    while first < end:
        command = [sys.executable, "-m", "tests.fuzz.worker", str(seed), str(first), str(end), room]
        current = first - 1
        for item in _items(command, limit):
            if isinstance(item, int):
                current = item
                continue
            if current < first:
                raise RuntimeError(f"the fuzzer's worker does not start: {item['error']}")
            tally.add(current, item)
        first = current + 1
    return tally


def _items(command: list[str], limit: float) -> Iterator[Any]:
    """What a worker prints; if it ends within a call, or takes longer than the limit, a last item that says so."""
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    assert worker.stderr is not None
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    errors: list[str] = []
    reader = threading.Thread(target=_read, args=(worker.stdout, lines), daemon=True)
    drain = threading.Thread(target=lambda: errors.extend(worker.stderr), daemon=True)  # type: ignore[arg-type]
    reader.start()
    drain.start()
    within = True  # whether a call, or the start, is under way
    try:
        while True:
            line = lines.get(timeout=limit)
            if line is None:
                break
            item = json.loads(line)
            within = isinstance(item, int)
            yield item
    except queue.Empty:
        yield {"verdict": "hang", "call": "", "error": f"no end after {limit:g} s", "place": ""}
        return
    finally:
        if reader.is_alive():  # it has not ended by itself
            worker.kill()
        worker.wait()
        reader.join()
        drain.join()
        worker.stdout.close()
        worker.stderr.close()
    if within:
        last = " | ".join(line.strip() for line in errors[-4:])
        yield {"verdict": "crash", "call": "", "error": f"exit code {worker.returncode}: {last}", "place": ""}


def _read(stream: Any, lines: queue.SimpleQueue[str | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)
