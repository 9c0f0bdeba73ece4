"""Checks of options of closed loops: rows of numbers, and the time between measurements."""

from __future__ import annotations

from typing import Any

from trajopt.checks import as_numbers, check_array, check_positive
from trajopt.errors import InvalidArgumentError, shown
from trajopt.shooting import ShootingProblem
from trajopt.types import Reals


def check_rows(argument: str, value: Any, columns: tuple[str, ...], *, least: int = 0) -> Reals:
    """Returns rows of finite numbers, shape (n, number of columns); a single row needs no list around it.

    Raises:
        InvalidArgumentError: The value does not consist of such rows, or there are fewer than `least`.
    """
    row, size = f"({', '.join(columns)})", len(columns)
    rows = as_numbers(argument, value, f"rows {row}")
    if rows.size == 0:
        rows = rows.reshape(0, size)
    elif rows.shape == (size,):
        rows = rows.reshape(1, size)
    if rows.ndim != 2 or rows.shape[1] != size:
        raise InvalidArgumentError(f"{argument}: expected rows {row}, got {shown(value)}; for example {_example(size)}")
    if len(rows) < least:
        raise InvalidArgumentError(
            f"{argument}: expected at least {least} row{'s' * (least > 1)} {row}, got {len(rows)}"
        )
    return check_array(argument, rows, rows.shape)


def _example(size: int) -> str:
    return str(tuple(tuple(float(row + column) for column in range(size)) for row in (1, 2)))


def check_period(period: Any, problem: ShootingProblem) -> float:
    """Returns the time between measurements [s]; raises InvalidArgumentError if it exceeds the window of a problem."""
    checked, times = check_positive("period", period, unit="s"), problem.times
    window = checked if times is None else float(times[-1])
    if checked > window * (1.0 + 1e-9):
        raise InvalidArgumentError(f"period: expected at most the window, N dt = {window:g} s, got {checked:g} s")
    return checked
