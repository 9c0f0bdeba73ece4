"""Panels of a closed loop: distances from obstacles, estimates, and controls with their share of the limits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.body_gaps import body_gaps
from trajopt.analysis.constraints import ConstraintRows, constraint_rows
from trajopt.analysis.lines import Line
from trajopt.analysis.references import distances_of
from trajopt.plotting.controls import control_panels
from trajopt.plotting.style import line_look
from trajopt.residuals import ResidualModelCollisions
from trajopt.solution import Solution
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trajopt.mpc.log import ClosedLoop

IDLE = 0.01
"""Share of their limits below which controls have no panel if others reach more [-]."""
_MOST = 5  # largest number of obstacles in the panel of distances [-]
_AND = " and "
_ESTIMATE, _FORCES = "estimate", "disturbance of "
_MOST_ESTIMATES = 3  # largest number of panels of estimates [-]
_LINKS = "links of the robot"
_NUMBER = re.compile(r"_\d+$")
_ROOM = 0.25  # above the lines for a note, relative to their panel [-]
_NEAR = 8.0  # largest distance that is drawn, relative to the largest margin [-]


def distance_panels(motion: Solution) -> list[list[Line]]:
    """Panel with the least distance of the robot from each obstacle, with margins; [] without any.

    The lines are those of the nearest obstacles; without obstacles it is that between links. Of a motion from a file
    they are those of the rows of constraints, with gaps where these measure other bodies.

    Args:
        motion: The motion.
    """
    if motion.robot is None:
        return []
    if motion.problem is not None:
        lines = _all_distances(motion)
    else:
        frames = motion.robot.frame_names
        lines = [line for rows in constraint_rows(motion) if rows.bodies for line in _distances(rows, frames)]
    lines = [line for line in lines if line.name != _LINKS] or lines
    lines.sort(key=lambda line: float(np.nanmin(line.values)))
    return [lines[:_MOST]] if lines else []


def _all_distances(motion: Solution) -> list[Line]:
    """Least distance from each obstacle, and between links, with the margins of constraints; also without a row."""
    items, values = distances_of(motion)
    lines = []
    for item in items:
        if not isinstance(item.residual, ResidualModelCollisions) or f"{item.name}.lower" not in values:
            continue
        margins = values[f"{item.name}.lower"]  # of links from each other it may be less
        gaps = np.concatenate(body_gaps(item, values, motion.xs, np.arange(len(motion.xs)))[0], axis=1)
        links = item.residual.indices()[:, 1] >= 0
        others = np.where(links, _LINKS, [label.rpartition(_AND)[2] for label in item.residual.labels()])
        for name in np.unique(others).tolist():
            margin = margins.min(axis=1) if name == _LINKS else margins.max(axis=1)
            lines.append(_line(name, gaps[:, others == name].min(axis=1), margin))
    return lines


def _distances(rows: ConstraintRows, frames: Sequence[str]) -> list[Line]:
    """Least distance from each obstacle, and between links, with the margin of the constraint."""
    others = np.array([[words.rpartition(_AND)[2] for words in each] for each in rows.bodies])
    links = [other for other in np.unique(others) if _NUMBER.sub("", other) in frames]  # see `CollisionShapes.names`
    others = np.where(np.isin(others, links), _LINKS, others)
    lines = []
    for name in np.unique(others[others != ""]):
        mine = (others == name) & np.isfinite(rows.values)
        values = np.min(np.where(mine, rows.values, np.inf), axis=1)
        margin = np.min(np.where(mine, rows.lower, np.inf), axis=1)
        there = np.isfinite(values)
        if there.any():
            lines.append(_line(str(name), np.where(there, values, np.nan), np.where(there, margin, -np.inf)))
    return lines


def _line(name: str, values: Reals, least: Reals) -> Line:
    """Line of a distance with its margin [m]."""
    most = np.full(least.shape, np.inf)
    least = np.where(np.isfinite(least), least, -np.inf)
    return Line(group="distance", quantity="distance", unit="m", name=name, values=values, least=least, most=most)


def estimate_panels(log: ClosedLoop) -> list[list[Line]]:
    """Panels of what the controller estimates over time, one for each parameter with all its elements.

    Args:
        log: The closed loop.
    """
    panels: dict[str, list[Line]] = {}
    for name, values in log.estimated.items():
        of = _FORCES if name.startswith(_FORCES) else name.partition("[")[0]
        line = Line(group=_ESTIMATE, quantity=_ESTIMATE, name=name, values=values[:: log.every, 0])
        panels.setdefault(of, []).append(line)
    return list(panels.values())[:_MOST_ESTIMATES]


def busy_panels(motion: Solution) -> tuple[list[list[Line]], list[str]]:
    """Panels of controls without those that hardly act, and the words above each: its largest share of a limit.

    Args:
        motion: The motion.
    """
    panels = control_panels(motion)
    shares = [max((_share(line) for line in panel), default=0.0) for panel in panels]
    idle = [0.0 < share < IDLE < max(shares) for share in shares]
    words = [f"at most {_percent(share)} of a limit" if share > 0.0 else "" for share in shares]
    kept = [i for i, each in enumerate(idle) if not each]
    left_out = [f"{_title(panel)} {_percent(share)}" for panel, share, each in zip(panels, shares, idle) if each]
    notes = [words[i] for i in kept]
    if left_out and notes:
        notes[-1] = "; ".join([notes[-1], *left_out]).lstrip("; ")
    return [panels[i] for i in kept], notes


def complete(drawn: list[Axes], apart: list[list[Line]], notes: list[str], log: ClosedLoop) -> None:
    """Cuts off large distances and shades deviations of estimates; writes notes into the other panels."""
    for axes, panel in zip(drawn, apart):
        if panel[0].group == _ESTIMATE:
            _draw_deviations(axes, panel, log)
            continue
        margins = np.concatenate([line.least for line in panel if line.least is not None])
        top = _NEAR * float(np.max(margins, where=np.isfinite(margins), initial=0.0))
        axes.set_ylim(top=min(axes.get_ylim()[1], top) if top > 0.0 else None)
    for axes, words in zip(drawn[len(apart) :], notes):
        if words:
            low, high = axes.get_ylim()
            axes.set_ylim(top=high + _ROOM * (high - low))
            axes.text(0.01, 0.96, words, transform=axes.transAxes, va="top", fontsize="small")


def _draw_deviations(axes: Axes, panel: list[Line], log: ClosedLoop) -> None:
    """Shades one standard deviation around estimates, within the range of the estimates and their last deviations."""
    ends = [axes.get_ylim()]
    for i, line in enumerate(panel):
        value, deviation = log.estimated[line.name][:: log.every].T
        color = line_look(i)["color"]
        axes.fill_between(log.sample_times[:-1], value - deviation, value + deviation, step="post", color=color,
                          alpha=0.12, linewidth=0, label="_deviation")  # fmt: skip
        ends.append((value[-1] - deviation[-1], value[-1] + deviation[-1]))
    axes.set_ylim(np.min(ends), np.max(ends))
    title = panel[0].name.partition("[")[0] if len(panel) == 1 or "[" in panel[0].name else ""
    axes.set_title(f"{title} ± one standard deviation".lstrip(), fontweight="normal", pad=3)


def _title(panel: list[Line]) -> str:
    return panel[0].owner or panel[0].name


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= IDLE else f"{100 * share:.1g} %"


def _share(line: Line) -> float:
    """Largest part of a limit, by the file or by constraints, that a line reaches [-]; 0 without limits."""
    low = np.full(line.values.shape, line.lower) if line.least is None else np.maximum(line.least, line.lower)
    high = np.full(line.values.shape, line.upper) if line.most is None else np.minimum(line.most, line.upper)
    return max(_part(line.values, high), _part(-line.values, -low))


def _part(values: Reals, limit: Reals) -> float:
    there = np.isfinite(limit) & (limit > 0.0) & np.isfinite(values)
    return float(np.max(np.maximum(values[there], 0.0) / limit[there], initial=0.0))
