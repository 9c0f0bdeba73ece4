"""Summary of a solution on one screen, and further pages."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.analysis.advice.missed_goals import REPLAY
from trajopt.analysis.basics import check_solution, robot_of
from trajopt.analysis.constraints import constraint_rows, constraints_report
from trajopt.analysis.gaps import no_motion
from trajopt.analysis.goals import shown_goals
from trajopt.analysis.legs import floats_with_contacts, is_legged, legged_motion
from trajopt.analysis.lines import shown_panels
from trajopt.analysis.moved import moved_words
from trajopt.analysis.obstacles import as_obstacles
from trajopt.analysis.report import tips
from trajopt.analysis.skeleton import skeleton_of
from trajopt.analysis.vehicles import seen_along
from trajopt.checks import check_count, check_text
from trajopt.errors import InvalidArgumentError, unknown_name
from trajopt.plotting.constraints import plot_constraints
from trajopt.plotting.convergence import plot_convergence
from trajopt.plotting.cost_terms import plot_cost_terms
from trajopt.plotting.film import body_of
from trajopt.plotting.forces import draw_forces
from trajopt.plotting.legged_summary import draw_contacts, draw_legged, draw_space, heading
from trajopt.plotting.motion import has_motion, plot_motion
from trajopt.plotting.path import has_path, plot_path
from trajopt.plotting.scene import SceneLines, hidden_axis
from trajopt.plotting.style import SCREEN, canvas, check_picture_path, house_style, split, whole_figure
from trajopt.plotting.trajectory import has_limbs, plot_solution
from trajopt.plotting.window import write
from trajopt.robots.frame_index import frame_index
from trajopt.robots.scene import ObstaclesLike
from trajopt.solution.record import SolverStatus
from trajopt.states.place_names import NAMES_OF_PLACES

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

    from trajopt.solution import Solution


_THERE = 1e-5  # distance below which a frame is at its target [m]
_LETTERS = 145  # characters on a line of the heading [-]
_WIDE = 2.2  # ratio of width and height above which a motion is drawn above its curves [-]
_ABOVE = (2.4, 4.2)  # smallest and largest height of such a motion [inch]


def plot_summary(
    solution: Solution,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
    frames: int | None = None,
    frame: str | Sequence[str] | None = None,
    targets: npt.ArrayLike | None = None,
    obstacles: ObstaclesLike = (),
    lines: Sequence[npt.ArrayLike] = (),
    page: str = "summary",
) -> Figure:
    """Draws motion, states and controls with limits, and violations on one screen; `path` writes it to a file.

    A robot, or a model with a method `skeleton`, is drawn as stick figures; a state that is the pose of a body is
    drawn as its path; other states have no motion. For a legged robot it draws pictures over time (`plot_strip`), the
    controls of each limb, and the forces on each foot.

    Further pages are "solver" with convergence and cost terms, "joints" for a robot with many joints, "constraints"
    for a problem with constraints, and "contacts" and "space" for a legged robot; `plot_pages` draws all of them.

    Args:
        solution: Solution to draw.
        path: File to write (.png, .pdf or .svg).
        title: Text in the heading, before status, cost and iterations.
        frames: Number of stick figures, or of knots with a body's axes, >= 1 [-]; by default as many as fit.
        frame: Frame of the robot, or several, whose path is drawn; by default as in `plot_motion`.
        targets: Points to mark, shape (3,) or (n, 3), in the world [m]; by default as in `plot_motion` or `plot_path`.
        obstacles: Obstacles to draw with the motion, as in `plot_path`; not drawn for a legged robot.
        lines: Polylines to draw with the motion, as in `plot_path`; likewise.
        page: Page to draw.

    Returns:
        The figure, at most 1,400 x 900 pixels.

    Raises:
        InvalidArgumentError: `path` cannot be written, or an argument of the motion has a wrong value.
        UnknownNameError: The robot has no frame of this name, or the solution has no such page.
    """
    if path is not None:
        path = check_picture_path(path)
    check_solution(solution)
    if title is not None:
        check_text("title", title)
    if frames is not None:
        check_count("frames", frames, least=1, most=1000)
    drawings = _drawings(solution)
    if page not in drawings:
        raise unknown_name("page", page, list(drawings))
    moves = has_motion(solution) or has_path(solution)
    if frame is not None and solution.robot is None:
        raise InvalidArgumentError("frame: expected None for a solution without a robot; leave it out")
    for argument, passed in (
        ("targets", targets is not None),
        ("obstacles", bool(len(as_obstacles(obstacles)))),
        ("lines", bool(len(SceneLines(lines, ()).lines))),
    ):
        if passed and not moves:
            raise InvalidArgumentError(
                f"{argument}: expected none for a solution without a motion to draw; name the coordinates of a "
                f"StateVector {NAMES_OF_PLACES}, add a method skeleton(xs, parameters) to the model, or leave them out"
            )
    beside: dict[str, Any] = {"targets": targets, "obstacles": obstacles, "lines": lines}
    picture: Callable[..., Any] | None = None
    if has_motion(solution):
        picture = partial(plot_motion, solution, frames or 8, frame=frame, **beside)
    elif moves:
        picture = partial(plot_path, solution, frames or 12, **beside)
    with house_style():
        figure = _screen(solution, title, apart=path is not None)
        if page != "summary":
            drawings[page](figure)
        elif is_legged(solution):
            draw_legged(figure, solution, frames, frame, targets)
        else:
            _draw(figure, solution, picture)
        if path is not None:
            write(figure, path)
    return figure


def plot_pages(
    solution: Solution,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
    obstacles: ObstaclesLike = (),
    lines: Sequence[npt.ArrayLike] = (),
) -> dict[str, Figure]:
    """Draws the summary and all further pages, see `plot_summary`.

    Args:
        solution: Solution to draw.
        path: File of the summary (.png, .pdf or .svg); other pages are written to `NAME-joints.png` and so on.
        title: Text before the outcome in the heading.
        obstacles: Obstacles to draw with the motion, as in `plot_summary`.
        lines: Polylines to draw with the motion, likewise.

    Returns:
        The figures by page name, "summary" first, each at most 1,400 x 900 pixels.

    Raises:
        InvalidArgumentError: `path` cannot be written.
    """
    summary = plot_summary(solution, path, title=title, obstacles=obstacles, lines=lines)
    file = None if path is None else Path(path)
    return {"summary": summary} | {
        page: plot_summary(
            solution, None if file is None else file.with_stem(f"{file.stem}-{page}"), title=title, page=page
        )
        for page in _drawings(solution)
        if page != "summary"
    }


def _drawings(solution: Solution) -> dict[str, Callable[[Figure], Any]]:
    """Functions that draw the pages of a solution, by name; that of the summary draws nothing."""
    legged = is_legged(solution)
    every: dict[str, tuple[bool, Callable[[Figure], Any]]] = {
        "summary": (True, lambda figure: None),
        "joints": (has_limbs(solution), lambda figure: plot_solution(solution, figure=figure)),
        "constraints": (bool(constraint_rows(solution)), lambda figure: plot_constraints(solution, figure=figure)),
        "contacts": (legged, lambda figure: draw_contacts(figure, solution)),
        "space": (legged, lambda figure: draw_space(figure, solution)),
        "solver": (_has_solver(solution), lambda figure: _draw_solver(figure, solution)),
    }
    return {name: draw for name, (applies, draw) in every.items() if applies}


def _has_solver(solution: Solution) -> bool:
    return bool(solution.history) or solution.description.cost_terms is not None


def _screen(solution: Solution, title: str | None, *, apart: bool) -> Figure:
    """Figure of screen size with a heading: the outcome of the solve, and what the motion achieves."""
    figure = whole_figure(canvas(None, *SCREEN, apart=apart))
    outcome = outcome_words(solution)
    lines = [outcome if title is None else f"{title}, {outcome}"]
    lines += _wrapped(no_motion(solution) or "; ".join(_facts(solution)))
    figure.suptitle("\n".join(line for line in lines if line), fontsize=10.5, fontweight="bold", x=0.01, ha="left")
    return figure


def _facts(solution: Solution) -> list[str]:
    """Texts about the displacement, the goals and the constraints of a motion."""
    without = ", those on forces left out" if "legs" in solution.measured else ""
    held = [f"constraints {words.split(';')[0]}{without}" for words in constraints_report(solution).values()]
    ends = solution.description.notes if solution.solver == REPLAY else ()
    return [*_moved(solution), *_goals(solution), *ends, *held, *_soles(solution)]


def _soles(solution: Solution) -> list[str]:
    """Text about the soles of a legged robot if the centre of pressure leaves one."""
    motion = legged_motion(solution) if is_legged(solution) else None
    if motion is None or no_motion(solution) or not tips(motion):
        return []
    return ["the centre of pressure leaves a sole of the plan" if motion.measured else "a sole tips"]


def _wrapped(words: str) -> list[str]:
    """Lines of a heading; a line ends after a comma or semicolon, so that no value is apart from its name."""
    kept = re.sub(r"(?<![,;]) ", "\N{NO-BREAK SPACE}", words)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in textwrap.wrap(kept, _LETTERS)]


def _moved(solution: Solution) -> list[str]:
    """Text for the displacement of a legged robot, with its steps, or of a free body that touches something."""
    if is_legged(solution):
        return [heading(solution)]
    return [f"moved {moved_words(solution)}"] if floats_with_contacts(solution) else []


def outcome_words(solution: Solution) -> str:
    """Text for the outcome of a solve; the name of a motion that no solver computed."""
    if solution.status is SolverStatus.UNSOLVED:
        return solution.solver + (f", cost {solution.cost:.6g}" if np.isfinite(solution.cost) else "")
    sentence = str(solution.status).split(":")[0]
    plural = "" if solution.iterations == 1 else "s"
    return f"{solution.solver}: {sentence}, cost {solution.cost:.6g} after {solution.iterations} iteration{plural}"


def _millimetres(metres: float) -> str:
    """Text in millimetres: two digits for small lengths, integers for larger ones."""
    return f"{1e3 * metres:.0f}" if metres >= 0.1 else f"{1e3 * metres:.2g}"


def _goals(solution: Solution) -> list[str]:
    """Text for the final distance of each frame other than feet from its goal."""
    if solution.robot is None:
        return []
    goals, model = shown_goals(solution)[1], robot_of(solution)
    _, paths = skeleton_of(model, solution.xs[-1:, : model.nq], [frame_index(model, name) for name, _ in goals])
    ends = [float(np.linalg.norm(path[-1] - goal)) for path, (_, goal) in zip(paths, goals)]
    return [
        f"{name} ends {'at' if far < _THERE else f'{_millimetres(far)} mm from'} its target"
        for far, (name, _) in zip(ends, goals)
    ]


def _draw(figure: Figure, solution: Solution, picture: Callable[..., Any] | None) -> None:
    """Draws the motion beside states and controls, or above them if it is wide, and forces of contacts after them."""
    states: Figure | SubFigure = figure
    wide = 0.0 if picture is None else _width(solution)
    touches = legged_motion(solution) if solution.description.spheres else None
    if picture is not None and wide > _WIDE:
        tall = float(np.clip(SCREEN[0] / wide + 1.2, *_ABOVE)) - 0.8 * bool(touches)
        above, states = split(figure, 2, 1, height_ratios=[tall, SCREEN[1] - tall])
        picture(figure=above)
    elif picture is not None:
        left, states = split(figure, 1, 2, wspace=0.02)
        picture(figure=left)
    if touches is not None:
        rows = min(len(shown_panels(solution)), 6), 0.8 + len(touches.feet)
        states, forces = split(states, 1, 2) if wide > _WIDE else split(states, 2, 1, height_ratios=rows)
        draw_forces(forces, touches)
    plot_solution(solution, figure=states)


def _width(solution: Solution) -> float:
    """Width of a motion in a plane, relative to its height; 1 for a motion in space [-]."""
    skeleton, paths, goals = body_of(solution)
    more = np.concatenate([np.reshape(paths, (-1, 3)), np.reshape(goals, (-1, 3))])
    hidden = hidden_axis(skeleton.points, more, seen_along(solution))
    width, height = np.delete(np.ptp(np.concatenate([skeleton.points.reshape(-1, 3), more]), axis=0), hidden or 0)[:2]
    return 1.0 if hidden is None else float(width / max(height, 1e-9))


def _draw_solver(figure: Figure, solution: Solution) -> None:
    """Draws the convergence above the cost terms."""
    terms = solution.description.cost_terms is not None
    upper, lower = split(figure, 2, 1, height_ratios=[1.3, 1.0]) if solution.history and terms else (figure, figure)
    if solution.history:
        plot_convergence(solution, figure=upper)
    if terms:
        plot_cost_terms(solution, figure=lower)
