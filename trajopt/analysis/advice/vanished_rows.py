"""Equations of the end whose gradient vanishes where they hold, such as cos(q) = -1."""

from __future__ import annotations

import numpy as np

from trajopt.analysis.advice.singular_goals import SINGULAR
from trajopt.analysis.constraints import places_of
from trajopt.errors import TrajoptError
from trajopt.shooting import ShootingProblem
from trajopt.solution.record import SolverStatus
from trajopt.solution.solution import Solution
from trajopt.types import Reals


def vanished_rows(solution: Solution) -> list[str]:
    """Returns a sentence for each equation of the end that nearly holds, and whose gradient nearly vanishes there.

    Its function has its least or largest value there, so that the multiplier grows without bound and steps get shorter.
    The gradient is compared with those of the same row at x0 and in the middle of the motion.

    Args:
        solution: The solution, with its problem.
    """
    if solution.status is SolverStatus.CONVERGED or solution.problem is None:
        return []
    goals = [rows for rows in solution.description.constraints if not rows.soft and rows.equations[-1].any()]
    if not goals:
        return []
    try:
        with solution.as_solved() as problem:
            gradients = np.array([_at_end(problem, solution, k) for k in (-1, 0, problem.T // 2)])
            places = {rows.name: places_of(problem, rows.name) for rows in goals}
    except TrajoptError:  # a model fails on the motion
        return []
    sentences = []
    for rows in goals:
        own = next((place for kind, place in places[rows.name] if solution.problem.T in kind.knots), None)
        if own is None:
            continue
        here, *elsewhere = np.linalg.norm(gradients[:, own], axis=2)
        met = rows.equations[-1] & rows.enforced[-1] & (rows.violations[-1] < np.sqrt(SINGULAR))
        for i in np.flatnonzero(met & (here < SINGULAR * np.max(elsewhere, axis=0))):
            sentences.append(
                f"the gradient of {rows.title(int(i))!r} vanishes at the end, where its function has its least or "
                "largest value, as in cos(q) = -1: write the equation for the coordinate, such as q = pi by "
                "ResidualModelState(state, reference), or for the pair of sin(q) and cos(q)"
            )
    return sentences


def _at_end(problem: ShootingProblem, solution: Solution, k: int) -> Reals:
    """Gradients (nc, ndx) of the rows of the end at the state of knot k."""
    xs = solution.xs.copy()
    xs[-1] = solution.xs[k]
    return np.asarray(problem.calc_diff(xs, solution.us).Cx[problem.T]).copy()
