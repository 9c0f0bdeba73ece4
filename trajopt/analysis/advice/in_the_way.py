"""Advice on solves whose motion leads through an obstacle: a way around it is a better guess."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trajopt.analysis.advice.constraints import by_violation, excesses, nearly_met
from trajopt.analysis.advice.facts import more_time, tried_guesses
from trajopt.analysis.advice.progress import going_on
from trajopt.analysis.advice.relaxation import relaxation
from trajopt.analysis.basics import runs
from trajopt.analysis.constraints import ConstraintRows
from trajopt.analysis.gaps import no_motion
from trajopt.residuals import ResidualModelCollisions, ResidualModelObstacleDistance
from trajopt.solution.solution import Solution

_IN_PLANE = "such as planar.around(start, goal, circles, problem.times, margin=...)"
_MOST = 3  # largest number of named obstacles [-]


def in_the_way(solution: Solution, constraints: Sequence[ConstraintRows]) -> list[str]:
    """Returns advice to begin with a way around obstacles through which a motion leads; empty if there are none.

    A motion leads through an obstacle, or its margin, if the distance is violated, but neither at first nor at last.
    Solvers follow gradients of distances, which do not lead from one side of an obstacle to the other. Of several
    guesses in the plane one is a way around, so that others are no advice.

    Args:
        solution: A solution that has not converged.
        constraints: Its constraints, see `named_rows`.
    """
    residuals = {item.name: item.residual for item in solution.description.items}
    through = list[tuple[float, str, str]]()
    for rows in [] if nearly_met(constraints) else by_violation(constraints):
        residual = residuals.get(rows.name)
        for i in range(len(rows.rows)):
            beyond, there = excesses(rows)[:, i], rows.knots
            knots = np.flatnonzero(beyond > 0.0)
            if _is_obstacle(residual, rows.rows[i]) and len(knots) and there[0] < knots[0] and knots[-1] < there[-1]:
                words = f"{rows.title(i)!r} at knot{'s' * (len(knots) > 1)} {runs(knots)}"
                through.append((-float(beyond.max()), words, _cure(residual)))
    tried, relaxed = tried_guesses(solution), relaxation(solution, constraints)
    through = sorted(each for each in through if not (tried and each[2] == _IN_PLANE))  # one began with a way around
    if not through:
        return []
    more = f" and {len(through) - _MOST} more" if len(through) > _MOST else ""
    named = ", ".join(words for _, words, _ in through[:_MOST])
    what = "the trajectory" if no_motion(solution) else "the motion"
    again = f" from the best of {tried} guesses" if tried else ""
    return [
        f"{what}{again} leads through {named}{more}: a solver only bends its guess, so begin with a way around, "
        f"{through[0][2]}{'' if tried else ', or with solver.solve(starts=8)'}",
        *going_on(solution),
        *([f"if no way leads around: {relaxed}{more_time(solution, ', or ', '')}"] if relaxed else []),
    ]


def _is_obstacle(residual: Any, row: str) -> bool:
    """Whether a row of a constraint is the distance from an obstacle, and not of two links from each other."""
    if isinstance(residual, ResidualModelCollisions):
        return residual.scene is not None and row.rpartition(" and ")[2] in residual.scene.obstacles
    return isinstance(residual, ResidualModelObstacleDistance)


def _cure(residual: Any) -> str:
    """Text that names a function which computes a way around."""
    if isinstance(residual, ResidualModelObstacleDistance) and residual.frame_id is None:
        return _IN_PLANE if residual.dim == 2 else "solver.solve(xs)"
    return "such as that of trajopt.plan for an arm"
