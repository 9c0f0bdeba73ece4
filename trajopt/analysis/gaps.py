"""Gaps of a trajectory: a solve that stops while some are left has found no motion yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.basics import time_words
from trajopt.errors import TrajoptError
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.shooting.problem import ShootingProblem
    from trajopt.solution import Solution

CLOSED = 1e-6
"""Largest gap that counts as none, relative to coordinates larger than 1 [-]."""


def sizes_of_gaps(problem: ShootingProblem, xs: Reals, us: Reals) -> Reals | None:
    """Largest element of each gap, in tangent coordinates (T + 1,) [-]; None if a model fails on the trajectory."""
    try:
        return np.abs(problem.calc(xs, us).gaps).max(axis=1, initial=0.0)
    except TrajoptError:
        return None


def largest_gap(solution: Solution) -> str:
    """Text about the largest gap, "1.7 before knot 12 (0.3 s)"; empty if there is none or it is unknown."""
    gaps = solution.description.gaps
    if gaps is None:
        return ""
    knot, size = int(gaps.argmax()), float(gaps.max())
    if not size > CLOSED * max(1.0, float(np.abs(solution.xs[knot]).max(initial=0.0))):
        return ""
    return f"{size:.2g} before knot {knot}{time_words(solution, knot)}"


def no_motion(solution: Solution) -> str:
    """Text that a solve stopped before the states follow from the controls; empty for motions.

    What holds at such states, as a constraint or a limit, says nothing of a motion.
    """
    ended = solution.status.name in ("CONVERGED", "UNSOLVED")  # a recorded motion does not follow from controls
    gap = "" if ended else largest_gap(solution)
    return f"no motion yet: largest gap {gap}" if gap else ""


def infeasibility(solution: Solution) -> float:
    """Returns the largest gap of the dynamics or violation of a hard constraint that a solver enforces [their units].

    It is inf where a model fails on the trajectory.

    Args:
        solution: The solution, with its problem.
    """
    gaps = solution.description.gaps
    if gaps is None or not np.all(np.isfinite(gaps)):
        return np.inf
    hard = [rows for rows in solution.description.constraints if not rows.soft]
    violations = [np.where(rows.enforced, rows.violations, 0.0) for rows in hard]
    return max(float(np.max(sizes, initial=0.0)) for sizes in (gaps, *violations))
