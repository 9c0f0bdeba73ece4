"""Records of the iterations of all lanes, put in order of rows at the end."""

from __future__ import annotations

from collections.abc import Sequence
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

    @property
    def pieces(self) -> list[tuple[Ints, dict[str, Any]]]:
        """Rows and columns of each piece."""
        return list(zip(self._rows, self._columns))


def merged(records: Sequence[LaneRecords], n: int, *, without: Ints) -> Histories:
    """Records of several loops by row, for n rows, without those of some rows (m,)."""
    pieces = [piece for each in records for piece in each.pieces]
    if not pieces:
        return Histories()
    rows = np.concatenate([piece[0] for piece in pieces])
    order = np.argsort(rows, kind="stable")
    order = order[~np.isin(rows[order], without)]
    columns = {name: np.concatenate([piece[1][name] for piece in pieces])[order] for name in pieces[0][1]}
    return Histories(columns=columns, starts=np.searchsorted(rows[order], np.arange(n + 1)))
