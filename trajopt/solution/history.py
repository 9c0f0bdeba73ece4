"""Records of the iterations of many solves, in columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from trajopt.solution.record import COLUMNS, IterationRecord

_TYPES = {f.name: str(f.type) for f in fields(IterationRecord)}
_KINDS: dict[str, Any] = {"int": int, "bool": bool, "str": str}


@dataclass(frozen=True, kw_only=True, eq=False)
class Histories:
    """Records of the iterations of many solves; `histories[i]` has those of solve i.

    Attributes:
        columns: Numbers of all records by the name of their field, (n,); a column that is absent is NaN.
        starts: First record of each solve, and the end (B + 1,); empty without records.
    """

    columns: Mapping[str, Any] = field(default_factory=dict)
    starts: Any = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @classmethod
    def of(cls, histories: Sequence[Sequence[IterationRecord]]) -> Histories:
        """Returns the columns of the records of each solve."""
        records = [record for some in histories for record in some]
        columns = {name: np.array([getattr(record, name) for record in records]) for name in COLUMNS}
        return cls(columns=columns, starts=np.cumsum([0, *map(len, histories)]))

    def __getitem__(self, i: int) -> tuple[IterationRecord, ...]:
        """Returns the records of solve i."""
        if not len(self.starts):
            return ()
        names = [name for name in self.columns]
        rows = zip(*(self.columns[name][self.starts[i] : self.starts[i + 1]] for name in names))
        kinds = [_KINDS.get(_TYPES[name], float) for name in names]
        return tuple(IterationRecord(**{n: kind(v) for n, kind, v in zip(names, kinds, row)}) for row in rows)

    def then(self, histories: Sequence[Sequence[IterationRecord]]) -> Histories:
        """Returns these records of each solve with further ones behind them."""
        more = Histories.of(histories)
        if not len(self.starts) or not len(more.columns["iteration"]):
            return self if len(self.starts) else more
        order = np.argsort(np.concatenate([self._numbers(), more._numbers()]), kind="stable")
        counts = [len(some.columns["iteration"]) for some in (self, more)]
        columns = {}
        for name in more.columns:
            mine = self.columns.get(name)
            mine = np.full(counts[0], getattr(IterationRecord, name, np.nan)) if mine is None else mine
            columns[name] = np.concatenate([mine, more.columns[name]])[order]
        return Histories(columns=columns, starts=self.starts + more.starts)

    def _numbers(self) -> Any:
        """Number of the solve of each record."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def take(self, chosen: Any) -> Histories:
        """Returns the records of chosen solves (m,)."""
        if not len(self.starts):
            return self
        spans = [np.arange(self.starts[i], self.starts[i + 1]) for i in chosen]
        rows = np.concatenate([np.zeros(0, dtype=np.int64), *spans])
        columns = {name: column[rows] for name, column in self.columns.items()}
        return Histories(columns=columns, starts=np.cumsum([0, *map(len, spans)]))
