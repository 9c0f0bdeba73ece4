"""Summary of a legged motion on one screen, and further pages."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trajopt.analysis.basics import time_axis
from trajopt.analysis.constraints import constraint_rows
from trajopt.analysis.goals import shown_goals
from trajopt.analysis.legs import LeggedMotion, legged_motion
from trajopt.analysis.reached import Reached, reached
from trajopt.analysis.report import moved_words
from trajopt.callbacks.logger import CallbackLogger
from trajopt.plotting.bands import band_entries, draw_bands
from trajopt.plotting.com import plot_com
from trajopt.plotting.convergence import draw_convergence, main_quantities
from trajopt.plotting.cost_terms import plot_cost_terms
from trajopt.plotting.feet import plot_feet
from trajopt.plotting.forces import plot_contact_forces
from trajopt.plotting.ground import gap_to_ground
from trajopt.plotting.motion import plot_motion
from trajopt.plotting.phases import plot_phases
from trajopt.plotting.strip import plot_strip, strip_height
from trajopt.plotting.style import SCREEN, legend_below, set_time_axis, split
from trajopt.robots.legged import LEGGED_ROBOTS
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trajopt.solution import Solution


_STRIP = (2.0, 2.6)  # smallest and largest height of the strip [inch]
_MOST = 13  # largest number of pictures in a strip [-]


def draw_legged(
    figure: Figure,
    solution: Solution,
    frames: int | None,
    frame: str | Sequence[str] | None,
    targets: npt.ArrayLike | None,
) -> None:
    """Draws a strip; below it forces, heights of the feet and balance; then cost terms and convergence.

    The motion in space replaces the balance if other frames than feet have goals, or if frames or targets are passed.
    """
    count = _fitting(solution) if frames is None else frames
    tall = float(np.clip(strip_height(solution, count, SCREEN[0]), *_STRIP))
    rest = SCREEN[1] - 0.6 - tall
    strip, middle, below = split(figure, 3, 1, height_ratios=[tall, 0.66 * rest, 0.34 * rest])
    plot_strip(solution, count, figure=strip)
    forces, heights, third = split(middle, 1, 3, width_ratios=[1.0, 1.0, 0.9])
    plot_contact_forces(solution, figure=forces)
    plot_feet(solution, side=False, figure=heights)
    if frame is not None or targets is not None or shown_goals(solution)[1]:
        plot_motion(solution, frame=frame, targets=targets, figure=third)
    else:
        plot_com(solution, figure=third)
    constraints = constraint_rows(solution)
    costs, *bands, progress = (
        split(below, 1, 3, width_ratios=[1.2, 1.0, 0.8]) if constraints else split(below, 1, 2, width_ratios=[1.3, 1.0])
    )
    plot_cost_terms(solution, figure=costs)
    if bands:
        axes, (abscissa, label) = bands[0].subplots(), time_axis(solution)
        draw_bands(axes, constraints, abscissa)
        set_time_axis(axes, abscissa, label)
        legend_below(bands[0], band_entries(constraints))
    if solution.history:
        log = CallbackLogger(solution.history)
        names = main_quantities(log)[:3]
        draw_convergence(progress, log, names, len(names))


def _fitting(solution: Solution) -> int:
    """Smallest number of pictures in a strip of screen width that keeps its height within the limit [-]."""
    fits = (n for n in range(4, _MOST) if strip_height(solution, n, SCREEN[0]) <= _STRIP[1])
    return next(fits, _MOST)


def draw_contacts(figure: Figure, solution: Solution) -> None:
    """Draws phases and forces on the left, heights and paths of the feet on the right."""
    left, right = split(figure, 1, 2)
    feet = len(legged_motion(solution).feet)
    phases, forces = split(left, 2, 1, height_ratios=[1.0 + 0.3 * feet, 1.0 + 1.1 * feet])
    plot_phases(solution, figure=phases)
    plot_contact_forces(solution, figure=forces)
    plot_feet(solution, figure=right)


def draw_space(figure: Figure, solution: Solution) -> None:
    """Draws the motion in space on the left, and the balance on the right."""
    left, right = split(figure, 1, 2)
    plot_motion(solution, figure=left)
    plot_com(solution, figure=right)


def heading(solution: Solution) -> str:
    """Returns a line with the displacement of a legged motion, and length, height and landing of its steps.

    The numbers are those of `motion_report`, beside their targets: from the gait's schedule, or without one from the
    feet's paths and references.
    """
    motion = legged_motion(solution)
    words = [f"moved {moved_words(solution)}"]
    rows = reached(solution, motion)
    if any(not phase.feet for phase in motion.phases):
        rise, target_rise = (float(np.nanmax(z, initial=-np.inf) - motion.com[0, 2]) for z in _com_heights(motion))
        rises = [row for row in rows if row.what == "rise"]
        target = f" ({1e3 * target_rise:.0f} asked)" if np.isfinite(target_rise) else ""
        if rises:
            rise = max(row.reached for row in rises)
            target = f" ({_range((row.asked for row in rises), 1e3)} asked)"
        words.append(f"centre of mass rises {_range([rise], 1e3)} mm{target}")
    words += _scheduled(rows) if rows else _measured(_on_feet(solution, motion))
    return ", ".join(words)


def _scheduled(rows: Sequence[Reached]) -> list[str]:
    """Text for length, height and landing of the steps, beside the targets of the schedule."""
    words = []
    for what, start, scale, unit in (("length", "steps of", 1.0, "m"), ("clearance", "feet rise", 1e3, "mm")):
        chosen = [row for row in rows if row.what == what]
        if chosen:
            got, target = (_range((getattr(row, key) for row in chosen), scale) for key in ("reached", "asked"))
            words.append(f"{start} {got} {unit} ({'as' if ' ' in target and got == target else target} asked)")
    landings = [row.reached for row in rows if row.what == "landing"]
    return [*words, *([f"land {_range(landings, 1e3)} mm high"] if landings else [])]


def _on_feet(solution: Solution, motion: LeggedMotion) -> LeggedMotion:
    """Reduces a motion to the robot's feet, if they are known; knees and belly may touch the ground too."""
    legs = LEGGED_ROBOTS.get(getattr(solution.robot, "name", ""))
    feet = tuple(foot for foot in motion.feet if legs is not None and foot.frame in legs.feet)
    return dataclasses.replace(motion, feet=feet) if feet else motion


def _measured(motion: LeggedMotion) -> list[str]:
    """Text for length, height and landing of the steps of a motion without a schedule."""
    swings = [(foot, a, b) for foot in motion.feet for a, b in motion.intervals(foot, standing=False)]
    if not swings:
        return []
    landed = [(f, a, b) for f, a, b in swings if b < len(f.stands) - 1 or f.lands]
    lengths = [float(np.hypot(*(f.positions[b] - f.positions[a])[:2])) for f, a, b in landed]
    rises = [float(f.positions[a : b + 1, 2].max() - f.positions[a, 2]) for f, a, b in swings]
    guided = [(f, a, b) for f, a, b in swings if np.isfinite(f.references[a:b, 2]).mean() > 0.5]
    targets = [float(np.nanmax(f.references[a : b + 1, 2]) - f.positions[a, 2]) for f, a, b in guided]
    words = [f"steps of {_range(lengths)} m"] if lengths else []
    words += [f"feet rise {_range(rises, 1e3)} mm" + (f" ({_range(targets, 1e3)} asked)" if targets else "")]
    return words + _landing(motion)


def _com_heights(motion: LeggedMotion) -> tuple[Reals, Reals]:
    """Heights of the centre of mass, and their references [m]."""
    return motion.com[:, 2], motion.com_references[:, 2]


def _landing(motion: LeggedMotion) -> list[str]:
    """Text for the heights above level ground at which the feet land."""
    first = [(foot, a) for foot in motion.feet for a, _ in motion.intervals(foot, standing=True) if a > 0]
    gaps = [gap_to_ground(motion, foot, knot) for foot, knot in first]
    return [f"land {_range(gaps, 1e3)} mm high"] if gaps else []


def _range(values: Iterable[float], scale: float = 1.0) -> str:
    """Text for the smallest and largest value, or one value if both look the same."""
    values = list(values)
    ends = [f"{scale * pick(values):.{0 if scale > 1 else 3}f}" for pick in (min, max)]
    low, high = (end.replace("-0", "0") if float(end) == 0 else end for end in ends)
    return low if low == high else f"{low} to {high}"
