"""Gantt chart of contacts, and the phase marks of all plots over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.legs import Foot, LeggedMotion, legged_motion
from trajopt.errors import InvalidArgumentError
from trajopt.plotting.style import BLUE, GREY, RED, drawing, set_time_axis, whole_figure
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from trajopt.gaits import ContactSchedule
    from trajopt.solution import Solution


AIR = "#EFEFEF"
"""Background colour while a foot is in the air."""

_HEIGHT = 0.62  # height of a bar, relative to the distance between two rows [-]
KEY = "(bar: stands, arc: in the air, dashed: free, triangle: touches down)"

_LETTERS = 100  # number of characters that fit above a chart [-]


@dataclass(frozen=True, kw_only=True)
class FootTimes:
    """Contact times of a foot.

    Attributes:
        name: Name of the foot.
        stands: Begin and end of each stance [s].
        swings: Begin and end of each interval in the air [s], and whether the foot has a reference there.
        touchdowns: Times of touch-downs with an impulse [s].
    """

    name: str
    stands: Sequence[tuple[float, float]]
    swings: Sequence[tuple[float, float, bool]]
    touchdowns: Sequence[float]


@dataclass(frozen=True, kw_only=True)
class NamedTime:
    """Begin and end of a phase [s], and its name, which may be empty."""

    name: str
    start: float
    end: float


def plot_phases(
    solution: Solution, schedule: ContactSchedule | None = None, *, figure: Figure | SubFigure | None = None
) -> Figure:
    """Draws one row per foot: a bar for a stance, a thin arc for a swing, a triangle for a touch-down.

    The chart shows the contacts and impulses that were active in the solve. An arc is dashed if no cost term guides
    the foot. `ContactSchedule.plot` draws a schedule in the same way.

    Args:
        solution: Solution to draw; its problem has contacts.
        schedule: Gait of the solution, for the names of its phases.
        figure: Figure or subfigure to draw into; by default a new one.

    Returns:
        The figure; `figure.savefig("phases.png")` writes it.

    Raises:
        InvalidArgumentError: The solution has no problem, its state has no robot, its problem has no contacts, or the
            schedule has another number of knots.
    """
    motion = legged_motion(solution)
    phases = phases_of(motion, schedule)
    with drawing(figure, 8.0, 1.1 + 0.42 * len(motion.feet)) as target:
        axes = target.subplots()
        draw_chart(axes, [_times_of(motion, foot) for foot in motion.feet], phases)
        set_time_axis(axes, motion.abscissa, f"{motion.label}   {KEY}")
        return whole_figure(target)


def _times_of(motion: LeggedMotion, foot: Foot) -> FootTimes:
    time = motion.abscissa.tolist()
    stands = [(time[first], time[last]) for first, last in motion.intervals(foot, standing=True)]
    swings = [
        (time[first], time[last], bool(np.isfinite(foot.references[first:last, 0]).any()))
        for first, last in motion.intervals(foot, standing=False)
    ]
    return FootTimes(name=foot.name, stands=stands, swings=swings, touchdowns=[time[knot] for knot in foot.hits])


def phases_of(motion: LeggedMotion, schedule: ContactSchedule | None) -> list[NamedTime]:
    """Returns the phases of a schedule, or without one the support phases of the motion, which have no names.

    Raises:
        InvalidArgumentError: `schedule` is not a schedule, or has another number of knots than the motion.
    """
    if schedule is None:
        time = motion.abscissa.tolist()
        return [NamedTime(name="", start=time[phase.first], end=time[phase.last]) for phase in motion.phases]
    if not hasattr(schedule, "phases"):
        raise InvalidArgumentError(f"schedule: expected a ContactSchedule, got {schedule!r}")
    knots = len(motion.takes_time)
    if knots != schedule.T:
        raise InvalidArgumentError(
            f"schedule: expected T = {knots} as in the solution, got T = {schedule.T}; pass the gait of this solution"
        )
    return schedule_phases(schedule, motion.abscissa)


def schedule_phases(schedule: ContactSchedule, abscissa: Reals) -> list[NamedTime]:
    """Returns the phases of a schedule whose knots are at the times `abscissa`, shape (T + 1,) [s]."""
    first, phases = 0, []
    for phase in schedule.phases:
        last = min(first + phase.knots, schedule.T)
        phases.append(NamedTime(name=phase.name, start=float(abscissa[first]), end=float(abscissa[last])))
        first += phase.total_knots
    return phases


def draw_chart(axes: Axes, rows: Sequence[FootTimes], phases: Sequence[NamedTime]) -> None:
    """Draws one row per foot, the first on top, and marks the phases."""
    for i, row in enumerate(rows):
        level = len(rows) - 1 - i
        for start, end in row.stands:
            axes.barh(level, end - start, _HEIGHT, left=start, color=BLUE, linewidth=0)
        for start, end, guided in row.swings:
            s = np.linspace(0.0, 1.0, 41)
            axes.plot(start + s * (end - start), level + _HEIGHT * (4 * s * (1 - s) - 0.5), color=GREY, linewidth=1.2,
                      linestyle="-" if guided else "--", label="_swing")  # fmt: skip
        for time in row.touchdowns:
            axes.plot(time, level - 0.5 * _HEIGHT + 0.12, "v", color=RED, markersize=6, zorder=3, clip_on=False,
                      label="_touch-down")  # fmt: skip
    axes.set_yticks(range(len(rows) - 1, -1, -1), labels=[row.name for row in rows])
    axes.set_ylim(-0.6, len(rows) - 0.5)
    mark_phases([axes], phases)
    axes.grid(False)


def mark_phases(panels: Sequence[Axes], phases: Sequence[NamedTime]) -> None:
    """Draws a line at the start of each phase in all panels, and its name above the first panel if it fits."""
    whole = max(phases[-1].end - phases[0].start, 1e-12)
    for axes in panels:
        axes.grid(False, axis="x")
        for phase in phases[1:]:
            axes.axvline(phase.start, color=GREY, linewidth=0.5, zorder=0, label="_phase")
    top = panels[0].get_xaxis_transform()
    for phase in phases:
        if phase.name and (phase.end - phase.start) / whole * _LETTERS >= len(phase.name):
            panels[0].annotate(phase.name, ((phase.start + phase.end) / 2, 1.0), (0, 3), xycoords=top,
                               textcoords="offset points", ha="center", va="bottom", fontsize=8)  # fmt: skip


def shade_air(axes: Axes, motion: LeggedMotion, foot: Foot) -> None:
    """Draws a grey background while a foot is in the air."""
    for first, last in motion.intervals(foot, standing=False):
        axes.axvspan(motion.abscissa[first], motion.abscissa[last], color=AIR, linewidth=0, zorder=0, label="_air")
