"""Residual of a frame's placement: difference to a reference."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pinocchio as pin
from casadi import SX

from trajopt.instant import Instant
from trajopt.lie import PoseLog, log_of_motion
from trajopt.residuals.multibody import ResidualModelMultibody
from trajopt.robots.placements import check_placement
from trajopt.states.base import StateAbstract


class ResidualModelFramePlacement(ResidualModelMultibody):
    """Placement error r = log6(M_ref⁻¹ M(q)) in the axes of the frame, shape (6,), linear part first [m, rad].

    Args:
        state: State of the robot.
        frame: Name of the frame.
        reference: Reference placement in the world; identity by default. A pinocchio.SE3, a homogeneous matrix (4, 4),
            or position and quaternion xyzw (7,). Run-time parameter `reference`, of shape (3, 4): rotation and
            position.

    Source: Mastalli et al., Crocoddyl (ICRA 2020); derivative Jlog6 · J_local, Solà et al. 2018, eq. 179.
    """

    def __init__(self, state: StateAbstract, frame: str, reference: Any = None) -> None:
        super().__init__(state, 6, frame=frame, unit="m, rad")
        value = np.eye(4) if reference is None else reference
        self.reference = self.parameter("reference", value, unit="-, m", convert=check_placement)

    def _error(self, instant: Instant) -> tuple[SX, SX]:
        """Rotation (3, 3) and position (3,) of the frame relative to the reference."""
        rotation, position = instant.robot.frame_placement(self.frame_id)
        transposed = self.reference[:, :3].T
        return transposed @ rotation, transposed @ (position - self.reference[:, 3])

    def _log(self, instant: Instant) -> PoseLog:
        return instant.once(("log6 of", self), lambda: log_of_motion(*self._error(instant)))

    def evaluate(self, instant: Instant) -> SX:
        return self._log(instant).twist

    def derivative(self, instant: Instant) -> tuple[SX, SX]:
        local = instant.robot.frame_jacobian(self.frame_id, pin.ReferenceFrame.LOCAL)
        return self.pad(self._log(instant).jacobian @ local), SX(6, instant.nu)

    def curvature(self, instant: Instant, slope: SX, bend: SX) -> SX | None:
        log, local = self._log(instant), instant.robot.frame_jacobian(self.frame_id, pin.ReferenceFrame.LOCAL)
        turning = self.bend(instant, log.jacobian.T @ slope)
        if turning is None:
            return None
        inner = log.jacobian.T @ (ca.diag(bend) @ log.jacobian) + log.curvature(slope)
        moving = ca.triu2symm(ca.triu(local.T @ (ca.triu2symm(ca.triu(inner)) @ local)))
        return self.pad_square(moving + turning, instant.nu)
