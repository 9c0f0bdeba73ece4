"""Records of the iterations of all lanes, put in order of rows at the end."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.solution.history import Histories
from trajopt.types import Ints


class LaneRecords:
    """Columns of records, one piece for each iteration of the lanes."""

    def __init__(self) -> None:
        self._rows: list[Ints] = []
        self._columns: list[dict[str, Any]] = []

    def add(self, rows: Ints, columns: dict[str, Any]) -> None:
        """Adds a record for each of the rows (m,), with columns (m,)."""
        self._rows.append(rows)
        self._columns.append(columns)

    def by_row(self, n: int, *, without: Ints) -> Histories:
        """Records by row, for n rows, without those of some rows (m,)."""
        if not self._rows:
            return Histories()
        rows = np.concatenate(self._rows)
        order = np.argsort(rows, kind="stable")
        order = order[~np.isin(rows[order], without)]
        columns = {name: np.concatenate([each[name] for each in self._columns])[order] for name in self._columns[0]}
        return Histories(columns=columns, starts=np.searchsorted(rows[order], np.arange(n + 1)))
