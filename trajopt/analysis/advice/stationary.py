"""Advice on feasible motions that are stationary, or nearly so, although a solver did not stop there."""

from __future__ import annotations

import numpy as np

from trajopt.analysis.advice.clamped_controls import clamped_controls
from trajopt.analysis.advice.facts import gap_left, more_guesses
from trajopt.errors import TrajoptError
from trajopt.solution.solution import Solution
from trajopt.types import Reals

STATIONARY = 1e-6
"""Largest decrease of the cost by changing a control by its size or 1, relative to the cost or 1, at an optimum [-]."""
NEARLY = 1e-4
"""Largest decrease of the cost that steps of all controls promise, relative to the cost, near an optimum [-]."""


def stationary(solution: Solution) -> str:
    """Returns advice if a motion whose constraints hold is stationary or nearly so; otherwise empty."""
    if solution.problem is None or gap_left(solution):
        return ""
    slope = solution.stationarity()
    slope = np.where(clamped_controls(solution, slope), 0.0, slope)
    steepest = f"dJ/du = {np.abs(slope).max(initial=0.0):.1g}"
    saved = float(np.max(np.abs(slope) * np.maximum(1.0, np.abs(solution.us)), initial=0.0))
    if saved <= STATIONARY * max(1.0, abs(solution.cost)):
        lower = f"so more iterations do not lower its cost: {more_guesses(solution)} as well"
        return f"the motion is stationary ({steepest}), {lower}"
    left = _left(solution, slope)
    if not left <= NEARLY * abs(solution.cost):
        return ""
    share = f"{100.0 * left / abs(solution.cost):.1g} %"
    return (
        f"the motion is feasible and nearly stationary: with {steepest} about {share} "
        "of its cost can be saved nearby; to save it raise max_iterations, or go on with solver.solve(solution)"
    )


def _left(solution: Solution, slope: Reals) -> float:
    """Decrease of the cost ½ gᵀ Luu⁻¹ g by steps of all controls [cost], from their slopes g (T, nu).

    The Hessian along the motion adds the curvature of later costs to Luu, so that steps of a convex problem save less.
    It is infinite where a cost has no curvature in a control.
    """
    try:
        with solution.as_solved() as problem:
            Luu = problem.calc_diff(solution.xs, solution.us).Luu
        steps = np.linalg.solve(np.linalg.cholesky(Luu), slope[..., None])
    except (TrajoptError, np.linalg.LinAlgError):
        return np.inf
    return 0.5 * float(np.sum(steps**2))
