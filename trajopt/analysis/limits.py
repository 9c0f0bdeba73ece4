"""Limits of a robot that a solution exceeds: torques, forces, velocities and positions, where and by how much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.basics import check_solution
from trajopt.analysis.lines import Line, panels_of
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution

ROUNDING = 1e-6
"""A value is at its limit, not beyond it, within this part of the limit's size [-]."""

PERCENTAGES = ("control", "force", "torque", "velocity")
"""Quantities of which the part of the limit that is used says something; that of an angle would not."""


@dataclass(frozen=True, kw_only=True)
class LimitUse:
    """Use that a coordinate, a velocity or a control makes of its limits.

    Attributes:
        quantity: "torque", "force", "velocity", "angle", "position", "control" or "state".
        name: Joint, coordinate or control.
        unit: Unit of `value` and `limit`; empty if unknown.
        value: The value farthest out.
        limit: The limit on that side.
        use: Distance from the middle of the two limits in units of half their distance, |value| / limit for limits
            of one size; where there is one limit only, 1 + excess [-].
        knot: Knot of `value` [-].
        time: Its time [s]; None if the problem has no times.
        knots: Number of knots beyond a limit; 0 if both are kept [-].
    """

    quantity: str
    name: str
    unit: str
    value: float
    limit: float
    use: float
    knot: int
    time: float | None
    knots: int

    def __str__(self) -> str:
        where = f"at knot {self.knot}" + ("" if self.time is None else f" ({self.time:.3g} s)")
        unit = f" {self.unit}" if self.unit else ""
        excess = f"{abs(self.value - self.limit):.3g}{unit} beyond the limit {self.limit:.4g}"
        count = f"{self.knots} knot{'' if self.knots == 1 else 's'}"
        return f"{self.quantity} of {self.name}: {self.value:.4g}{unit} {where}, {excess} ({count})"


def limit_uses(solution: Solution) -> list[LimitUse]:
    """Use of each limit that the problem's state and controls have, the most exceeded one first.

    Limits are those of the robot's file (`problem.state.lower`, `upper`) and of the controls; they are shown, not
    enforced. A pair of limits without room between them (a file's zeros) is none.

    Args:
        solution: A solution with its problem; without one there are no limits to be known.
    """
    times = check_solution(solution).times
    lines = [line for panel in panels_of(solution) for line in panel if line.lower < line.upper]
    uses = [use for line in lines for use in _use(line, times)]
    return sorted(uses, key=lambda use: (use.knots == 0, -use.use))


def limits_report(solution: Solution) -> dict[str, str]:
    """One line on limits in words, under the name "limits"; empty if the problem has none."""
    uses = limit_uses(solution)
    if not uses:
        return {}
    over = [use for use in uses if use.knots]
    if over:
        more = f"; and {len(over) - 1} more, listed by explain" if len(over) > 1 else ""
        return {"limits": f"exceeded: {over[0]}{more}"}
    largest = {use.quantity: use.use for use in reversed(uses)}  # the first of each quantity uses most of it
    words = [f"{name} {100 * largest[name]:.0f} %" for name in sorted(largest) if name in PERCENTAGES]
    return {"limits": "kept" + (f"; at most {', '.join(words)}" if words else "")}


def _use(line: Line, times: Reals | None) -> Iterator[LimitUse]:
    """Use of a line's limits; nothing if it has none."""
    finite = [bound for bound in (line.lower, line.upper) if np.isfinite(bound)]
    if not finite or not line.values.size:
        return
    beyond = np.maximum(line.values - line.upper, line.lower - line.values)  # > 0 where a limit is exceeded
    knot = int(np.argmax(beyond))
    value = float(line.values[knot])
    half = (line.upper - line.lower) / 2 if len(finite) == 2 else 1.0
    yield LimitUse(
        quantity=line.quantity,
        name=f"{line.owner} {line.name}" if line.owner else line.name,
        unit=line.unit,
        value=value,
        limit=line.upper if value - line.upper >= line.lower - value else line.lower,
        use=1.0 + float(beyond[knot]) / half,
        knot=knot,
        time=None if times is None else float(times[knot]),
        knots=int(np.count_nonzero(beyond > ROUNDING * max(1.0, *map(abs, finite)))),
    )
