"""Summary of a legged motion in one figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy.typing as npt

from trajopt.analysis.legs import legged_motion
from trajopt.plotting.com import plot_com
from trajopt.plotting.convergence import plot_convergence
from trajopt.plotting.cost_terms import plot_cost_terms
from trajopt.plotting.feet import plot_feet
from trajopt.plotting.forces import plot_contact_forces
from trajopt.plotting.motion import plot_motion
from trajopt.plotting.phases import plot_phases
from trajopt.plotting.strip import plot_strip, strip_height
from trajopt.plotting.style import split
from trajopt.plotting.trajectory import plot_solution

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trajopt.solution import Solution


_WIDTH = 16.0  # of the figure [inch]
_CONVERGENCE, _COSTS = 4.6, 4.2  # heights [inch]


def legged_size(solution: Solution, frames: int) -> tuple[float, float]:
    """Width and height of the figure [inch]."""
    strip, left, right = _heights(solution, frames)
    return _WIDTH, strip + max(sum(left), sum(right)) + 0.4


def draw_legged(
    figure: Figure, solution: Solution, frames: int, frame: str | Sequence[str] | None, targets: npt.ArrayLike | None
) -> None:
    """Draws a strip across the figure; below it panels of the feet on the left, all others on the right."""
    strip, left, right = _heights(solution, frames)
    top, below = split(figure, 2, 1, height_ratios=[strip, max(sum(left), sum(right))])
    plot_strip(solution, frames, figure=top)
    columns = split(below, 1, 2, width_ratios=[1.0, 1.0], wspace=0.02)
    phases, forces, feet, *more = split(columns[0], len(left), 1, height_ratios=left)
    plot_phases(solution, figure=phases)
    plot_contact_forces(solution, figure=forces)
    plot_feet(solution, figure=feet)
    if solution.history:
        plot_convergence(solution, figure=more[0])
    motion, com, states, costs = split(columns[1], len(right), 1, height_ratios=right)
    plot_motion(solution, frames, frame=frame, targets=targets, figure=motion)
    plot_com(solution, figure=com)
    plot_solution(solution, figure=states)
    plot_cost_terms(solution, figure=costs)


def _heights(solution: Solution, frames: int) -> tuple[float, list[float], list[float]]:
    """Heights of the strip, of the panels on the left (phases, forces, feet, convergence) and of those on the right.

    The right ones are motion, balance, states and costs. All in [inch].
    """
    feet, nu = len(legged_motion(solution).feet), solution.us.shape[1]
    left = [1.2 + 0.42 * feet, 1.0 + 1.1 * feet, 2.9 + 0.85 * feet, *([_CONVERGENCE] if solution.history else [])]
    return (
        strip_height(solution, frames, _WIDTH),
        left,
        [4.0, 5.5, 5.0 + 0.08 * nu, _COSTS],
    )  # its legend has a line per control
