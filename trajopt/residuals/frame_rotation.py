"""Residual of a frame's orientation: difference to a reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
from casadi import SX

from trajopt.instant import Instant
from trajopt.lie import jlog3, log3
from trajopt.residuals.multibody import ResidualModelMultibody
from trajopt.robots.placements import check_rotation
from trajopt.states.base import StateAbstract


class ResidualModelFrameRotation(ResidualModelMultibody):
    """Orientation error r = log3(R_refᵀ R(q)) in the axes of the frame, shape (3,) [rad].

    Args:
        state: State of the robot.
        frame: Name of the frame.
        reference: Reference rotation matrix (3, 3), or quaternion xyzw (4,); identity by default. Run-time parameter
            `reference`, of shape (3, 3).
    """

    def __init__(self, state: StateAbstract, frame: str, reference: Any = None) -> None:
        super().__init__(state, 3, frame=frame, unit="rad")
        value = np.eye(3) if reference is None else reference
        self.reference = self.parameter("reference", value, convert=check_rotation)

    def _error(self, instant: Instant) -> SX:
        return self.reference.T @ instant.robot.frame_placement(self.frame_id)[0]

    def evaluate(self, instant: Instant) -> SX:
        return log3(self._error(instant))

    def derivative(self, instant: Instant) -> tuple[SX, SX]:
        local = instant.robot.frame_jacobian(self.frame_id, pin.ReferenceFrame.LOCAL)
        return self.pad(jlog3(self._error(instant)) @ local[3:, :]), SX(3, instant.nu)
