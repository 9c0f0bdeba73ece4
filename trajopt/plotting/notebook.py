"""Display of a solution in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trajopt import notebook
from trajopt.analysis.legs import is_legged
from trajopt.plotting.strip import plot_strip, strip_height
from trajopt.plotting.trajectory import plot_solution
from trajopt.plotting.window import new_figure
from trajopt.solution.seconds import time_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trajopt.solution.solution import Solution

_WIDTH, _HEIGHT = 10.0, 5.0  # size of the figure [inch]
_PICTURES = 6  # number of pictures in a strip


def html_of_solution(solution: Solution) -> str:
    """Returns a solution as HTML: a table, and a strip of a legged robot, or states and controls over time."""
    T, times = len(solution.us), solution.times
    rows = {
        "status": str(solution.status),
        "cost": f"{solution.cost:.8g}",
        "iterations": f"{solution.iterations} in {time_words(solution)}",
        "knots": f"T = {T}" + ("" if times is None else f", {times[-1]:.4g} s"),
        "sizes": f"nx = {solution.xs.shape[1]}, nu = {solution.us.shape[1]}",
    }
    if solution.robot is not None:
        rows["robot"] = solution.robot.name
    return notebook.table(f"Solution of {solution.solver}", rows) + notebook.picture(_figure(solution))


def _figure(solution: Solution) -> Figure:
    if is_legged(solution):
        return plot_strip(
            solution, _PICTURES, figure=new_figure(_WIDTH, strip_height(solution, _PICTURES, _WIDTH), apart=True)
        )
    return plot_solution(solution, figure=new_figure(_WIDTH, _HEIGHT, apart=True))
