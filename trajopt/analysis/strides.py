"""Whether feet pass each other, or come side by side step by step."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.legs import LeggedMotion
from trajopt.analysis.moved import displacement

if TYPE_CHECKING:
    from trajopt.solution import Solution

_BESIDE = 0.01  # largest distance, along the way, of feet that are side by side [m]
_STEP = 0.03  # smallest lead of a foot that steps ahead [m]
_STRAIGHT = np.radians(5.0)  # largest turn of a motion whose feet can be compared along its way [rad]


def never_pass(solution: Solution, motion: LeggedMotion) -> bool:
    """Whether one foot steps ahead, and the other one comes beside it, from the first to the last step.

    The feet of a pair begin and end side by side along the way of the centre of mass. Where both stand, one is ahead at
    times, and the other never is. Without such a pair the answer is no, and on a way that turns or has no length.

    Args:
        solution: A solution of a robot with a floating base and contacts.
        motion: Its motion, from `legged_motion`.
    """
    way = (motion.com[-1] - motion.com[0])[:2]
    length = float(np.linalg.norm(way))
    if not length > _STEP or not abs(displacement(solution, motion).turn) < _STRAIGHT:
        return False
    for foot, other in itertools.combinations(motion.feet, 2):
        lead = (foot.positions - other.positions)[:, :2] @ way / length
        both = np.append(foot.stands & other.stands, foot.stands[-1] or other.stands[-1])
        least, most = (float(pick(lead[both], initial=0.0)) for pick in (np.min, np.max))
        beside = max(abs(lead[0]), abs(lead[-1]), min(-least, most)) < _BESIDE
        if beside and max(-least, most) > _STEP:
            return True
    return False
