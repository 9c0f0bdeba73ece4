"""Goals that a motion misses: terminal cost terms, and equations, on a frame's position that much is left of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from trajopt.costs.cost_stack import CostTerm
from trajopt.residuals.multibody import ResidualModelMultibody
from trajopt.solution.solution import Solution
from trajopt.types import Reals

LEFT = 0.1  # part of the first distance that counts as missed [-]
LEAST = 0.02  # distance that counts as missed [m]


def misses(solution: Solution) -> list[str]:
    """One sentence for each goal of a frame's position that the motion ends far from; none without such goals."""
    if solution.robot is None or not np.all(np.isfinite(solution.xs)):
        return []
    return [words for frame, point in solution.description.goals for words in _miss(solution, frame, point)]


def _miss(solution: Solution, frame: str, point: Reals) -> Iterator[str]:
    distances = np.linalg.norm(solution.frame_path(frame) - point, axis=1)
    first, last = float(distances[0]), float(distances[-1])
    if last <= max(LEAST, LEFT * first):
        return
    term = _term(solution, frame)
    called = f"residual of {term!r}" if term else f"distance of frame {frame!r} from its goal"
    cure = f"{'raise its weight, ' if term else ''}give the motion more time, or check that the robot can get there"
    cure = _beyond(solution, frame, point) or cure
    yield f"{called} is still {last:.3g} m at the end, {first:.3g} m at the start: {cure}"


def out_of_reach(solution: Solution) -> bool:
    """Whether a frame is to be where no posture gets it."""
    return solution.robot is not None and any(_beyond(solution, *goal) for goal in solution.description.goals)


def _beyond(solution: Solution, frame: str, point: Reals) -> str:
    """Words on a point that is too far away; empty if it is not, or nobody knows."""
    assert solution.robot is not None
    reach = farthest(solution.robot.model, frame)
    away, most = (float(np.linalg.norm(point - reach[0])), reach[1]) if reach is not None else (0.0, 0.0)
    if away <= most:
        return ""
    return f"no posture gets there, {away:.3g} m from the first joint with an arm of at most {most:.3g} m"


def _term(solution: Solution, frame: str) -> str:
    """Name of the terminal cost term on a frame; empty where it is a constraint, or a file does not keep the name."""
    for term in solution.description.terminal_items:
        on_frame = isinstance(term.residual, ResidualModelMultibody) and term.residual.frame == frame
        if isinstance(term, CostTerm) and on_frame and f"{term.name}.reference" in solution.parameters:
            return term.name
    return ""


def farthest(model: Any, frame: str) -> tuple[Reals, float] | None:
    """Place of the first joint before a frame (3,) [m], and the most that joints that turn get the frame away from it.

    That is the sum of the distances from joint to joint. None where another kind of joint, or a base, moves the frame.

    Args:
        model: A Pinocchio model.
        frame: Name of a frame.
    """
    place = model.frames[model.getFrameId(frame)]
    joint, length = place.parentJoint, float(np.linalg.norm(place.placement.translation))
    while joint and model.parents[joint]:
        length += float(np.linalg.norm(model.jointPlacements[joint].translation))
        joint, below = model.parents[joint], joint
        if not _turns(model.joints[below]):
            return None
    if not (joint and _turns(model.joints[joint])):
        return None
    return np.array(model.jointPlacements[joint].translation), length


def _turns(joint: Any) -> bool:
    """Whether a joint turns about one axis, and moves nothing along it."""
    return joint.nv == 1 and joint.shortname().startswith("JointModelR")
