"""Plot of the feet: heights over time, paths and footholds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.analysis.legs import Foot, LeggedMotion, legged_motion
from trajopt.checks import check_flag
from trajopt.plotting.ground import GROUND, draw_ground, ground_level
from trajopt.plotting.phases import AIR, mark_phases, phases_of, shade_air
from trajopt.plotting.style import (
    GREY,
    REFERENCE,
    drawing,
    label_row,
    legend_below,
    line_look,
    set_time_axis,
    whole_figure,
)
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from trajopt.gaits import ContactSchedule
    from trajopt.solution import Solution


_ALONG = 0.02  # a direction this close to a world axis is named after the axis [-]
_WIDE: dict[str, Any] = {"linewidth": 3.4, "alpha": 0.5}
_NARROW: dict[str, Any] = {"linewidth": 1.4}
"""Alternating line widths, which keep left and right feet with equal paths visible."""

_SPAN = 0.04  # smallest range of a panel, which keeps a foot at rest from being magnified [m]


def plot_feet(
    solution: Solution,
    schedule: ContactSchedule | None = None,
    *,
    side: bool = True,
    figure: Figure | SubFigure | None = None,
) -> Figure:
    """Draws the height of each foot over time and, below, the paths of all feet in a side view.

    References of cost terms are dashed. Thick grey lines are the ground while the foot is in contact; level ground is
    drawn at the height of the feet at the start. The side view looks across the direction of motion, marks the
    footholds, and is not to scale. The position of a foot is the origin of its frame, which may be above the ground.

    Args:
        solution: Solution to draw; its problem has contacts.
        schedule: Gait of the solution, for the names of its phases.
        side: Whether to draw the side view.
        figure: Figure or subfigure to draw into; by default a new one.

    Returns:
        The figure; `figure.savefig("feet.png")` writes it.

    Raises:
        InvalidArgumentError: The solution has no problem, its state has no robot, its problem has no contacts, or the
            schedule has another number of knots.
    """
    motion, side = legged_motion(solution), check_flag("side", side)
    phases = phases_of(motion, schedule)
    rows = len(motion.feet)
    with drawing(figure, 8.0, 2.9 * side + 0.85 * rows) as target:
        grid = target.add_gridspec(rows + side, 1, height_ratios=[0.85] * rows + [1.8] * side)
        panels: list[Axes] = []
        for i, foot in enumerate(motion.feet):
            first = panels[0] if panels else None
            panels.append(target.add_subplot(grid[i], sharex=first, sharey=first))
            _draw_height(panels[i], motion, foot, i)
            panels[i].tick_params(labelbottom=i == rows - 1)
        heights = np.concatenate([np.append(foot.positions[:, 2], foot.references[:, 2]) for foot in motion.feet])
        low, high = float(np.nanmin(heights)), float(np.nanmax(heights))
        margin = max(0.1 * (high - low) + 1e-3, (_SPAN - high + low) / 2)
        panels[0].set_ylim(low - margin, high + margin)
        mark_phases(panels, phases)
        set_time_axis(panels[-1], motion.abscissa, motion.label)
        if side:
            _draw_side(target.add_subplot(grid[rows]), motion)
        _draw_legend(target, motion, side)
        return whole_figure(target)


def _draw_height(axes: Axes, motion: LeggedMotion, foot: Foot, number: int) -> None:
    """Draws the height of a foot over time."""
    shade_air(axes, motion, foot)
    level = ground_level(motion) if foot.on_floor else None
    for first, last in motion.intervals(foot, standing=True):
        height = foot.positions[first, 2] if level is None else level
        axes.plot(motion.abscissa[[first, last]], [height, height], color=GROUND, linewidth=4.0, alpha=0.5,
                  solid_capstyle="butt", zorder=1, label="_ground")  # fmt: skip
    axes.plot(motion.abscissa, foot.references[:, 2], label="_reference", **REFERENCE)
    axes.plot(motion.abscissa, foot.positions[:, 2], color=line_look(number)["color"], label=foot.name)
    label_row(axes, foot.name, "z [m]", len(motion.feet))


def _draw_side(axes: Axes, motion: LeggedMotion) -> None:
    """Draws the paths of all feet in a side view."""
    direction, label = _way(motion)
    paths = [np.column_stack([foot.positions[:, :2] @ direction, foot.positions[:, 2]]) for foot in motion.feet]
    holds = [
        np.column_stack([places[:, :2] @ direction, places[:, 2]]) for places in map(motion.footholds, motion.feet)
    ]
    references = [np.column_stack([foot.references[:, :2] @ direction, foot.references[:, 2]]) for foot in motion.feet]
    _set_range(axes, np.concatenate([*paths, *references]))
    draw_ground(axes, motion, np.concatenate(holds), _sections(axes, motion, direction))
    for i, foot in enumerate(motion.feet):
        look = line_look(i)
        axes.plot(*references[i].T, label="_reference", **REFERENCE)
        axes.plot(*paths[i].T, label=foot.name, **look, **(_NARROW if i % 2 else _WIDE))
        axes.plot(*holds[i].T, "^", color=look["color"], markersize=7, markeredgecolor="white", linestyle="", zorder=4,
                  label="_foothold")  # fmt: skip
    axes.set(xlabel=label, ylabel="z [m]")


def _sections(axes: Axes, motion: LeggedMotion, direction: Reals) -> list[Reals]:
    """Section of the terrain along the way of the feet."""
    if motion.relief is None:
        return []
    along = np.linspace(*axes.get_xlim(), 1000)
    left = np.array([-direction[1], direction[0]])
    aside = np.mean([foot.positions[:, :2] @ left for foot in motion.feet])
    points = along[:, None] * direction + aside * left
    return [np.column_stack([along, motion.relief.heights(points)])]


def _set_range(axes: Axes, points: Reals) -> None:
    low, high = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
    margin = np.maximum([0.05, 0.15] * (high - low), np.maximum((_SPAN - high + low) / 2, 1e-3))
    axes.set_xlim(low[0] - margin[0], high[0] + margin[0])
    axes.set_ylim(low[1] - margin[1], high[1] + margin[1])


def _way(motion: LeggedMotion) -> tuple[Reals, str]:
    """Main direction of the feet's motion, shape (2,) [-], and the label of its axis; x if the feet stay in place."""
    moved = np.mean([foot.positions[-1, :2] - foot.positions[0, :2] for foot in motion.feet], axis=0)
    length = float(np.linalg.norm(moved))
    direction = moved / length if length > 1e-2 else np.array([1.0, 0.0])
    for axis, name in ((0, "x"), (1, "y")):
        if abs(direction[1 - axis]) < _ALONG:
            return np.eye(2)[axis], f"{name} [m]"
    return direction, "along the way [m]"


def _draw_legend(target: Figure | SubFigure, motion: LeggedMotion, side: bool) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: list[Any] = []
    if side:
        entries += [Line2D([], [], label=foot.name, **line_look(i)) for i, foot in enumerate(motion.feet)]
    if any(np.isfinite(foot.references).any() for foot in motion.feet):
        entries.append(Line2D([], [], label="reference", **REFERENCE))
    if side:
        entries.append(Line2D([], [], color=GREY, marker="^", linestyle="", label="foothold"))
    entries.append(Line2D([], [], color=GROUND, linewidth=4.0, alpha=0.5, label="ground"))
    if not all(foot.stands[motion.takes_time].all() for foot in motion.feet):
        entries.append(Patch(facecolor=AIR, label="in the air"))
    legend_below(target, entries)
