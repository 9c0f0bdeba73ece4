"""Gantt chart of a contact schedule, and its display in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trajopt import notebook
from trajopt.gaits.table import table
from trajopt.plotting.phases import KEY, FootTimes, draw_chart, schedule_phases
from trajopt.plotting.style import drawing, set_time_axis, whole_figure
from trajopt.plotting.window import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

    from trajopt.gaits.phase import Phase
    from trajopt.gaits.schedule import ContactSchedule


def plot_schedule(schedule: ContactSchedule, *, figure: Figure | SubFigure | None = None) -> Figure:
    """Draws one row per foot: a bar for a stance, a thin arc for a swing, a triangle for a touch-down.

    An arc is dashed if the foot has no reference. `trajopt.plotting.plot_phases` draws a solution in the same way.

    Args:
        schedule: Schedule to draw.
        figure: Figure or subfigure to draw into; by default a new one.

    Returns:
        The figure; `figure.savefig("gait.png")` writes it.
    """
    times = schedule_phases(schedule, schedule.times)
    spans = [(time.start, time.end) for time in times]
    rows = []
    for foot in schedule.feet:
        phases = list(zip(schedule.phases, spans))
        swings = _in_the_air(phases, foot)
        hits = [span[1] for phase, span in phases if phase.touches_down and foot in phase.swinging]
        stands = [span for phase, span in phases if foot in phase.stance]
        rows.append(FootTimes(name=foot, stands=stands, swings=swings, touchdowns=hits))
    with drawing(figure, 8.0, 1.1 + 0.42 * len(schedule.feet)) as target:
        axes = target.subplots()
        draw_chart(axes, rows, times)
        set_time_axis(axes, schedule.times, f"time [s]   {KEY}")
        return whole_figure(target)


def _in_the_air(phases: list[tuple[Phase, tuple[float, float]]], foot: str) -> list[tuple[float, float, bool]]:
    """Start and end [s] of each swing of a foot over all its phases, and whether a phase guides it."""
    flights: list[tuple[float, float, bool]] = []
    joined = False
    for phase, (start, end) in phases:
        if foot in phase.stance:
            joined = False
            continue
        guided = any(swing.guided for swing in phase.swings if swing.foot == foot)
        if joined:
            start, _, before = flights.pop()
            guided = guided or before
        flights.append((start, end, guided))
        joined = not (phase.touches_down and foot in phase.swinging)
    return flights


def html_of_schedule(schedule: ContactSchedule) -> str:
    """Returns table and chart of a schedule as HTML."""
    figure = new_figure(8.0, 1.1 + 0.42 * len(schedule.feet), apart=True)
    return notebook.text(table(schedule)) + notebook.picture(plot_schedule(schedule, figure=figure))
