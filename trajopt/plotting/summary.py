"""Summary of a solution in one figure."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy.typing as npt

from trajopt.analysis.legs import is_legged
from trajopt.errors import InvalidArgumentError
from trajopt.plotting.convergence import plot_convergence
from trajopt.plotting.cost_terms import plot_cost_terms
from trajopt.plotting.legged_summary import draw_legged, legged_size
from trajopt.plotting.motion import plot_motion
from trajopt.plotting.style import check_picture_path, house_style, split
from trajopt.plotting.trajectory import plot_solution

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trajopt.solution import Solution


def plot_summary(
    solution: Solution,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
    frames: int = 8,
    frame: str | Sequence[str] | None = None,
    targets: npt.ArrayLike | None = None,
) -> Figure:
    """Draws motion, trajectory, convergence and cost terms in one figure; `path` writes it to a file.

    The motion is left out for a state without a robot, the cost terms without a problem, the convergence without an
    iteration. For a robot with a floating base and contacts there are also a strip, phases, forces, feet and balance.

    Args:
        solution: Solution to draw.
        path: File to write (.png, .pdf or .svg).
        title: Heading; by default the solver and its status.
        frames: Number of stick figures of the robot, >= 1 [-].
        frame: Frame of the robot, or several, whose path is drawn; by default as in `plot_motion`.
        targets: Points to mark, shape (3,) or (n, 3), in the world [m]; by default as in `plot_motion`.

    Returns:
        The figure.

    Raises:
        InvalidArgumentError: `path` cannot be written, or an argument of the motion has a wrong value.
        UnknownNameError: The robot has no such frame.
    """
    if path is not None:
        path = check_picture_path(path)
    problem = solution.problem
    has_robot = problem is not None and hasattr(problem.state, "model")
    if not has_robot and not (targets is None and frame is None):
        raise InvalidArgumentError("frame, targets: expected none for a solution without a robot; they mark its motion")
    from matplotlib.figure import Figure

    with house_style():
        legged = is_legged(solution)
        size = legged_size(solution, frames) if legged else (16.0, 9.5) if has_robot else (14.0, 8.0)
        figure = Figure(figsize=size, layout="constrained")
        figure.suptitle(title or _title(solution), fontsize=12, fontweight="bold", x=0.01, ha="left")
        if legged:
            draw_legged(figure, solution, frames, frame, targets)
        else:
            _draw(figure, solution, frames, frame, targets)
        if path is not None:
            figure.savefig(path)
    return figure


def _draw(
    figure: Figure, solution: Solution, frames: int, frame: str | Sequence[str] | None, targets: npt.ArrayLike | None
) -> None:
    left, right = split(figure, 1, 2, width_ratios=[1.0, 1.0], wspace=0.02)
    lower_left = left
    if hasattr(getattr(solution.problem, "state", None), "model"):
        upper_left, lower_left = split(left, 2, 1, height_ratios=[1.15, 1.0])
        plot_motion(solution, frames, frame=frame, targets=targets, figure=upper_left)
    if solution.history:
        plot_convergence(solution, figure=lower_left)
    if solution.problem is not None:
        upper_right, lower_right = split(right, 2, 1, height_ratios=[1.7, 1.0])
        plot_solution(solution, figure=upper_right)
        plot_cost_terms(solution, figure=lower_right)
    else:
        plot_solution(solution, figure=right)


def _title(solution: Solution) -> str:
    sentence = str(solution.status).split(":")[0]
    plural = "" if solution.iterations == 1 else "s"
    return f"{solution.solver}: {sentence}, cost {solution.cost:.6g} after {solution.iterations} iteration{plural}"
