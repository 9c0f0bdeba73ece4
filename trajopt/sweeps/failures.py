"""Rows of a sweep that did not converge, grouped by reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.checks import check_count, check_known
from trajopt.objects.attributes import ExplainsAttributes
from trajopt.solution import SolverStatus
from trajopt.solution.reasons import reason

if TYPE_CHECKING:
    from trajopt.sweeps.outcomes import Sweep


@dataclass(frozen=True, kw_only=True, eq=False)
class Failure(ExplainsAttributes):
    """Rows of a sweep that failed for the same reason.

    Attributes:
        reason: Name of the solver's status, or the first line of an error.
        rows: The rows, as a sweep of their own.
    """

    reason: str
    rows: Sweep

    def explain(self, row: int = 0) -> str:
        """Solves a row again and explains why it failed and what to try; see `Solution.explain`.

        Args:
            row: Index of the row among these rows, from 0 [-].
        """
        outcome = self.rows[check_count("row", row, least=-len(self.rows))]
        return outcome.error or outcome.solution().explain()

    def __str__(self) -> str:
        meaning = f": {SolverStatus[self.reason]}" if self.reason in SolverStatus.__members__ else ""
        first = self.rows[0]
        values = ", ".join(f"{name} = {_short(value)}" for name, value in first.parameters.items())
        return f"{len(self.rows):>7}  {self.reason}{meaning}\n         such as row {first.index}: {values}"


class Failures(Mapping[str, Failure], ExplainsAttributes):
    """Mapping from reasons to the rows that did not converge, the most frequent reason first.

    Args:
        sweep: The sweep with all rows.
    """

    def __init__(self, sweep: Sweep) -> None:
        self._of = len(sweep)
        bad = sweep[~sweep.converged]
        reasons = np.array(list(map(reason, bad.status, bad.error)), dtype=object)
        names, counts = np.unique(reasons.astype(str), return_counts=True)
        order = np.argsort(-counts, kind="stable")
        self._by_reason = {str(name): Failure(reason=str(name), rows=bad[reasons == name]) for name in names[order]}

    def __getitem__(self, reason: str) -> Failure:
        return self._by_reason[check_known("reason", reason, self._by_reason)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_reason)

    def __len__(self) -> int:
        return len(self._by_reason)

    def __repr__(self) -> str:
        total = sum(len(failure.rows) for failure in self._by_reason.values())
        head = f"{total} of {self._of} rows did not converge"
        if not total:
            return head
        hint = f"failures[{next(iter(self))!r}].explain() solves the first of them again and explains why it failed"
        return "\n".join([head, *map(str, self._by_reason.values()), hint])


def _short(value: Any) -> str:
    """Text of a value, shortened to a few numbers."""
    flat = np.ravel(value)
    if flat.dtype.kind not in "biuf":
        return str(value)
    numbers = ", ".join(f"{number:.4g}" for number in flat[:8]) + (", ..." if flat.size > 8 else "")
    return numbers if np.ndim(value) == 0 else f"({numbers})"
