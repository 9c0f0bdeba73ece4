"""Reach of arms: how far a frame gets at most, and goals that are farther away."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.robots.frame_index import frame_index
from trajopt.types import Reals

OTHER_UNIT = 10.0
"""Multiple of the reach from which the unit of a goal is in doubt [-]."""


def beyond_reach(model: Any, frame: str, point: Reals) -> str:
    """Text about a goal that no posture reaches; empty if it is within reach or unknown.

    Args:
        model: A Pinocchio model.
        frame: Name of a frame.
        point: Goal of the frame's origin in the world (3,) [m].
    """
    reach = farthest(model, frame)
    return "" if reach is None else farther(point, *reach)


def farther(point: Reals, first: Reals, most: float) -> str:
    """Text about a goal that is farther from the first joint than an arm gets; empty if it is not.

    Args:
        point: Goal in the world (3,) [m].
        first: Position of the first joint (3,) [m].
        most: Largest distance that the arm gets from there [m].
    """
    away = float(np.linalg.norm(point - first))
    if away <= most:
        return ""
    units = "; lengths are in m: is this goal in mm or cm?" if away > OTHER_UNIT * most else ""
    return f"it is out of reach, {away:.3g} m from the first joint with an arm of at most {most:.3g} m{units}"


def farthest(model: Any, frame: str) -> tuple[Reals, float] | None:
    """Returns the position of the first joint before a frame (3,) [m], and an upper bound of the frame's distance [m].

    The bound is the sum of the distances from joint to joint. The result is None unless revolute joints alone move the
    frame.

    Args:
        model: A Pinocchio model.
        frame: Name of a frame.
    """
    joints = chain(model, frame)
    return None if joints is None else (np.array(model.jointPlacements[joints[-1][0]].translation), joints[-1][1])


def chain(model: Any, frame: str) -> list[tuple[int, float]] | None:
    """Returns the joints that move a frame, from the last to the first, each with the frame's largest distance [m].

    The distance is an upper bound, the sum of those from joint to joint. The result is None unless revolute joints
    alone move the frame.

    Args:
        model: A Pinocchio model.
        frame: Name of a frame.
    """
    place = model.frames[frame_index(model, frame)]
    joint, length = place.parentJoint, float(np.linalg.norm(place.placement.translation))
    joints = list[tuple[int, float]]()
    while joint:
        if not _turns(model.joints[joint]):
            return None
        joints.append((joint, length))
        length += float(np.linalg.norm(model.jointPlacements[joint].translation))
        joint = model.parents[joint]
    return joints or None


def _turns(joint: Any) -> bool:
    """Whether a joint is revolute about one axis."""
    return joint.nv == 1 and joint.shortname().startswith("JointModelR")
