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
from trajopt.analysis.lines import shown_panels
from trajopt.analysis.moved import moved_words
from trajopt.analysis.reached import Reached, reached
from trajopt.analysis.strides import never_pass
from trajopt.plotting.com import plot_com
from trajopt.plotting.controls import control_panels
from trajopt.plotting.feet import plot_feet
from trajopt.plotting.forces import plot_contact_forces
from trajopt.plotting.ground import gap_to_ground, ground_level
from trajopt.plotting.motion import plot_motion
from trajopt.plotting.phases import plot_phases
from trajopt.plotting.strip import plot_strip, strip_height
from trajopt.plotting.style import SCREEN, split
from trajopt.plotting.top_view import draw_top_view, winds
from trajopt.plotting.trajectory import draw_panels
from trajopt.robots.legged import LEGGED_ROBOTS
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trajopt.solution import Solution


_STRIP, _HIGH = 2.9, 3.5  # largest height of the strip, and of one in which the robot climbs [inch]
_TOP = 4.0  # width of the view from above [inch]
_FORCE = 0.7  # height of the forces of a foot below a motion in space [inch]
_RISES = 1e-3  # rise of the reference of the centre of mass from which on a motion is to rise [m]
_SWING = 1e-3  # rise from which on a foot without a schedule swings, and is not a finger that pushes [m]
_FEWEST, _MOST = 3, 13  # smallest and largest number of pictures in a strip [-]
_SMALL = 9  # largest number of pictures to which phases of a motion add, in a lower strip [-]


def draw_legged(
    figure: Figure,
    solution: Solution,
    frames: int | None,
    frame: str | Sequence[str] | None,
    targets: npt.ArrayLike | None,
) -> None:
    """Draws the motion, the controls of each limb with bands of constraints, and the forces on each foot.

    The motion is a strip above, with a view from above beside it where the robot turns or leaves a line on level
    ground, or drawn in space on the left if other frames than feet have goals, or if frames or targets are passed.
    """
    legs = legged_motion(solution)
    if frame is not None or targets is not None or shown_goals(solution)[1]:
        left, controls = split(figure, 1, 2)
        low = 0.9 + _FORCE * len(legs.feet)
        motion, forces = split(left, 2, 1, height_ratios=[SCREEN[1] - low, low])
        plot_motion(solution, frames or 8, frame=frame, targets=targets, figure=motion)
    else:
        level = ground_level(legs) is not None
        top = level and winds(solution, legs)
        wide = SCREEN[0] - _TOP * top
        count = max(_fitting(solution, wide), min(len(legs.phases) // 2, _SMALL)) if frames is None else frames
        tall = _STRIP if top else min(strip_height(solution, count, wide), _STRIP if level else _HIGH)
        motion, below = split(figure, 2, 1, height_ratios=[tall, SCREEN[1] - 0.6 - tall])
        if top:
            motion, above = split(motion, 1, 2, width_ratios=[wide, _TOP])
            draw_top_view(above, solution, legs)
        plot_strip(solution, count, figure=motion)
        controls, forces = split(below, 1, 2)
    panels = control_panels(solution) or shown_panels(solution)
    draw_panels(controls, panels, constraint_rows(solution), *time_axis(solution))
    plot_contact_forces(solution, figure=forces)


def _fitting(solution: Solution, wide: float) -> int:
    """Number of pictures that fills a strip of this width [-]."""
    fits = (n for n in range(_FEWEST, _MOST) if strip_height(solution, n, wide) <= _STRIP)
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
    words = [f"moved {moved_words(solution, motion)}"]
    rows = reached(solution, motion)
    if any(not phase.feet for phase in motion.phases):
        rise, target_rise = (float(np.nanmax(z, initial=-np.inf) - motion.com[0, 2]) for z in _com_heights(motion))
        rises = [row for row in rows if row.what == "rise"]
        target = f" ({1e3 * target_rise:.0f} asked)" if target_rise > _RISES else ""
        if rises:
            rise = max(row.reached for row in rises)
            target = f" ({_range((row.asked for row in rises), 1e3)} asked)"
        words.append(f"centre of mass rises {_range([rise], 1e3)} mm{target}")
    words += _scheduled(rows) if rows else _measured(_on_feet(solution, motion))
    words += ["feet come side by side"] if never_pass(solution, motion) else []
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
    """Text for length, height and landing of the steps of a motion without a schedule; none where no foot rises."""
    swings = [(foot, a, b) for foot in motion.feet for a, b in motion.intervals(foot, standing=False)]
    if not any(f.positions[a : b + 1, 2].max() - f.positions[a, 2] > _SWING for f, a, b in swings):
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
