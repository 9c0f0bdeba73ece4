"""Table of a contact schedule as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trajopt.gaits.phase import Phase
    from trajopt.gaits.schedule import ContactSchedule

STANDS, HANGS = "█", "·"


def table(schedule: ContactSchedule) -> str:
    """One line for each phase: knots, times, state of each foot, reference of the centre of mass."""
    head = ["phase", "knots", "time [s]", *schedule.feet, "com [m]"]
    rows, first = [head], 0
    for phase in schedule.phases:
        start, end = schedule.times[first], schedule.times[min(first + phase.knots, schedule.T)]
        knots = f"{phase.knots}{' + 1' if phase.touches_down else ''}"
        feet = [_foot(phase, name) for name in schedule.feet]
        com = "" if phase.com is None else f"→ ({', '.join(f'{v:.3f}' for v in phase.com)})"
        rows.append([phase.name, knots, f"{start:.2f}–{end:.2f}", *feet, com])
        first += phase.total_knots
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    speed = f"; {schedule.speed:.3f} m/s" if schedule.speed else ""
    summary = (
        f"{len(schedule.feet)} feet, T = {schedule.T} knots and the end, {schedule.duration:.3g} s, "
        f"dt = {schedule.dt:g} s{speed}; {STANDS} stands, → swings to, {HANGS} hangs, + 1 is the touch-down"
    )
    return "\n".join([*lines, summary])


def _foot(phase: Phase, name: str) -> str:
    if name in phase.stance:
        return STANDS
    for swing in phase.swings:
        if swing.foot == name:
            return f"→ {swing.to!r}" + ("" if swing.height is None else f" ↑{swing.height:g}")
    return HANGS
