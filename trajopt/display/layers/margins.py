"""Margins of constraints at the current time, each for the row closest to its bound or beyond it."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from trajopt.analysis.constraints import ConstraintRows, named_rows
from trajopt.display.layers.base import Panel
from trajopt.display.layers.films import film
from trajopt.plotting.style import GREEN, PALETTE, RED
from trajopt.solution import Solution

_COLORS = {"violated": RED, "at its bound": PALETTE[4], "free": GREEN, "holds": GREEN}
_MOST = 10  # largest number of constraints in the table [-]


@dataclass(frozen=True, kw_only=True)
class Margin:
    """Distance of a constraint's worst row from its bound at a knot.

    Attributes:
        title: Name of the row: "motor", or "tool[z]" if the constraint has several rows.
        distance: Distance to the nearest bound, < 0 beyond it; for an equation the negative error [unit].
        unit: Unit of the row; empty if unknown.
        state: "violated", "at its bound", "free", or "holds" for an equation.
    """

    title: str
    distance: float
    unit: str
    state: str


class Margins(Panel):
    """Table of constraints with their worst rows at the current time, the worst first, coloured by state."""

    def __init__(self, gui: Any, solution: Solution) -> None:
        super().__init__(gui, solution)
        self._film, self._rows = film(solution), named_rows(solution)
        self._knot = -1
        self._table = gui.add_html("")
        self.at(0.0)

    def margins(self, knot: int) -> list[Margin]:
        """Returns the margin of each constraint at a knot 0..T, the worst first."""
        margins = [each for rows in self._rows if (each := margin_at(rows, knot)) is not None]
        order = list(_COLORS)
        return sorted(margins, key=lambda each: (order.index(each.state), each.distance))

    def at(self, time: float) -> None:
        t, part = self._film.knot(time)
        knot = t + 1 if part >= 1.0 else t
        if knot != self._knot:
            self._knot, self._table.content = knot, self._html(self.margins(knot))

    def _html(self, margins: list[Margin]) -> str:
        cells = [
            f'<tr><td style="color:{_COLORS[each.state]}">&#9679;</td><td>{escape(each.title)}</td>'
            f'<td style="text-align:right;padding-left:0.6em">{each.distance:.3g} {escape(each.unit)}</td>'
            f'<td style="padding-left:0.6em;color:{_COLORS[each.state]}">{each.state}</td></tr>'
            for each in margins[:_MOST]
        ]
        more = f"<div>and {len(margins) - _MOST} more</div>" if len(margins) > _MOST else ""
        inside = f"<table>{''.join(cells)}</table>{more}" if cells else "no constraint at this knot"
        return f'<div style="font-size:0.75em;padding:0 1em 0.4em">{inside}</div>'


def margin_at(rows: ConstraintRows, knot: int) -> Margin | None:
    """Returns the margin of a constraint at a knot 0..T; None if no solver enforces a row there.

    Args:
        rows: The rows of the constraint.
        knot: The knot.
    """
    values, lower, upper = rows.values[knot], rows.lower[knot], rows.upper[knot]
    equation = rows.equations[knot]
    with np.errstate(invalid="ignore"):
        distances = np.where(equation, -np.abs(values - lower), np.minimum(values - lower, upper - values))
    counted = rows.enforced[knot] & np.isfinite(distances)
    if not counted.any():
        return None
    beyond = np.where(counted, rows.violations[knot], -1.0)
    worst = int(beyond.argmax()) if rows.violated[knot][counted].any() else _closest(distances, counted, equation)
    if rows.violated[knot, worst]:
        state = "violated"
    elif equation[worst]:
        state = "holds"
    else:
        state = "at its bound" if rows.active[knot, worst] else "free"
    unit = rows.units[worst] if rows.units[worst] != "-" else ""
    return Margin(title=rows.title(worst), distance=float(distances[worst]), unit=unit, state=state)


def _closest(distances: Any, counted: Any, equation: Any) -> int:
    """Row closest to a bound; equations, which are always at it, come after all others."""
    rank = np.where(counted & ~equation, distances, np.inf)
    return int(rank.argmin()) if np.isfinite(rank).any() else int(np.flatnonzero(counted)[0])


def has_constraints(solution: Solution) -> bool:
    """Whether there are constraints to show; evaluates nothing."""
    return bool(solution.description.constraint_names)
