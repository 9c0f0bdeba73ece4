"""Residual of a frame's position relative to another frame of the robot."""

from __future__ import annotations

import casadi as ca
import numpy.typing as npt
import pinocchio as pin
from casadi import SX

from trajopt.checks import check_array
from trajopt.instant import Instant
from trajopt.residuals.multibody import ResidualModelMultibody
from trajopt.states.base import StateAbstract


class ResidualModelRelativeTranslation(ResidualModelMultibody):
    """Position error of a frame in another frame, r = R_base(q)ᵀ (p(q) - p_base(q)) - p_ref, shape (3,) [m].

    Constrained to zero it is a ball joint between two frames, which closes a chain: a five-bar, or two hands at one
    point.

    Args:
        state: State of the robot.
        frame: Name of the frame.
        base: Name of the frame in which the position is measured.
        reference: Position (3,) of `frame` in `base` [m]; zero by default. Run-time parameter `reference`.

    Raises:
        InvalidArgumentError: `frame` and `base` are the same frame.
    """

    def __init__(self, state: StateAbstract, frame: str, base: str, reference: npt.ArrayLike = (0.0, 0.0, 0.0)) -> None:
        super().__init__(state, 3, frame=frame, unit="m")
        self.base_id = self.base_frame(base, "for the position in the world use ResidualModelFrameTranslation")
        point = check_array("reference", reference, (3,), cure=f"pass a point (x, y, z) in the axes of {base!r} [m]")
        self.reference = self.parameter("reference", point, unit="m")

    def _position(self, instant: Instant) -> tuple[SX, SX]:
        """Rotation (3, 3) of the base, and position (3,) of the frame in the base."""
        rotation, base = instant.robot.frame_placement(self.base_id)
        return rotation, rotation.T @ (instant.robot.frame_placement(self.frame_id)[1] - base)

    def evaluate(self, instant: Instant) -> SX:
        return self._position(instant)[1] - self.reference

    def derivative(self, instant: Instant) -> tuple[SX, SX]:
        rotation, position = self._position(instant)
        own = instant.robot.frame_jacobian(self.frame_id, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        base = instant.robot.frame_jacobian(self.base_id, pin.ReferenceFrame.LOCAL)
        carried = base[:3, :] - ca.skew(position) @ base[3:, :]
        return self.pad(rotation.T @ own[:3, :] - carried), SX(3, instant.nu)
