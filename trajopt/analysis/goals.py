"""Goals of a motion: what costs and constraints ask of frames of the robot, or of the state of a body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.basics import robot_of
from trajopt.analysis.references import PLACED, Item, asked_values, frame_points, frame_references, knot_values
from trajopt.residuals import ResidualModelFramePlacement, ResidualModelFrameRotation, ResidualModelState
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution
    from trajopt.states.base import StateAbstract


_TURNED = (ResidualModelFramePlacement, ResidualModelFrameRotation)
_SHARE = 0.1  # a reference that holds at no more than this part of the knots is a waypoint [-]


def goals_of(solution: Solution) -> tuple[tuple[str, Reals], ...]:
    """Frame and point in the world, shape (3,) [m], that each cost term or constraint of the end asks a frame to be at.

    References and bounds are those of the solve. Terms with weight zero are left out, and constraints that leave a
    region: see `asked_values`.
    """
    items = [(i, str(i.residual.frame)) for i in solution.description.terminal_items if isinstance(i.residual, PLACED)]
    values = knot_values(solution) if items else {}
    goals: list[tuple[str, Reals]] = []
    for item, frame in items:
        point = frame_points(item, values)[-1]
        known = any(frame == other and np.array_equal(point, place) for other, place in goals)
        if np.isfinite(point).all() and not known:
            goals.append((frame, point))
    return tuple(goals)


def goal_placements(solution: Solution) -> list[tuple[str, Reals]]:
    """Frame and placement (4, 4) [-, m] that each cost term or constraint of the end asks a frame's rotation to have.

    A term on a rotation alone stands where the frame is at the end. Without a problem there are none.
    """
    items = [(i, str(i.residual.frame)) for i in solution.description.terminal_items if isinstance(i.residual, _TURNED)]
    values, found = knot_values(solution) if items else {}, []
    for item, frame in items:
        weights = values[f"{item.name}.weights"][-1][-3:] if f"{item.name}.weights" in values else np.ones(3)
        if not (np.isfinite(asked_values(item, values)[-1][-3:]).all() and np.all(weights > 0)):
            continue
        reference, placement = values[f"{item.name}.reference"][-1], np.eye(4)
        placement[:3, :3] = reference[:, :3]
        with_place = reference.shape == (3, 4)
        placement[:3, 3] = reference[:, 3] if with_place else solution.frame_path(frame)[-1]
        found.append((frame, placement))
    return found


def moving_goals(solution: Solution) -> list[tuple[str, Reals]]:
    """Frame and points (T + 1, 3) [m] that terms or constraints ask a frame to follow; NaN at knots without one.

    Frames whose reference stays where it is, and feet, are left out. Without a problem there are none.
    """
    description = solution.description
    frames = dict.fromkeys(str(i.residual.frame) for i in description.items if isinstance(i.residual, PLACED))
    values, feet = knot_values(solution) if frames else {}, description.feet if frames else ()
    asked = [(frame, frame_references(solution, frame, values)) for frame in frames if frame not in feet]
    return [(frame, points) for frame, points in asked if np.ptp(_known(points), axis=0).max(initial=0.0) > 1e-9]


def _known(points: Reals) -> Reals:
    """Points without NaN; one zero if there is none."""
    known = points[np.isfinite(points).all(axis=1)]
    return known if len(known) else np.zeros((1, 3))


def shown_goals(solution: Solution) -> tuple[list[str], list[tuple[str, Reals]]]:
    """Frames of a robot whose paths pictures draw, and goals that they mark.

    Paths are those of all feet and of the frames with goals; without any of them that of a single end. Goals of feet,
    which are footholds of a gait, are not marked.
    """
    from trajopt.analysis.skeleton import ends_of

    feet = solution.description.feet
    goals = [goal for goal in solution.description.goals if goal[0] not in feet]
    ends = [name for *_, name in ends_of(robot_of(solution))]
    alone = ends if len(ends) == 1 and ends[0] else []
    return list(dict.fromkeys([*feet, *(name for name, _ in goals)])) or alone, goals


def pose_goals(solution: Solution) -> Reals:
    """Positions that costs and constraints of the state ask for, shape (n, 3) [m]: at the end, and at a few knots.

    The latter are waypoints. A term counts where its weight, and those of all coordinates of the position, are > 0; a
    constraint where it asks for all coordinates of the position.
    """
    return np.unique(goal_poses(solution)[:, :3, 3], axis=0)


def goal_poses(solution: Solution) -> Reals:
    """Poses at the places of `pose_goals`, shape (n, 4, 4) [-, m]; rotations are NaN where none is asked for.

    Without a problem there are none.
    """
    from trajopt.actions.unicycle import ActionModelUnicycle

    description, found = solution.description, [np.zeros((0, 4, 4))]
    if any(isinstance(model, ActionModelUnicycle) for model in description.models[-1:]):
        found.append(np.eye(4)[None])  # its cost, which has no terms, is about the origin
    values, last, state = description.values, len(solution.xs) - 1, description.state
    for item in description.items:
        if state is None or not isinstance(item.residual, ResidualModelState):
            continue
        steps, references = _asked_steps(item, item.residual, values, state.ndx), values[f"{item.name}.reference"]
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
            asked = np.isfinite(steps[knots][:, turning]).all(axis=1) & bool(turning)
            poses[~asked, :3, :3] = np.nan
            found.append(poses)
    return np.concatenate(found)


def _asked_steps(item: Item, residual: ResidualModelState, values: Mapping[str, Reals], ndx: int) -> Reals:
    """Steps from its reference that an item on the state asks for, shape (T + 1, ndx); NaN where it asks for none."""
    elements = residual.elements
    asked = asked_values(item, values)
    asked = np.array(np.broadcast_to(asked, (len(asked), len(elements))))
    if f"{item.name}.weights" in values:
        asked[~(values[f"{item.name}.weights"] > 0)] = np.nan
    steps = np.full((len(asked), ndx), np.nan)
    steps[:, elements] = asked
    return steps


def _moving(state: StateAbstract, references: Reals) -> tuple[list[int], list[int]]:
    """Tangent coordinates of a state that move the position of its body, and those that turn it."""
    moving, turning = [], []
    for i, step in enumerate(1e-3 * np.eye(state.ndx)):
        ends = [state.body_poses(np.atleast_2d(x)) for x in (references[0], state.integrate(references[0], step))]
        if ends[0] is None or ends[1] is None:
            continue
        change = np.abs(ends[1] - ends[0])[0]
        moving += [i] if change[:3, 3].max() > 1e-9 else []
        turning += [i] if change[:3, :3].max() > 1e-9 else []
    return moving, turning
