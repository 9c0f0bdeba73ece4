"""Goals inside of obstacles that rows keep the knots before the goal away from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trajopt.analysis.advice.constraints import excesses, unit_of
from trajopt.analysis.constraints import constraint_rows
from trajopt.analysis.goals import asked_steps
from trajopt.residuals import ResidualModelObstacleDistance, ResidualModelState
from trajopt.residuals.state import whole_states
from trajopt.solution.solution import Solution
from trajopt.types import Reals


def blocked_goals(solution: Solution) -> list[str]:
    """Returns a sentence on a state asked for at the end that is too near to an obstacle; empty if there is none.

    Rows of obstacles are evaluated at that state, with the parameters of the last knot before the end. It is blocked if
    it is farther inside of an obstacle than the row changes in any one step of the motion.

    Args:
        solution: A solution that has not converged, with its problem.
    """
    residuals, constraints = solution.description.items, constraint_rows(solution)
    names = {item.name for item in residuals if isinstance(item.residual, ResidualModelObstacleDistance)}
    for goal, x in _asked_states(solution, {rows.name for rows in constraints}) if names else []:
        xs = solution.xs.copy()
        xs[-2] = x
        t, worst = len(xs) - 2, 0.0
        for rows, there in zip(constraints, constraint_rows(replace(solution, xs=xs))):
            if rows.name not in names or rows.soft:
                continue
            steps = np.nan_to_num(np.abs(np.diff(rows.values, axis=0))).max(axis=0, initial=0.0)
            beyond = np.where(excesses(there)[t] > steps, excesses(there)[t], 0.0)
            if beyond.max(initial=0.0) > worst:
                row, worst, found = int(beyond.argmax()), float(beyond.max()), there
        if worst:
            return [
                f"move {goal!r}, where {found.title(row)!r} is {worst:.3g}{unit_of(solution, found, t, row)} beyond "
                f"its bound, which holds until knot {t}: no way leads there"
            ]
    return []


def _asked_states(solution: Solution, constraints: set[str]) -> list[tuple[str, Reals]]:
    """Names and states (nx,) of the constraints that fix all coordinates at the end."""
    description, found = solution.description, []
    if description.state is None or solution.problem is None:
        return []
    for item in description.terminal_items:
        if item.name in constraints and isinstance(item.residual, ResidualModelState):
            step = asked_steps(item, item.residual, description.values, description.state.ndx)[-1]
            if np.isfinite(step[: item.residual.state.ndx]).all():
                reference = whole_states(description.values[f"{item.name}.reference"][-1], solution.xs[-1])
                found.append((item.name, description.state.integrate(reference, np.nan_to_num(step))))
    return found
