"""Foothold: the position of a point foot, or the placement of a sole, in the world."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.checks import check_array, check_finite, check_instance, check_text, shape_of
from trajopt.errors import InvalidArgumentError
from trajopt.robots.placements import check_placement, check_quaternion
from trajopt.types import Reals

Vector3 = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]


UP: Vector3 = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Foothold:
    """Foothold in the world: the position of a point foot, or the placement of a sole.

    Attributes:
        position: x, y, z of the foot's frame [m].
        quaternion: x, y, z, w of a sole's frame [-]; None for a point foot.
        normal: Normal of the ground below a point foot (3,), which becomes a unit vector [-]; a sole has that of its
            frame.
        heading: Heading of a robot on a point foot here, an angle about the vertical from the world's x axis [rad];
            None if it is not known. A sole has that of its frame.

    Raises:
        InvalidArgumentError: `position` is not three finite numbers, `quaternion` is not a unit quaternion, the normal
            does not point up, or the heading is not finite.
    """

    position: Vector3
    quaternion: Quaternion | None = None
    normal: Vector3 = UP
    heading: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "position", as_point("position", self.position))
        normal = np.array(as_point("normal", self.normal))
        if not normal[2] > 0:
            raise InvalidArgumentError(f"normal: expected a vector that points up, got {normal.tolist()}")
        object.__setattr__(self, "normal", as_point("normal", normal / np.linalg.norm(normal)))
        if self.heading is not None:
            object.__setattr__(self, "heading", check_finite("heading", self.heading))
        if self.quaternion is not None:
            unit = check_quaternion("quaternion", self.quaternion)
            object.__setattr__(self, "quaternion", tuple(float(v) for v in unit))

    @classmethod
    def of(cls, value: Any, argument: str = "foothold") -> Self:
        """Converts a point (3,), or for a sole a pinocchio.SE3, a matrix (4, 4), or position and quaternion (7,).

        Raises:
            InvalidArgumentError: `value` has another form; the message names `argument`.
        """
        if isinstance(value, cls):
            return value
        if isinstance(value, pin.SE3) or shape_of(value) in ((4, 4), (3, 4), (7,)):
            placement = check_placement(argument, value)
            return cls(as_point(argument, placement[:, 3]), _quaternion(placement[:, :3]))
        return cls(as_point(argument, value))

    @property
    def sole(self) -> bool:
        """Whether the foothold is that of a sole, which has an orientation."""
        return self.quaternion is not None

    @property
    def rotation(self) -> Reals:
        """Rotation from the foot's frame to the world (3, 3); for a point the shortest one from z to the normal."""
        if self.quaternion is None:
            return between_vectors(np.array(UP), np.array(self.normal))
        return np.array(pin.Quaternion(*_wxyz(self.quaternion)).matrix())

    @property
    def placement(self) -> Reals:
        """Rotation and position side by side (3, 4) [-, m], as in the parameter of a placement residual."""
        return np.column_stack([self.rotation, self.position])

    def moved(self, motion: pin.SE3) -> Foothold:
        """The foothold after a rigid motion in world coordinates."""
        check_instance("motion", motion, pin.SE3)
        position = as_point("motion", motion.act(np.array(self.position)))
        if self.quaternion is None:
            heading = None if self.heading is None else self.heading + heading_of(motion.rotation)
            return Foothold(
                position, normal=as_point("normal", motion.rotation @ np.array(self.normal)), heading=heading
            )
        return Foothold(position, _quaternion(motion.rotation @ self.rotation))

    def shifted(self, step: npt.ArrayLike) -> Foothold:
        """The foothold moved by a step (3,) [m], with the same orientation."""
        return replace(self, position=as_point("step", np.add(self.position, as_point("step", step))))

    def __repr__(self) -> str:
        place = ", ".join(f"{v:.3f}" for v in np.round(self.position, 3) + 0.0)
        if self.quaternion is None:
            lean = np.degrees(np.arccos(min(self.normal[2], 1.0)))
            return f"({place}; ground tilted by {lean:.3g}°)" if lean > 1e-3 else f"({place})"
        roll, pitch, yaw = np.degrees(pin.rpy.matrixToRpy(self.rotation))
        tilt = f", tilt {math.hypot(roll, pitch):.3g}°" if math.hypot(roll, pitch) > 1e-3 else ""
        return f"({place}; yaw {round(yaw, 3) + 0.0:.3g}°{tilt})"


def as_point(argument: str, value: Any) -> Vector3:
    """Converts three finite numbers to a tuple.

    Raises:
        InvalidArgumentError: `value` is not three finite numbers; the message names `argument`.
    """
    check_text("argument", argument)
    cure = "pass a point (x, y, z) [m], or a pinocchio.SE3 for a sole" if "com" not in argument else ""
    x, y, z = check_array(argument, value, (3,), cure=cure)
    return float(x), float(y), float(z)


def yaw_rotation(yaw: float) -> Reals:
    """Rotation about the world's z axis by an angle [rad] (3, 3); exactly the identity for 0."""
    c, s = math.cos(yaw), math.sin(yaw)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def check_heading(argument: str, value: Any, most: float = 2 * math.pi) -> float:
    """Returns an angle [rad] as a float.

    Raises:
        InvalidArgumentError: `value` is not a finite number, or beyond `most`, as 90 degrees would be.
    """
    angle = check_finite(argument, value)
    if abs(angle) > most:
        raise InvalidArgumentError(
            f"{argument}: expected an angle within ±{most / math.pi:g}π [rad], got {angle:g}; "
            f"for degrees pass np.radians({angle:g})"
        )
    return angle


def between_vectors(a: Reals, b: Reals) -> Reals:
    """Shortest rotation (3, 3) from unit vector a to unit vector b; exactly the identity if they are equal."""
    return np.eye(3) if np.array_equal(a, b) else np.array(pin.Quaternion.FromTwoVectors(a, b).matrix())


def heading_of(rotation: Reals) -> float:
    """Heading of a frame: angle about the world's z axis from the world's x axis to the frame's x axis [rad]."""
    return math.atan2(rotation[1, 0], rotation[0, 0])


def turned(foothold: Foothold, yaw: float, position: npt.ArrayLike) -> Foothold:
    """The foothold moved to `position` (3,) [m], and turned by `yaw` about the vertical [rad]."""
    turn = yaw_rotation(yaw)
    rotation = None if foothold.quaternion is None else _quaternion(turn @ foothold.rotation)
    heading = None if foothold.heading is None else foothold.heading + yaw
    normal = as_point("normal", turn @ np.array(foothold.normal))
    return Foothold(as_point("position", position), rotation, normal, heading)


def _quaternion(rotation: Reals) -> Quaternion:
    x, y, z, w = (float(v) for v in pin.Quaternion(np.asarray(rotation)).normalized().coeffs())
    return x, y, z, w


def _wxyz(q: Quaternion) -> Quaternion:
    return q[3], q[0], q[1], q[2]
