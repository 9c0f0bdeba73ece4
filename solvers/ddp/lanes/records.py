"""Records of the iterations of all lanes, put in order of rows at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trajopt.solution.history import Histories
from trajopt.solvers.ddp.lanes.numbers import RECORD
from trajopt.types import Ints, Reals


class LaneRecords:
    """Records, one piece for each iteration of the lanes."""

    def __init__(self) -> None:
        self._rows: list[Ints] = []
        self._numbers: list[Reals] = []
        self._seconds: list[Reals] = []

    def add(self, rows: Ints, numbers: Reals, seconds: Reals) -> None:
        """Adds the records of an iteration.

        Args:
            rows: Row of each lane (G W,), negative for a lane without any.
            numbers: Numbers of `RECORD` (G, size, W).
            seconds: Time of each row so far (G W,) [s].
        """
        self._rows.append(rows)
        self._numbers.append(numbers)
        self._seconds.append(seconds)

    @classmethod
    def of(cls, several: Sequence[LaneRecords]) -> LaneRecords:
        """Returns the records of several, which have no rows in common."""
        found = cls()
        for each in several:
            found._rows += each._rows
            found._numbers += each._numbers
            found._seconds += each._seconds
        return found

    def by_row(self, n: int, *, without: Ints) -> Histories:
        """Records by row, for n rows, without those of some rows (m,)."""
        if not self._rows:
            return Histories()
        rows = np.concatenate(self._rows)
        order = np.argsort(rows, kind="stable")
        order = order[(rows[order] >= 0) & ~np.isin(rows[order], without)]
        numbers = np.concatenate(self._numbers).transpose(1, 0, 2).reshape(len(RECORD), -1)[:, order]
        columns: dict[str, Any] = {**dict(zip(RECORD, numbers)), "seconds": np.concatenate(self._seconds)[order]}
        columns["iteration"] = columns["iteration"].astype(np.int64)
        columns |= {name: columns[name] != 0.0 for name in ("feasible", "accepted")}
        return Histories(columns=columns, starts=np.searchsorted(rows[order], np.arange(n + 1)))
