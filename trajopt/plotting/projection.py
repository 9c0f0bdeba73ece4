"""Oblique projection of a legged robot, seen across the main direction of its motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from trajopt.types import Reals

OBLIQUE = 0.3
"""Shift of a point to the right per distance to the far side, so that left and right legs are both visible [-]."""

_ASIDE = 0.03  # smallest displacement to the side that changes the view [m]


@dataclass(frozen=True)
class SideView:
    """Direction from which a legged robot is seen.

    Attributes:
        facing: Rotation (3, 3) from world axes to view axes: x to the right, y away from the camera, z up [-].
        left: Horizontal direction to the left of the robot at the first knot (3,), in world axes [-].
        across: Name of the view's x axis: "forward", "to the left" or "to the right".
        place: Place of the camera: "its right", "the front" or "behind".
    """

    facing: Reals
    left: Reals
    across: str
    place: str


def side_view(model: pin.Model, qs: Reals, base: int = 1) -> SideView:
    """Returns the view of a motion: from the robot's right, or from the front or behind if it moves sideways.

    Forward and left are those of the base at the first knot, or x and y of the world if its x axis is vertical.

    Args:
        model: Model of the robot.
        qs: Configurations (T + 1, nq).
        base: Index of the joint of its base.
    """
    data, places = model.createData(), []
    for q in (qs[-1], qs[0]):
        pin.forwardKinematics(model, data, q)
        places.append(data.oMi[base].translation.copy())
    x, y, _ = data.oMi[base].rotation[:, 0]
    length = float(np.hypot(x, y))
    forward = np.array([x, y, 0.0]) / length if length > 0.1 else np.eye(3)[0]
    left = np.array([-forward[1], forward[0], 0.0])
    moved = places[0] - places[1]
    ahead, aside = float(moved @ forward), float(moved @ left)
    if not abs(aside) > max(abs(ahead), _ASIDE):
        return SideView(np.array([forward, left, np.eye(3)[2]]), left, "forward", "its right")
    if aside > 0:
        return SideView(np.array([left, -forward, np.eye(3)[2]]), left, "to the left", "the front")
    return SideView(np.array([-left, forward, np.eye(3)[2]]), left, "to the right", "behind")
