"""Goals of a motion: what costs and constraints ask of frames of the robot, or of the state of a body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.analysis.basics import robot_of
from trajopt.analysis.legs import feet_frames
from trajopt.analysis.references import (
    all_constraints,
    all_terms,
    asked_values,
    constraints_of,
    frame_points,
    knot_values,
    terms_of,
)
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution
    from trajopt.states.base import StateAbstract


_SHARE = 0.1  # a reference that holds at no more than this part of the knots is a waypoint [-]


def goals_of(solution: Solution) -> list[tuple[str, Reals]]:
    """Frame and point in the world, shape (3,) [m], that each cost term or constraint of the end asks a frame to be at.

    References and bounds are those of the solve. Terms with weight zero are left out, and constraints that leave a
    region: see `asked_values`.
    """
    from trajopt.residuals import ResidualModelFramePlacement, ResidualModelFrameTranslation

    problem = solution.problem
    if problem is None:
        return [] if solution.description is None else list(solution.description.goals)
    terminal, kinds = getattr(problem, "terminal", None), (ResidualModelFramePlacement, ResidualModelFrameTranslation)
    items = [i for i in (*terms_of(terminal), *constraints_of(terminal)) if isinstance(i.residual, kinds)]
    values = knot_values(solution) if items else {}
    goals: list[tuple[str, Reals]] = []
    for item in items:
        frame, point = item.residual.frame, frame_points(item, values)[-1]
        known = any(frame == other and np.array_equal(point, place) for other, place in goals)
        if np.isfinite(point).all() and not known:
            goals.append((frame, point))
    return goals


def shown_goals(solution: Solution) -> tuple[list[str], list[tuple[str, Reals]]]:
    """Frames of a robot whose paths pictures draw, and goals that they mark.

    Paths are those of all feet and of the frames with goals; without any of them that of a single end. Goals of feet,
    which are footholds of a gait, are not marked.
    """
    from trajopt.plotting.skeleton import ends_of

    feet = feet_frames(solution)
    goals = [goal for goal in goals_of(solution) if goal[0] not in feet]
    ends = [name for *_, name in ends_of(robot_of(solution))]
    alone = ends if len(ends) == 1 and ends[0] else []
    return list(dict.fromkeys([*feet, *(name for name, _ in goals)])) or alone, goals


def pose_goals(solution: Solution) -> Reals:
    """Positions that costs and constraints of the state ask for, shape (n, 3) [m]: at the end, and at a few knots.

    The latter are waypoints. A term counts where its weight, and those of all coordinates of the position, are > 0; a
    constraint where it asks for all coordinates of the position.
    """
    from trajopt.actions.unicycle import ActionModelUnicycle
    from trajopt.residuals import ResidualModelState

    problem = solution.problem
    if problem is None:
        return np.zeros((0, 3)) if solution.description is None else solution.description.pose_goals
    found = [np.zeros((0, 3))]
    if isinstance(problem.terminal, ActionModelUnicycle):  # its cost, which has no terms, is about the origin
        found.append(np.zeros((1, 3)))
    values, last = knot_values(solution), len(solution.xs) - 1
    for item in (*all_terms(problem), *all_constraints(problem)):
        if not isinstance(item.residual, ResidualModelState):
            continue
        steps, references = _asked_steps(item, values, problem.state.ndx), values[f"{item.name}.reference"]
        begun = np.flatnonzero(np.isfinite(steps).any(axis=1))
        if not len(begun):
            continue
        moving = _moving(problem.state, references[begun])
        knots = begun[np.isfinite(steps[begun][:, moving]).all(axis=1)] if moving else begun[:0]
        if len(knots) > max(1, _SHARE * len(solution.xs)):
            knots = knots[knots == last]
        if len(knots):
            goals = [problem.state.integrate(references[t], np.nan_to_num(steps[t])) for t in knots]
            poses = problem.state.body_poses(np.array(goals))
            assert poses is not None
            found.append(np.unique(poses[:, :3, 3], axis=0))
    return np.unique(np.concatenate(found), axis=0)


def _asked_steps(item: Any, values: Mapping[str, Reals], ndx: int) -> Reals:
    """Steps from its reference that an item on the state asks for, shape (T + 1, ndx); NaN where it asks for none."""
    elements = item.residual.elements
    asked = asked_values(item, values)
    asked = np.array(np.broadcast_to(asked, (len(asked), len(elements))))
    if f"{item.name}.weights" in values:
        asked[~(values[f"{item.name}.weights"] > 0)] = np.nan
    steps = np.full((len(asked), ndx), np.nan)
    steps[:, elements] = asked
    return steps


def _moving(state: StateAbstract, references: Reals) -> list[int]:
    """Tangent coordinates of a state that move the position of its body."""
    moving = []
    for i, step in enumerate(1e-3 * np.eye(state.ndx)):
        ends = [state.body_poses(np.atleast_2d(x)) for x in (references[0], state.integrate(references[0], step))]
        if ends[0] is not None and ends[1] is not None and np.abs(ends[1] - ends[0])[0, :3, 3].max() > 1e-9:
            moving.append(i)
    return moving
