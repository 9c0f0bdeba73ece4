"""Plot of the contact forces of each foot, with the friction limit of the tangential force."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.analysis.legs import Foot, LeggedMotion, legged_motion
from trajopt.analysis.reached import SOFT
from trajopt.analysis.report import tips
from trajopt.plotting.limits import band_entry, draw_band
from trajopt.plotting.phases import AIR, mark_phases, phases_of, shade_air
from trajopt.plotting.style import BLUE, PATCH, RED, drawing, label_row, legend_below, set_time_axis, whole_figure
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from trajopt.gaits import ContactSchedule
    from trajopt.solution import Solution


_PUSH: dict[str, Any] = {"color": BLUE, "marker": "^"}
_PULL: dict[str, Any] = {"color": RED, "marker": "v", "markerfacecolor": "white"}
_COLUMN = 6  # largest number of panels in a column [-]
_LETTER = 0.008  # width of a letter, relative to the panel [-]
_ROOM = 0.16  # room for text above the forces, relative to the panel [-]
_FULL = 0.999  # use of the cone above which it is fully used [-]
_TOUCHES = 0.02  # normal force below which a foot is hardly loaded, relative to the weight [-]


def plot_contact_forces(
    solution: Solution, schedule: ContactSchedule | None = None, *, figure: Figure | SubFigure | None = None
) -> Figure:
    """Draws normal and tangential force of each foot over time, and the friction limit of the tangential force.

    The friction limit is a band up to μ times the normal force, for contacts with a friction or wrench cone in costs
    or constraints. Forces are constant over a knot and drawn as steps. The background is grey while a foot is in the
    air.

    A triangle marks a touch-down, with its normal impulse [N s] if it changes the robot's velocity by at least 1 mm/s
    and the number fits. It points up if the ground pushes. An open triangle that points down is a negative impulse,
    with which the ground would pull.

    Each panel shows the largest use of the friction limit; dots mark full use. The use at loads below 2 % of the
    weight is in brackets if it is larger. For soles it also shows the largest distance of the centre of pressure from
    the middle, in half lengths or widths: above 100 % the foot tips. In a replay with a plant's forces the sole is the
    plan's, which may be smaller than the plant's.

    Args:
        solution: Solution to draw; its problem has contacts.
        schedule: Gait of the solution, for the names of its phases.
        figure: Figure or subfigure to draw into; by default a new one.

    Returns:
        The figure; `figure.savefig("forces.png")` writes it.

    Raises:
        InvalidArgumentError: The solution has no problem, its state has no robot, its problem has no contacts, or the
            schedule has another number of knots.
    """
    motion = legged_motion(solution)
    phases = phases_of(motion, schedule)
    with drawing(figure, 8.0, 1.0 + 1.15 * len(motion.feet)) as target:
        mark_phases(draw_forces(target, motion), phases)
        return whole_figure(target)


def draw_forces(target: Figure | SubFigure, motion: LeggedMotion) -> list[Axes]:
    """Draws the forces of each foot as in `plot_contact_forces`, and returns the panels."""
    across = 1 if len(motion.feet) <= _COLUMN else 2
    down = -(-len(motion.feet) // across)
    cells = target.subplots(down, across, sharex=True, sharey=True, squeeze=False).T.ravel()
    panels = list(cells[: len(motion.feet)])
    for cell in cells[len(motion.feet) :]:
        cell.remove()
    for axes, foot in zip(panels, motion.feet):
        shade_air(axes, motion, foot)
        _draw_foot(axes, motion, foot, down)
    low, high = panels[0].get_ylim()  # all panels share it
    panels[0].set_ylim(low, high + _ROOM * (high - low))
    for axes in {panels[min(down, len(panels)) - 1], panels[-1]}:
        set_time_axis(axes, motion.abscissa, motion.label)
        axes.tick_params(labelbottom=True)
    _draw_legend(target, motion)
    return panels


def _draw_foot(axes: Axes, motion: LeggedMotion, foot: Foot, rows: int) -> None:
    label_row(axes, foot.name, "force [N]", rows)
    axes.axhline(0.0, color="#555555", linewidth=0.6, zorder=1)
    times, normal, along = held(motion, foot.normal_forces, foot.tangential_forces)
    _, limit = held(motion, np.maximum(foot.mu * foot.normal_forces, 0.0))
    draw_band(axes, times, limit, RED)
    axes.plot(times, normal, color=BLUE, label="normal")
    axes.plot(times, along, color=RED, label="tangential")
    _draw_use(axes, motion, foot)
    for knot in foot.hits:
        time, impulse = float(motion.abscissa[knot]), float(foot.normal_impulses[knot])
        slight = abs(impulse) < SOFT * motion.weight
        look = _PUSH if impulse >= 0 or slight else _PULL
        axes.plot(time, 0.0, markersize=6, transform=axes.get_xaxis_transform(), clip_on=False, zorder=4, linestyle="",
                  label="_touch-down" if impulse >= 0 or slight else "_pull", **look)  # fmt: skip
        number = f"{impulse:.2g} N s" if abs(impulse) < 100 else f"{impulse:.0f} N s"
        if not slight and _has_room(motion, foot, int(knot), len(number)):
            axes.annotate(number, (time, 0.0), (-6, 7), xycoords=axes.get_xaxis_transform(),
                          textcoords="offset points", ha="right", va="center", fontsize=7.5,
                          color=look["color"])  # fmt: skip


def _draw_use(axes: Axes, motion: LeggedMotion, foot: Foot) -> None:
    """Writes the largest use of friction limit and sole of a foot, and marks full use of the friction limit."""
    words, full = [], np.zeros(0, dtype=np.int64)
    limit = foot.mu * foot.normal_forces
    loaded = foot.stands & np.isfinite(limit) & (limit > 1e-3 * motion.weight)
    if loaded.any():
        use = np.where(loaded, foot.tangential_forces / np.where(loaded, limit, 1.0), 0.0)
        words.append(_friction_words(use, foot, _TOUCHES * motion.weight))
        full = np.flatnonzero(use >= _FULL)
    tipped = _sole_use(motion, foot)
    if np.isfinite(tipped):
        whose = "plan's sole" if motion.measured else "sole"
        over = tips(dataclasses.replace(motion, feet=(foot,))) and not motion.measured
        words.append(f"{whose} used {100 * tipped:.0f} %{': tips' * over}")
    if not words:
        return
    axes.annotate(", ".join(words), (1.0, 1.0), (-2, 0), xycoords="axes fraction", textcoords="offset points",
                         ha="right", va="top", fontsize=7.0, color=RED, zorder=6, bbox=PATCH)  # fmt: skip
    axes.plot(motion.abscissa[full], foot.tangential_forces[full], ".", color=RED, markersize=5, label="_full")


def _friction_words(use: Reals, foot: Foot, least: float) -> str:
    """Text for the largest use of friction (T,), at normal forces above `least` [N] and below."""
    firm = np.nan_to_num(foot.normal_forces) >= least
    most, slightly = (100 * float(np.max(use, initial=0.0, where=where)) for where in (firm, ~firm))
    more = f" ({slightly:.0f} % below {least:.2g} N)" if f"{slightly:.0f}" != f"{most:.0f}" and slightly > most else ""
    return f"friction used {most:.0f} % of the cone{more}"


def _sole_use(motion: LeggedMotion, foot: Foot) -> float:
    """Largest use of a sole while it carries at least a thousandth of the weight [-]; NaN for a point foot."""
    loaded = foot.stands & (np.nan_to_num(foot.normal_forces) > 1e-3 * motion.weight)
    use = foot.sole_use[loaded]
    return float(np.nanmax(use)) if np.isfinite(use).any() else np.nan


def _has_room(motion: LeggedMotion, foot: Foot, knot: int, letters: int) -> bool:
    """Whether the number of a touch-down fits between it and the previous touch-down."""
    before = [float(motion.abscissa[k]) for k in foot.hits if k < knot]
    left = max([float(motion.abscissa[0]), *before])
    width = float(motion.abscissa[-1] - motion.abscissa[0])
    return float(motion.abscissa[knot]) - left > letters * _LETTER * width


def held(motion: LeggedMotion, *rows: Reals) -> tuple[Reals, ...]:
    """Returns the corners of step curves: times (2 n,), and each row (T,) at the n knots with a duration (2 n,)."""
    knots = np.flatnonzero(motion.takes_time)
    times = np.stack([motion.abscissa[knots], motion.abscissa[knots + 1]], axis=1).ravel()
    return times, *(np.repeat(values[knots], 2) for values in rows)


def _draw_legend(target: Figure | SubFigure, motion: LeggedMotion) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: list[Any] = [
        Line2D([], [], color=BLUE, label="normal force"),
        Line2D([], [], color=RED, label="tangential force"),
    ]
    coefficients = np.concatenate([foot.mu[np.isfinite(foot.mu)] for foot in motion.feet])
    if coefficients.size:
        value = f" = {coefficients[0]:g}" if np.ptp(coefficients) == 0 else ""
        entries.append(band_entry(f"friction limit (μ{value})", RED))
    impulses = np.concatenate([foot.normal_impulses[foot.hits] for foot in motion.feet])
    slight = np.abs(impulses) < SOFT * motion.weight
    if np.any(slight | (impulses >= 0)):
        name = "touch-down" if np.all(slight | (impulses < 0)) else "touch-down, normal impulse"
        entries.append(Line2D([], [], linestyle="", label=name, **_PUSH))
    if np.any((impulses < 0) & ~slight):
        entries.append(Line2D([], [], linestyle="", label="negative impulse: pulls", **_PULL))
    if not all(foot.stands[motion.takes_time].all() for foot in motion.feet):
        entries.append(Patch(facecolor=AIR, label="in the air"))
    legend_below(target, entries)
