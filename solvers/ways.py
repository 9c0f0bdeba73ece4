"""States of a solve without a guess; those of vehicles and points in the plane lead around circles in constraints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.errors import InvalidArgumentError
from trajopt.residuals import ResidualModelObstacleDistance
from trajopt.shooting.toward_end import states_without_guess, toward_end
from trajopt.states.place_names import place_columns
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.shooting import ShootingProblem


def first_states(problem: ShootingProblem) -> Reals:
    """States (T + 1, nx) on a way around circles to where equations of the end hold; see `states_without_guess`, too.

    Of 20 robots among five posts all arrive from there, within 42 iterations, and 9 from x0 at each knot.
    """
    around = states_around(problem, np.tile(problem.x0, (problem.T + 1, 1)))
    return states_without_guess(problem) if around is None else around


def begins_at_rest(problem: ShootingProblem) -> bool:
    """Whether a solve without a guess begins with x0 at each knot, whatever x0 and parameters are."""
    return not problem.unknowns and not len(_circles(problem))


def states_around(problem: ShootingProblem, xs: Reals) -> Reals | None:
    """States (T + 1, nx) on a short way around all circles, where these are at first; None without circles or a way.

    The way leads to the end of the guess `xs` (T + 1, nx), or, if that stays at x0, to where equations of the end hold.
    """
    circles, state = _circles(problem), problem.state
    columns = place_columns(state.coordinate_names, state.coordinate_units) if len(circles) else {}
    if (columns.get("x"), columns.get("y")) != (0, 1) or problem.T < 2:
        return None
    from trajopt.planar import around  # with SciPy, which takes long to import

    states = xs.copy() if np.any(xs[-1, :2] != problem.x0[:2]) else toward_end(problem)
    pose = [columns[axis] for axis in ("x", "y", "theta") if axis in columns]
    try:
        way = around(problem.x0[pose], states[-1, :2], circles, np.arange(problem.T + 1.0))
    except InvalidArgumentError:  # there is none, or an end is inside of a circle
        return None
    states[:, pose] = way.poses[:, : len(pose)]
    return states


def _circles(problem: ShootingProblem) -> Reals:
    """Circles (n, 3) that the position keeps out of: obstacles, larger by the body's radius and the margin [m]."""
    rows = [np.zeros((0, 3))]
    for constraint in {each.name: each for model in problem.running for each in model.constraints.constraints}.values():
        residual = constraint.residual
        if isinstance(residual, ResidualModelObstacleDistance) and residual.dim == 2 and residual.frame_id is None:
            circles, radius, margin = (
                np.asarray(problem.get_parameter(name, problem.parameters[name].knots[0]))
                for name in (f"{constraint.name}.{own}" for own in ("circles", "radius", "lower"))
            )
            rows.append(circles + np.column_stack([np.zeros((len(circles), 2)), radius + np.maximum(margin, 0.0)]))
    return np.vstack(rows)
