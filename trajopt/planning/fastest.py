"""Choice among paths: the motion along the one whose smooth curve takes the least time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from trajopt.errors import InvalidArgumentError
from trajopt.planning.free_space import FreeSpace
from trajopt.planning.smoothing import smooth_path
from trajopt.retiming import JointPath, RetimedPath, retime
from trajopt.robots import Robot
from trajopt.types import Reals

CANDIDATES = 2  # paths that are made smooth and retimed, of those that promise the shortest motions [-]
ROUGH = 30  # most intervals of their motions; the fastest is retimed again [-]


@dataclass(kw_only=True)
class Choice:
    """The fastest motion along some of several paths.

    Attributes:
        corners: Corners (n, nq) of its path, or of the last one that was tried [rad, m].
        smooth: Whether some path became a smooth curve.
        motion: The motion; None without one.
        smoothing: Time in which paths became smooth [s].
        retiming: Time of retiming [s].
    """

    corners: Reals
    smooth: bool = False
    motion: RetimedPath | None = None
    smoothing: float = 0.0
    retiming: float = 0.0


def fastest(space: FreeSpace, found: list[Reals], limits: dict[str, Any], intervals: int) -> Choice:
    """The fastest motion along the first paths that have one.

    Args:
        space: The free space.
        found: Corners (n, nq) of each path, at least one; those that promise the shortest motions first [rad, m].
        limits: Limits, see `retime`.
        intervals: Number of intervals of the motion, see `retime` [-].
    """
    choice, rough = Choice(corners=found[-1]), list[tuple[float, JointPath, Reals]]()
    for corners in found:
        start = time.perf_counter()
        path = smooth_path(space, corners)
        choice.smoothing += time.perf_counter() - start
        choice.smooth = choice.smooth or path is not None
        motion = None if path is None else _retimed(choice, space.robot, path, min(intervals, ROUGH), limits)
        if path is not None and motion is not None:
            rough.append((motion.duration, path, corners))
        if len(rough) == CANDIDATES:
            break
    for _, path, corners in sorted(rough, key=lambda each: each[0]):
        choice.corners, choice.motion = corners, _retimed(choice, space.robot, path, intervals, limits)
        if choice.motion is not None:
            break
    return choice


def _retimed(
    choice: Choice, robot: Robot, path: JointPath, intervals: int, limits: dict[str, Any]
) -> RetimedPath | None:
    """The motion along a path, whose time is added to a choice's; None if motors are too weak or the solver stops."""
    start = time.perf_counter()
    try:
        motion = retime(robot, path.waypoints, intervals=intervals, **limits)
    except InvalidArgumentError:  # motors are too weak to hold the robot somewhere on the path
        return None
    finally:
        choice.retiming += time.perf_counter() - start
    return motion if motion.converged else None
