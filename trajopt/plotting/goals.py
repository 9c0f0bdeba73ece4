"""Goals of a motion: references of cost terms on frames of the robot, or on the state of a body."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.references import all_terms, knot_values, terms_of
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution
    from trajopt.states.base import StateAbstract


_SHARE = 0.1  # a reference that holds at no more than this part of the knots is a waypoint [-]


def goals_of(solution: Solution) -> list[tuple[str, Reals]]:
    """Frame and reference point in the world, shape (3,) [m], of each terminal cost term on a frame's position.

    References are those of the solve. Terms with weight zero are left out.
    """
    from trajopt.residuals import ResidualModelFramePlacement, ResidualModelFrameTranslation

    if solution.problem is None and solution.description is not None:
        return list(solution.description.goals)
    terminal = getattr(solution.problem, "terminal", None)
    goals = []
    for term in terms_of(terminal):
        frame = getattr(term.residual, "frame", None)
        if frame is None or not isinstance(term.residual, ResidualModelFramePlacement | ResidualModelFrameTranslation):
            continue
        # one row for each knot that has the parameter; the terminal knot is the last
        reference = np.asarray(solution.parameters[f"{term.name}.reference"])[-1]
        if np.asarray(solution.parameters[f"{term.name}.weight"])[-1] > 0:
            goals.append((frame, reference[:, 3] if reference.ndim == 2 else reference))
    return goals


def pose_goals(solution: Solution) -> Reals:
    """Positions that cost terms of the state ask for, shape (n, 3) [m]: at the end, and at a few knots (waypoints).

    A term counts where its weight, and those of all coordinates of the position, are > 0.
    """
    from trajopt.actions.unicycle import ActionModelUnicycle
    from trajopt.residuals import ResidualModelState

    problem = solution.problem
    if problem is None:
        return np.zeros((0, 3)) if solution.description is None else solution.description.pose_goals
    found = [np.zeros((0, 3))]
    if isinstance(problem.terminal, ActionModelUnicycle):  # its cost, which has no terms, is about the origin
        found.append(np.zeros((1, 3)))
    values = knot_values(solution)
    for term in all_terms(problem):
        asks = values.get(f"{term.name}.weight", np.zeros(1)) > 0
        if not isinstance(term.residual, ResidualModelState) or not asks.any():
            continue
        references = values[f"{term.name}.reference"]
        if f"{term.name}.weights" in values:
            asks &= np.all(values[f"{term.name}.weights"][:, _moving(problem.state, references[asks])] > 0, axis=1)
        knots = np.flatnonzero(asks)
        if len(knots) > max(1, _SHARE * len(solution.xs)):
            knots = knots[knots == len(solution.xs) - 1]
        if len(knots):
            poses = problem.state.body_poses(references[knots])
            assert poses is not None
            found.append(np.unique(poses[:, :3, 3], axis=0))
    return np.concatenate(found)


def _moving(state: StateAbstract, references: Reals) -> list[int]:
    """Tangent coordinates of a state that move the position of its body."""
    moving = []
    for i, step in enumerate(1e-3 * np.eye(state.ndx)):
        ends = [state.body_poses(np.atleast_2d(x)) for x in (references[0], state.integrate(references[0], step))]
        if ends[0] is not None and ends[1] is not None and np.abs(ends[1] - ends[0])[0, :3, 3].max() > 1e-9:
            moving.append(i)
    return moving
