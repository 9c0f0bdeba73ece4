"""A schedule as a Gantt chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.plotting.style import BLUE, GREY, RED, canvas, house_style, whole_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from trajopt.gaits.schedule import ContactSchedule

_HEIGHT = 0.62  # of a bar, of the distance between two feet [-]


def plot_schedule(schedule: ContactSchedule, *, figure: Figure | SubFigure | None = None) -> Figure:
    """Draws one row a foot: a bar while it stands, a thin arc while it swings, a triangle where it touches down.

    Args:
        schedule: What to draw.
        figure: Figure or subfigure to draw into; by default a new one.

    Returns:
        The figure; `figure.savefig("gait.png")` writes it.
    """
    with house_style():
        target = canvas(figure, 8.0, 1.1 + 0.42 * len(schedule.feet))
        axes = target.subplots()
        rows = {name: len(schedule.feet) - 1 - i for i, name in enumerate(schedule.feet)}
        first = 0
        for phase in schedule.phases:
            last = min(first + phase.knots, schedule.T)
            span = (float(schedule.times[first]), float(schedule.times[last]))
            for foot in phase.stance:
                axes.barh(rows[foot], span[1] - span[0], _HEIGHT, left=span[0], color=BLUE, linewidth=0)
            for swing in phase.swings:
                _arc(axes, span, rows[swing.foot], dashed=not swing.guided)
                if phase.touches_down:
                    low = rows[swing.foot] - 0.5 * _HEIGHT + 0.12
                    axes.plot(span[1], low, "v", color=RED, markersize=6, zorder=3, clip_on=False)
            axes.axvline(span[0], color=GREY, linewidth=0.5, zorder=0)
            _name(axes, phase.name, span, schedule.duration, len(schedule.feet) - 0.45)
            first += phase.nodes
        axes.set_yticks(list(rows.values()), labels=list(rows))
        axes.set_ylim(-0.6, len(schedule.feet) - 0.5)
        axes.set_xlim(0.0, schedule.duration)
        axes.grid(False)
        axes.set_xlabel("time [s]   (bar: stands, arc: swings, triangle: touches down)")
        return whole_figure(target)


def _arc(axes: Axes, span: tuple[float, float], row: float, *, dashed: bool) -> None:
    """The path of a foot in the air; dashed if nothing guides it."""
    s = np.linspace(0.0, 1.0, 41)
    style: dict[str, Any] = {"color": GREY, "linewidth": 1.2, "linestyle": "--" if dashed else "-"}
    axes.plot(span[0] + s * (span[1] - span[0]), row + _HEIGHT * (4 * s * (1 - s) - 0.5), **style)


def _name(axes: Axes, name: str, span: tuple[float, float], duration: float, height: float) -> None:
    """A phase's name above its time, if there is room for it."""
    room = (span[1] - span[0]) / max(duration, 1e-12) * 100  # letters that fit
    if room >= len(name):
        axes.text(sum(span) / 2, height, name, ha="center", va="bottom", fontsize=8, clip_on=False)
