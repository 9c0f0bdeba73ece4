"""Residual of a frame's position: difference to a reference point."""

from __future__ import annotations

import casadi as ca
import numpy.typing as npt
import pinocchio as pin
from casadi import SX

from trajopt.checks import check_array
from trajopt.instant import Instant
from trajopt.residuals.multibody import ResidualModelMultibody
from trajopt.states.base import StateAbstract


class ResidualModelFrameTranslation(ResidualModelMultibody):
    """Position error of a frame in the world, r = p(q) - p_ref, shape (3,) [m].

    Args:
        state: State of the robot.
        frame: Name of the frame.
        reference: Reference point (3,) [m], the origin by default. Run-time parameter `reference`.
    """

    def __init__(self, state: StateAbstract, frame: str, reference: npt.ArrayLike = (0.0, 0.0, 0.0)) -> None:
        super().__init__(state, 3, frame=frame, unit="m")
        point = check_array("reference", reference, (3,), cure="pass a point (x, y, z) in the world [m]")
        self.reference = self.parameter("reference", point, unit="m")

    def evaluate(self, instant: Instant) -> SX:
        return instant.robot.frame_placement(self.frame_id)[1] - self.reference

    def derivative(self, instant: Instant) -> tuple[SX, SX]:
        aligned = instant.robot.frame_jacobian(self.frame_id, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        return self.pad(aligned[:3, :]), SX(3, instant.nu)

    def curvature(self, instant: Instant, slope: SX, bend: SX) -> SX | None:
        aligned = instant.robot.frame_jacobian(self.frame_id, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)[:3, :]
        turning = self.bend(instant, slope)
        if turning is None:
            return None
        moving = ca.triu2symm(ca.triu(aligned.T @ (ca.diag(bend) @ aligned)))
        return self.pad_square(moving + turning, instant.nu)
