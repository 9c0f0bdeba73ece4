"""Summary of a legged motion on one screen, and pages with more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trajopt.analysis.legs import LeggedMotion, legged_motion
from trajopt.callbacks.logger import CallbackLogger
from trajopt.plotting.com import plot_com
from trajopt.plotting.convergence import draw_convergence
from trajopt.plotting.cost_terms import plot_cost_terms
from trajopt.plotting.feet import plot_feet
from trajopt.plotting.forces import plot_contact_forces
from trajopt.plotting.goals import goals_of
from trajopt.plotting.ground import gap_to_ground
from trajopt.plotting.motion import plot_motion
from trajopt.plotting.phases import plot_phases
from trajopt.plotting.strip import plot_strip, strip_height
from trajopt.plotting.style import SCREEN, split
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trajopt.solution import Solution


_STRIP = (2.0, 2.6)  # least and largest height of the strip [inch]
_MOST = 13  # pictures in a strip [-]


def draw_legged(
    figure: Figure,
    solution: Solution,
    frames: int | None,
    frame: str | Sequence[str] | None,
    targets: npt.ArrayLike | None,
) -> None:
    """Draws a strip; below it forces, heights of the feet and balance; below them cost terms and convergence.

    Where frames that are no feet have goals, or frames or targets are given, the motion in space replaces the balance.
    """
    count = _fitting(solution) if frames is None else frames
    tall = float(np.clip(strip_height(solution, count, SCREEN[0]), *_STRIP))
    rest = SCREEN[1] - 0.6 - tall
    strip, middle, below = split(figure, 3, 1, height_ratios=[tall, 0.66 * rest, 0.34 * rest])
    plot_strip(solution, count, figure=strip)
    forces, heights, third = split(middle, 1, 3, width_ratios=[1.0, 1.0, 0.9])
    plot_contact_forces(solution, figure=forces)
    plot_feet(solution, side=False, figure=heights)
    feet = [foot.frame for foot in legged_motion(solution).feet]
    if frame is not None or targets is not None or any(name not in feet for name, _ in goals_of(solution)):
        plot_motion(solution, frame=frame, targets=targets, figure=third)
    else:
        plot_com(solution, figure=third)
    costs, progress = split(below, 1, 2, width_ratios=[1.3, 1.0])
    plot_cost_terms(solution, figure=costs)
    if solution.history:
        draw_convergence(progress, CallbackLogger(solution.history), ["cost", "stopping value"], 2)


def _fitting(solution: Solution) -> int:
    """Least number of pictures with which a strip as wide as the screen is no higher than it should be [-]."""
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
    """Draws the motion in space on the left, the balance on the right."""
    left, right = split(figure, 1, 2)
    plot_motion(solution, figure=left)
    plot_com(solution, figure=right)


def reached(solution: Solution) -> str:
    """Line that tells the way of a legged motion, and length, height and landing of its steps beside those asked."""
    motion = legged_motion(solution)
    way = float(np.hypot(*(motion.com[-1] - motion.com[0])[:2]))
    words = [f"moved {way:.3g} m in {motion.abscissa[-1] - motion.abscissa[0]:.3g} s"]
    swings = [(foot, a, b) for foot in motion.feet for a, b in motion.intervals(foot, standing=False)]
    if any(not phase.feet for phase in motion.phases):
        rise, asked_rise = (float(np.nanmax(z, initial=-np.inf) - motion.com[0, 2]) for z in _com_heights(motion))
        told = f" ({1e3 * asked_rise:.0f} asked)" if np.isfinite(asked_rise) else ""
        words.append(f"centre of mass rises {1e3 * rise:.0f} mm{told}")
    if swings:
        landed = [(f, a, b) for f, a, b in swings if b < len(f.stands) - 1 or a < f.hits.max(initial=-1)]
        lengths = [float(np.hypot(*(f.positions[b] - f.positions[a])[:2])) for f, a, b in landed]
        rises = [float(f.positions[a : b + 1, 2].max() - f.positions[a, 2]) for f, a, b in swings]
        guided = [(f, a, b) for f, a, b in swings if np.isfinite(f.references[a:b, 2]).mean() > 0.5]
        asked = [float(np.nanmax(f.references[a : b + 1, 2]) - f.positions[a, 2]) for f, a, b in guided]
        words += [f"steps of {_range(lengths)} m"] if lengths else []
        words += [f"feet rise {_range(rises, 1e3)} mm" + (f" ({_range(asked, 1e3)} asked)" if asked else "")]
        words += _landing(motion)
    return ", ".join(words)


def _com_heights(motion: LeggedMotion) -> tuple[Reals, Reals]:
    """Heights of the centre of mass, and those asked for [m]."""
    return motion.com[:, 2], motion.com_references[:, 2]


def _landing(motion: LeggedMotion) -> list[str]:
    """Text with the heights above level ground at which the feet land."""
    first = [(foot, a) for foot in motion.feet for a, _ in motion.intervals(foot, standing=True) if a > 0]
    gaps = [gap_to_ground(motion, foot, knot) for foot, knot in first]
    return [f"land {_range(gaps, 1e3)} mm above the ground"] if gaps else []


def _range(values: Iterable[float], scale: float = 1.0) -> str:
    """Smallest and largest value, or one if they look the same."""
    ends = [f"{scale * pick(values):.{0 if scale > 1 else 3}f}" for pick in (min, max)]
    low, high = (end.replace("-0", "0") if float(end) == 0 else end for end in ends)
    return low if low == high else f"{low} to {high}"
