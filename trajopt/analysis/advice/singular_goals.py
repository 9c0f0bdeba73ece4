"""Goals of frames whose derivative is singular at the end of a motion, where an arm is straight."""

from __future__ import annotations

import numpy as np

from trajopt.analysis.constraints import places_of
from trajopt.analysis.references import PLACED
from trajopt.errors import TrajoptError
from trajopt.solution.record import SolverStatus
from trajopt.solution.solution import Solution

SINGULAR, DEPENDENT = 1e-3, 1e-9
"""Singular values below which a goal is hard to meet, and those of rows that depend on others in all postures [-].

They are relative to the largest one.
"""


def singular_goals(solution: Solution) -> list[str]:
    """Returns a sentence for each goal of a frame at the end that is met nearly, where no joint moves it further.

    Its rows then have no bounded multipliers, and steps towards it get shorter and shorter.

    Args:
        solution: The solution, with its problem.
    """
    if solution.status is not SolverStatus.MAX_ITERATIONS or solution.problem is None or solution.robot is None:
        return []
    placed = {item.name for item in solution.description.terminal_items if isinstance(item.residual, PLACED)}
    goals = [rows for rows in solution.description.constraints if rows.name in placed and not rows.soft]
    try:
        with solution.as_solved() as problem:
            Cx = problem.calc_diff(solution.xs, solution.us).Cx[problem.T, :, : problem.state.ndx // 2]
            places = {rows.name: places_of(problem, rows.name) for rows in goals}
    except TrajoptError:  # a model fails on the motion
        return []
    sentences = []
    for rows in goals:
        own = next((place for kind, place in places[rows.name] if problem.T in kind.knots), None)
        equal = rows.equations[-1] & rows.enforced[-1]
        if own is None or rows.violations[-1].max(initial=0.0) > np.sqrt(SINGULAR) or not equal.any():
            continue
        sizes = np.linalg.svd(Cx[own][equal], compute_uv=False)
        if np.any((sizes < SINGULAR * sizes[0]) & (sizes > DEPENDENT * sizes[0])):
            sentences.append(
                f"the derivative of {rows.name!r} is singular at the end, as that of a goal at full reach is where the "
                "arm is straight: move the goal a little inwards, or constrain the posture instead"
            )
    return sentences
