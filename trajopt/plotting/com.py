"""Plot of balance: centre of mass, centre of pressure, and support polygons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.analysis.hull import convex_hull
from trajopt.analysis.legs import Foot, LeggedMotion, SupportPhase, legged_motion
from trajopt.checks import check_array
from trajopt.errors import InvalidArgumentError
from trajopt.plotting.phases import AIR, mark_phases, phases_of
from trajopt.plotting.style import (
    BLUE,
    PATCH,
    RAMP,
    RED,
    REFERENCE,
    drawing,
    legend_below,
    set_time_axis,
    time_ramp,
    whole_figure,
)
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from trajopt.gaits import ContactSchedule
    from trajopt.solution import Solution


_AROUND = np.array([0.09, 0.16])  # margin of the top view, with room for names above and below [-]
_SPAN = 0.01  # smallest range of heights, which keeps a body at rest from being magnified [m]
_NARROW = 0.25  # the shorter side of the top view is at least twice this fraction of the longer side [-]


def plot_com(
    solution: Solution,
    schedule: ContactSchedule | None = None,
    *,
    sole: npt.ArrayLike | None = None,
    figure: Figure | SubFigure | None = None,
) -> Figure:
    """Draws centre of mass and centre of pressure from above, with the support polygon of each phase.

    The centre of pressure is Σ c_i f_n,i / Σ f_n,i. The centre c_i of a point foot is the foot itself; that of a sole
    is p + n × τ / f_n with the wrench (f, τ) about p. It jumps at the start of a phase, and is not drawn while no foot
    is on the ground. The lower panel shows the height of the centre of mass. References of cost terms are dashed.

    Args:
        solution: Solution to draw; its problem has contacts.
        schedule: Gait of the solution, for the names of its phases.
        sole: Length and width (2,) [m] of soles whose size is in no cost term; None treats such soles as points.
        figure: Figure or subfigure to draw into; by default a new one.

    Returns:
        The figure; `figure.savefig("com.png")` writes it.

    Raises:
        InvalidArgumentError: The solution has no problem, its state has no robot, its problem has no contacts, or an
            argument has a wrong value.
    """
    sides = None if sole is None else _sides(sole)
    motion = legged_motion(solution, sides)
    phases = phases_of(motion, schedule)
    points = _shown(motion)
    tall = float(np.clip(7.0 * np.ptp(points[:, 1]) / max(np.ptp(points[:, 0]), 1e-6), 3.0, 6.0))
    with drawing(figure, 8.0, tall + 2.8) as target:
        above, beside = target.subplots(2, 1, height_ratios=[tall + 0.4, max(1.3, 0.42 * (tall + 0.4))])
        _draw_above(above, motion, points)
        _draw_height(beside, motion)
        mark_phases([beside], phases)
        set_time_axis(beside, motion.abscissa, motion.label)
        _draw_legend(target, motion)
        return whole_figure(target)


def _sides(sole: npt.ArrayLike) -> Reals:
    sides = check_array("sole", sole, (2,), cure="pass (length, width) [m]")
    if not np.all(sides > 0):
        raise InvalidArgumentError(f"sole: expected length and width > 0 [m], got {sides.tolist()}")
    return sides


def _shown(motion: LeggedMotion) -> Reals:
    """Points that the top view must contain, shape (n, 2) [m]."""
    prints = [
        (foot.positions[first] + foot.outline[first])[:, :2] for foot in motion.feet for first in motion.landings(foot)
    ]
    pressed = motion.pressures[np.isfinite(motion.pressures[:, 0]), :2]
    return np.concatenate([motion.com[:, :2], pressed, *prints])


def _draw_above(axes: Axes, motion: LeggedMotion, points: Reals) -> None:
    """Draws the top view."""
    low, high = points.min(axis=0), points.max(axis=0)
    longer = max(float((high - low).max()), 1e-3)
    center, half = (low + high) / 2, np.maximum((high - low) / 2, _NARROW * longer) + _AROUND * longer
    axes.set(aspect="equal", xlabel="x [m]", ylabel="y [m]")
    axes.set_xlim(center[0] - half[0], center[0] + half[0])
    axes.set_ylim(center[1] - half[1], center[1] + half[1])
    for phase in motion.phases:
        _draw_support(axes, motion, phase)
    for foot in motion.feet:
        draw_footprints(axes, motion, foot)
    axes.plot(*motion.com_references[:, :2].T, label="_reference", zorder=4, **REFERENCE)
    axes.plot(*motion.com[:, :2].T, color=BLUE, linewidth=2.0, label="centre of mass", zorder=5)
    axes.plot(*motion.com[:1, :2].T, "o", color=BLUE, markersize=5, markeredgecolor="white", label="_start", zorder=6)
    pressures = motion.pressures[:, :2]
    knots = np.concatenate([np.append(np.arange(phase.first, phase.last), -1) for phase in motion.phases])
    path = np.where((knots < 0)[:, None], np.nan, pressures[knots])  # a gap where a phase ends
    axes.plot(*path.T, ".-", color=RED, linewidth=0.8, markersize=4, label="centre of pressure", zorder=4)


def _draw_support(axes: Axes, motion: LeggedMotion, phase: SupportPhase) -> None:
    """Draws the support polygon of a phase; for two point feet it is a line."""
    feet = [motion.feet[i] for i in phase.feet if motion.feet[i].on_floor]
    if not feet:
        return
    corners = np.concatenate([foot.positions[phase.first] + foot.outline[phase.first] for foot in feet])
    hull = convex_hull(corners[:, :2])
    color = time_ramp()(phase.first / max(len(motion.takes_time) - 1, 1))
    axes.fill(*hull.T, facecolor=(*color[:3], 0.16), edgecolor=(*color[:3], 0.9), linewidth=1.0, label="_support")


def draw_footprints(axes: Axes, motion: LeggedMotion, foot: Foot) -> None:
    """Draws a footprint at each landing, and the name of the foot beside the first one."""
    for i, knot in enumerate(motion.landings(foot)):
        corners = foot.positions[knot] + foot.outline[knot]
        if len(corners) == 1:
            axes.plot(*corners[:, :2].T, "o", color="#333333", markersize=4.5, zorder=3, label="_footprint")
        else:
            axes.fill(*corners[:, :2].T, facecolor="none", edgecolor="#333333", linewidth=1.2, label="_footprint")
        if i == 0:
            _write_name(axes, motion, foot, corners)


def _write_name(axes: Axes, motion: LeggedMotion, foot: Foot, corners: Reals) -> None:
    """Writes the name of a foot beside its first footprint, away from the other feet."""
    left = foot.positions[0, 1] >= motion.com[0, 1]
    place = (float(corners[:, 0].mean()), corners[:, 1].max() if left else corners[:, 1].min())
    axes.annotate(short_names(motion)[foot.name], place, (0, 4 if left else -4), textcoords="offset points",
                         ha="center", va="bottom" if left else "top", fontsize=8, zorder=7, bbox=PATCH)  # fmt: skip


def short_names(motion: LeggedMotion) -> dict[str, str]:
    """Returns the names of the feet without a common suffix, such as "FL" for "FL_foot", if they still differ."""
    names = [foot.name for foot in motion.feet]
    ends = [name[name.index("_") :] if "_" in name else "" for name in names]
    short = [name.removesuffix(end) for name, end in zip(names, ends)]
    fits = len(set(ends)) == 1 and len(names) > 1 and all(short) and len(set(short)) == len(names)
    return dict(zip(names, short if fits else names))


def _draw_height(axes: Axes, motion: LeggedMotion) -> None:
    for phase in motion.phases:
        if not phase.feet:
            span = motion.abscissa[[phase.first, phase.last]]
            axes.axvspan(*span, color=AIR, linewidth=0, zorder=0, label="_air")
    axes.plot(motion.abscissa, motion.com_references[:, 2], label="_reference", **REFERENCE)
    axes.plot(motion.abscissa, motion.com[:, 2], color=BLUE, label="centre of mass")
    low, high = axes.get_ylim()
    room = max(0.0, (_SPAN - (high - low)) / 2.0)
    axes.set_ylim(low - room, high + room)
    axes.set_ylabel("CoM height [m]", fontsize=8.0)


def _draw_legend(target: Figure | SubFigure, motion: LeggedMotion) -> None:
    from matplotlib.colors import to_rgb
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: list[Any] = [Line2D([], [], color=BLUE, linewidth=2.0, label="centre of mass")]
    if np.isfinite(motion.com_references).any():
        entries.append(Line2D([], [], label="reference", **REFERENCE))
    entries.append(Line2D([], [], color=RED, marker=".", linewidth=0.8, markersize=4, label="centre of pressure"))
    entries.append(Patch(facecolor=(*to_rgb(RAMP[1]), 0.16), edgecolor=RAMP[1], label="span of feet (dark: last)"))
    if any(not phase.feet for phase in motion.phases):
        entries.append(Patch(facecolor=AIR, label="no foot on the ground"))
    legend_below(target, entries)
