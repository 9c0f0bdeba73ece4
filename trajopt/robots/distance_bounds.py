"""Bounds of the distances of joints, which free flyers may have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy.typing as npt

from trajopt.checks import check_bounds, check_mapping
from trajopt.errors import InvalidArgumentError

if TYPE_CHECKING:
    from trajopt.robots.robot import Robot


def checked_distances(robot: Robot, distances: Mapping[str, npt.ArrayLike]) -> dict[str, tuple[float, float]]:
    """Bounds (lower, upper) by joint [m], each of a free flyer; raises InvalidArgumentError for others."""
    checked = {}
    for joint, bounds in check_mapping("distances", distances, "write {joint: (lower, upper)}").items():
        kind = robot.model.joints[robot.joint_id(joint)].shortname()
        if kind != "JointModelFreeFlyer":
            raise InvalidArgumentError(f"distances: expected names of free flyers, got {joint!r}, a {kind}")
        lower, upper = check_bounds(f"distances[{joint!r}]", bounds, 2)
        if not 0.0 <= lower <= upper:
            raise InvalidArgumentError(
                f"distances[{joint!r}]: expected 0 <= lower <= upper [m], got {lower:g} and {upper:g}"
            )
        checked[joint] = (float(lower), float(upper))
    return checked
