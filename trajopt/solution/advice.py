"""Facts of a solution for advice: gaps that are left, black boxes, and solvers that take its problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.actions.expression import ActionModelExpression
from trajopt.analysis.constraints import HELD
from trajopt.errors import TrajoptError

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution


def gap_left(solution: Solution) -> str:
    """The largest gap in words, of a trajectory that its controls don't lead along; empty without any, or unknown."""
    if solution.problem is None:
        return ""
    try:
        gaps = np.abs(solution.gaps()).max(axis=1, initial=0.0)
    except TrajoptError:  # a black box that fails on the trajectory
        return ""
    knot = int(gaps.argmax())
    if not gaps[knot] > HELD:
        return ""
    times = solution.times
    time = "" if times is None else f" ({times[knot]:.3g} s)"
    return f"the dynamics are left with a gap of {gaps[knot]:.2g} before knot {knot}{time}"


def has_black_boxes(solution: Solution) -> bool:
    """Whether a knot of the problem is no expression; a file doesn't tell, and counts as none."""
    if solution.problem is None:
        return False
    models = (*solution.problem.running, solution.problem.terminal)
    return any(not isinstance(model, ActionModelExpression) for model in models)


def other_solvers(solution: Solution) -> str:
    """Other solvers that take the problem, as "SolverDDP and SolverSQP"; empty if there are none."""
    problem, names = solution.problem, ["SolverDDP", "SolverFDDP", "SolverSQP"]
    constrained = problem is not None and (problem.constraint_names or problem.start != "fixed")
    if constrained or (solution.description is not None and solution.description.constraints):
        names = ["SolverSQP"]
    return " and ".join(name for name in names if name != solution.solver)
