"""Residual of the direction of a frame's axis."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pinocchio as pin
from casadi import SX

from trajopt.checks import check_array
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.residuals.multibody import ResidualModelMultibody
from trajopt.states.base import StateAbstract
from trajopt.types import Reals

ROUND_OFF = 1e-9  # keeps the direction finite if the target is at the frame's origin [m]


class ResidualModelLookAt(ResidualModelMultibody):
    """Pointing error r = R(q) a - (t - p(q)) / |t - p(q)|, shape (3,), of a frame's axis a at a target t [-].

    |r| = 2 sin(angle / 2) of the angle between the axis and the line to the target, so r = 0 only if the axis points
    at the target. The target must not be at the frame's origin.

    Args:
        state: State of the robot.
        frame: Name of the frame, such as that of a camera.
        target: Point t in the world (3,) [m]; the origin by default. Run-time parameter `reference`.
        axis: Direction a in the frame (3,), of any length > 0; by default the z axis, as for cameras. Run-time
            parameter `axis`.

    Raises:
        InvalidArgumentError: `axis` is zero.
    """

    def __init__(
        self,
        state: StateAbstract,
        frame: str,
        target: npt.ArrayLike = (0.0, 0.0, 0.0),
        *,
        axis: npt.ArrayLike = (0.0, 0.0, 1.0),
    ) -> None:
        super().__init__(state, 3, frame=frame)
        point = check_array("target", target, (3,), cure="pass a point (x, y, z) in the world [m]")
        self.reference = self.parameter("reference", point, unit="m")
        self.axis = self.parameter("axis", axis, convert=_check_axis)

    def _directions(self, instant: Instant) -> tuple[SX, SX, SX]:
        """The axis and the direction to the target in the world, (3,) each, and the distance to the target [m]."""
        rotation, position = instant.robot.frame_placement(self.frame_id)
        line = self.reference - position
        distance = ca.sqrt(ca.dot(line, line) + ROUND_OFF**2)
        return rotation @ self.axis, line / distance, distance

    def evaluate(self, instant: Instant) -> SX:
        axis, direction, _ = self._directions(instant)
        return axis - direction

    def derivative(self, instant: Instant) -> tuple[SX, SX]:
        axis, direction, distance = self._directions(instant)
        aligned = instant.robot.frame_jacobian(self.frame_id, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        across = (SX.eye(3) - direction @ direction.T) / distance
        return self.pad(across @ aligned[:3, :] - ca.skew(axis) @ aligned[3:, :]), SX(3, instant.nu)


def _check_axis(argument: str, value: Any) -> Reals:
    """Unit vector (3,) along a vector; raises InvalidArgumentError for a zero vector."""
    axis = check_array(argument, value, (3,), cure="pass a direction in the frame such as (0, 0, 1)")
    length = float(np.linalg.norm(axis))
    if length == 0.0:
        raise InvalidArgumentError(f"{argument}: expected a nonzero direction such as (0, 0, 1), got {axis.tolist()}")
    return axis / length
