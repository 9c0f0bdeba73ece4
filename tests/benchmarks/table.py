"""Prints tables: aligned columns of text, for a terminal and for a mail."""

from __future__ import annotations

import math
from collections.abc import Sequence


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A title, a header and rows; the first column is flush left, the others flush right.

    Args:
        title: What the table is about.
        header: Name of each column, with its unit.
        rows: Cells of each row; a row of no cells is an empty line.
    """
    widths = [max(len(row[i]) for row in [header, *filter(None, rows)]) for i in range(len(header))]
    rule = ["-" * width for width in widths]
    lines = [_line(row, widths) for row in [header, rule, *rows]]
    return "\n".join([title, *lines, ""])


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))]
    return "  ".join(cells).rstrip()


def number(value: float, digits: int = 3) -> str:
    """A number with so many significant digits, never in powers of ten between 1e-4 and 1e6."""
    if value == 0 or not 1e-4 <= abs(value) < 1e6:
        return f"{value:.{digits}g}"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{value:,.{max(decimals, 0)}f}"


def bar(value: float, limit: float, *, at_least: bool) -> str:
    """A limit, and whether a value keeps it."""
    kept = value >= limit if at_least else value <= limit
    return f"{'≥' if at_least else '≤'} {limit:g} {'yes' if kept else 'NO'}"
