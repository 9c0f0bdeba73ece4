"""Reasons why rows of many solves did not converge, in a line of text."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from trajopt.solution.record import SolverStatus

_LONGEST = 100
"""Characters of an error message that tell reasons apart [-]."""
_SHOWN = 5
"""Ranges of rows that a line shows [-]."""


def reason(status: str, error: str) -> str:
    """Reason by which rows are grouped: the status, or the first line of an error up to 100 characters."""
    return str(error).strip().split("\n")[0][:_LONGEST] if error else str(status)


def first_reason(status: Iterable[str], error: Iterable[str], index: npt.NDArray[np.int64] | None = None) -> str:
    """Why the first row that did not converge failed, with all rows that failed for this reason.

    Args:
        status: Name of the status of each row (n,).
        error: Message of the error of each row (n,); empty without an error.
        index: Number of each row in the text (n,) [-]; by default from 0.

    Returns:
        Text such as "rows 0 to 4, 7: MAX_ITERATIONS, stopped at max_iterations"; empty if all rows converged.
    """
    statuses, errors = list(map(str, status)), list(map(str, error))
    bad = [row for row, name in enumerate(statuses) if name != SolverStatus.CONVERGED.name]
    if not bad:
        return ""
    reasons = {row: reason(statuses[row], errors[row]) for row in bad}
    first = bad[0]
    same = np.array([row for row in bad if reasons[row] == reasons[first]])
    name, message = statuses[first], errors[first].strip().split("\n")[0]
    meaning = f"{name}, {SolverStatus[name]}" if name in SolverStatus.__members__ else name
    return f"{_rows(same if index is None else np.asarray(index)[same])}: {message or meaning}"


def _rows(numbers: npt.NDArray[np.int64]) -> str:
    """Text of ascending numbers of rows, such as "row 3" or "rows 0 to 4, 7"."""
    runs = np.split(numbers, np.flatnonzero(np.diff(numbers) != 1) + 1)
    words = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs[:_SHOWN]]
    left = sum(map(len, runs[_SHOWN:]))
    return f"row{'s' * (len(numbers) > 1)} {', '.join(words)}{f' and {left} more' if left else ''}"
