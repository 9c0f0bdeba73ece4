"""Camera of a film: where it stands, and what it sees."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pinocchio as pin

from trajopt.checks import check_array, check_known
from trajopt.display.stage import FOV, VIEW
from trajopt.errors import InvalidArgumentError
from trajopt.types import Reals

DIRECTIONS = {"corner": tuple(VIEW), "side": (0.0, -1.0, 0.15), "front": (1.0, 0.0, 0.15), "top": (0.0, -1e-3, 1.0)}
"""Directions from the motion to the camera by name [-]."""
_ROOM = 1.04  # room around the motion [-]


@dataclass(frozen=True, kw_only=True)
class Camera:
    """A camera that does not move; up is z.

    Attributes:
        position: Its position in the world (3,) [m].
        target: Point in the middle of the picture (3,) [m].
        fov: Vertical field of view [rad].
    """

    position: Reals
    target: Reals
    fov: float = float(np.radians(FOV))

    @property
    def wxyz(self) -> Reals:
        """Orientation as a quaternion (4,), with axes to the right, down and forward [-]."""
        return np.asarray(pin.Quaternion(_axes(self.target - self.position).T).coeffs())[[3, 0, 1, 2]]


def check_camera(placement: Any) -> str | Camera:
    """Returns the name of a direction, or the camera with a position and a target (2, 3) [m].

    Raises:
        InvalidArgumentError: The placement is neither a name nor two different points.
        UnknownNameError: There is no direction of this name.
    """
    if isinstance(placement, str):
        return check_known("camera", placement, DIRECTIONS)
    position, target = check_array("camera", placement, (2, 3), cure=f"or use one of {', '.join(DIRECTIONS)}")
    if np.allclose(position, target):
        raise InvalidArgumentError("camera: expected a position and another point to look at, got the same twice")
    return Camera(position=position, target=target)


def line_of_sight(placement: str | Camera) -> tuple[float, float] | None:
    """Returns elevation and azimuth [deg] of a camera for line drawings; None for "corner", where they choose."""
    if placement == "corner":
        return None
    away = placement.position - placement.target if isinstance(placement, Camera) else np.array(DIRECTIONS[placement])
    up = np.degrees(np.arctan2(away[2], np.hypot(away[0], away[1])))
    return float(up), float(np.degrees(np.arctan2(away[1], away[0])))


def camera_of(placement: str | Camera, points: Reals, aspect: float) -> Camera:
    """Returns a camera as it is, or the one in a direction that is as near as all points are in the picture.

    Args:
        placement: The camera, or the name of a direction.
        points: Points to see (n, 3) [m]; the camera sees the box around them.
        aspect: Width of the picture relative to its height [-].
    """
    if isinstance(placement, Camera):
        return placement
    direction = np.array(DIRECTIONS[placement]) / np.linalg.norm(DIRECTIONS[placement])
    low, high = points.min(axis=0), points.max(axis=0)
    center = (low + high) / 2.0
    corners = np.array(list(product(*zip(low, high)))) - center
    right, down, forward = _ROOM * _axes(-direction) @ corners.T
    steep = np.tan(np.radians(FOV) / 2.0)
    distance = float(np.max(np.maximum(np.abs(right) / (steep * aspect), np.abs(down) / steep) - forward))
    return Camera(position=center + max(distance, 0.2) * direction, target=center)


def _axes(forward: Reals) -> Reals:
    """Rows (3, 3): axes to the right, down and forward of a camera that looks along `forward`."""
    forward = forward / np.linalg.norm(forward)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right = right / np.linalg.norm(right) if np.linalg.norm(right) > 1e-9 else np.array([1.0, 0.0, 0.0])
    return np.array([right, np.cross(forward, right), forward])
