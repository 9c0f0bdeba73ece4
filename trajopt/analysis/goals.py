"""Goals of a motion: target poses of robot frames or of a body, from costs and constraints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.basics import robot_of
from trajopt.analysis.references import PLACED, Item, asked_values, frame_points, frame_references, knot_values
from trajopt.residuals import ResidualModelFramePlacement, ResidualModelFrameRotation, ResidualModelState
from trajopt.residuals.state import whole_states
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution
    from trajopt.states.base import StateAbstract


_TURNED = (ResidualModelFramePlacement, ResidualModelFrameRotation)
_SHARE = 0.1  # a reference at no more than this fraction of the knots is a waypoint [-]


def goals_of(solution: Solution) -> tuple[tuple[str, Reals], ...]:
    """Returns frame and target position in the world, shape (3,) [m], of each terminal cost term or constraint.

    References and bounds are those of the solve. Terms with weight zero and constraints with a wide region are left
    out, see `asked_values`.
    """
    items = [(i, str(i.residual.frame)) for i in solution.description.terminal_items if isinstance(i.residual, PLACED)]
    values = knot_values(solution) if items else {}
    goals: list[tuple[str, Reals]] = []
    for item, frame in items:
        point = frame_points(item, values)[-1]
        duplicate = any(frame == other and np.array_equal(point, place) for other, place in goals)
        if np.isfinite(point).all() and not duplicate:
            goals.append((frame, point))
    return tuple(goals)


def goal_placements(solution: Solution) -> list[tuple[str, Reals]]:
    """Returns frame and target placement (4, 4) [-, m] of each terminal cost term or constraint on a rotation.

    A term on the rotation only takes the frame's final position. The list is empty for a solution without its problem.
    """
    items = [(i, str(i.residual.frame)) for i in solution.description.terminal_items if isinstance(i.residual, _TURNED)]
    values, placements = knot_values(solution) if items else {}, []
    for item, frame in items:
        weights = values[f"{item.name}.weights"][-1][-3:] if f"{item.name}.weights" in values else np.ones(3)
        if not (np.isfinite(asked_values(item, values)[-1][-3:]).all() and np.all(weights > 0)):
            continue
        reference, placement = values[f"{item.name}.reference"][-1], np.eye(4)
        placement[:3, :3] = reference[:, :3]
        with_place = reference.shape == (3, 4)
        placement[:3, 3] = reference[:, 3] if with_place else solution.frame_path(frame)[-1]
        placements.append((frame, placement))
    return placements


def moving_goals(solution: Solution) -> list[tuple[str, Reals]]:
    """Returns frame and target points (T + 1, 3) [m] of each frame with a moving reference; NaN at knots without one.

    Feet are left out. The list is empty for a solution without its problem.
    """
    description = solution.description
    frames = dict.fromkeys(str(i.residual.frame) for i in description.items if isinstance(i.residual, PLACED))
    values, feet = knot_values(solution) if frames else {}, description.feet if frames else ()
    paths = [(frame, frame_references(solution, frame, values)) for frame in frames if frame not in feet]
    return [(frame, points) for frame, points in paths if np.ptp(_finite(points), axis=0).max(initial=0.0) > 1e-9]


def _finite(points: Reals) -> Reals:
    """Points without NaN; one zero point if there are none."""
    finite = points[np.isfinite(points).all(axis=1)]
    return finite if len(finite) else np.zeros((1, 3))


def shown_goals(solution: Solution) -> tuple[list[str], list[tuple[str, Reals]]]:
    """Returns the frames whose paths plots draw, and the goals that they mark.

    The paths are those of all feet and of frames with goals; without any of these, that of a robot's only end. Goals
    of feet, which are footholds of a gait, are not marked.
    """
    from trajopt.analysis.skeleton import ends_of

    feet = solution.description.feet
    goals = [goal for goal in solution.description.goals if goal[0] not in feet]
    ends = [name for *_, name in ends_of(robot_of(solution))]
    alone = ends if len(ends) == 1 and ends[0] else []
    return list(dict.fromkeys([*feet, *(name for name, _ in goals)])) or alone, goals


def pose_goals(solution: Solution) -> Reals:
    """Returns target positions of the body, shape (n, 3) [m], from costs and constraints on its state.

    They include the goal at the end, and waypoints at a few knots. A cost term counts if its weight and the weights of
    all position coordinates are > 0. A constraint counts if it fixes all position coordinates.
    """
    return np.unique(goal_poses(solution)[:, :3, 3], axis=0)


def goal_poses(solution: Solution) -> Reals:
    """Returns the poses of `pose_goals`, shape (n, 4, 4) [-, m]; a rotation is NaN if it has no target.

    The array is empty for a solution without its problem.
    """
    from trajopt.actions.unicycle import ActionModelUnicycle

    description, goal_sets = solution.description, [np.zeros((0, 4, 4))]
    if any(isinstance(model, ActionModelUnicycle) for model in description.models[-1:]):
        goal_sets.append(np.eye(4)[None])  # its cost has no terms, and its goal is the origin
    values, last, state = description.values, len(solution.xs) - 1, description.state
    for item in description.items:
        if state is None or not isinstance(item.residual, ResidualModelState):
            continue
        steps = asked_steps(item, item.residual, values, state.ndx)
        references = whole_states(values[f"{item.name}.reference"], solution.xs)
        begun = np.flatnonzero(np.isfinite(steps).any(axis=1))
        if not len(begun):
            continue
        moving, turning = _moving(state, references[begun])
        knots = begun[np.isfinite(steps[begun][:, moving]).all(axis=1)] if moving else begun[:0]
        if len(knots) > max(1, _SHARE * len(solution.xs)):
            knots = knots[knots == last]
        if len(knots):
            goals = [state.integrate(references[t], np.nan_to_num(steps[t])) for t in knots]
            poses = state.body_poses(np.array(goals))
            assert poses is not None
            has_target = np.isfinite(steps[knots][:, turning]).all(axis=1) & bool(turning)
            poses[~has_target, :3, :3] = np.nan
            goal_sets.append(poses)
    return np.concatenate(goal_sets)


def asked_steps(item: Item, residual: ResidualModelState, values: Mapping[str, Reals], ndx: int) -> Reals:
    """Returns target steps from the reference of a state residual, (T + 1, ndx); NaN without a target."""
    elements = residual.elements
    targets = asked_values(item, values)
    targets = np.array(np.broadcast_to(targets, (len(targets), len(elements))))
    if f"{item.name}.weights" in values:
        targets[~(values[f"{item.name}.weights"] > 0)] = np.nan
    steps = np.full((len(targets), ndx), np.nan)
    steps[:, elements] = targets
    return steps


def _moving(state: StateAbstract, references: Reals) -> tuple[list[int], list[int]]:
    """Tangent coordinates of a state that move its body, and those that rotate it."""
    moving, turning = [], []
    for i, step in enumerate(1e-3 * np.eye(state.ndx)):
        ends = [state.body_poses(np.atleast_2d(x)) for x in (references[0], state.integrate(references[0], step))]
        if ends[0] is None or ends[1] is None:
            continue
        change = np.abs(ends[1] - ends[0])[0]
        moving += [i] if change[:3, 3].max() > 1e-9 else []
        turning += [i] if change[:3, :3].max() > 1e-9 else []
    return moving, turning
