"""Residual of a frame's placement relative to another frame of the robot."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pinocchio as pin
from casadi import SX

from trajopt.instant import Instant
from trajopt.lie import log6, log6_and_jacobian
from trajopt.residuals.multibody import ResidualModelMultibody
from trajopt.robots.placements import check_placement
from trajopt.states.base import StateAbstract


class ResidualModelRelativePlacement(ResidualModelMultibody):
    """Placement error of a frame in another frame, r = log6(M_ref⁻¹ M_base(q)⁻¹ M(q)), shape (6,) [m, rad].

    Use it for two hands that carry one object, or for a tool that follows a moving platform.

    Args:
        state: State of the robot.
        frame: Name of the frame.
        base: Name of the frame in which the placement is measured.
        reference: Placement of `frame` in `base`; identity by default. A pinocchio.SE3, a homogeneous matrix (4, 4),
            or position and quaternion xyzw (7,). Run-time parameter `reference`, of shape (3, 4): rotation and
            position.

    Raises:
        InvalidArgumentError: `frame` and `base` are the same frame.

    Source: derivative Jlog6 · (J - Ad_M⁻¹ J_base) with M = M_base⁻¹ M, Solà et al. 2018, eq. 179.
    """

    def __init__(self, state: StateAbstract, frame: str, base: str, reference: Any = None) -> None:
        super().__init__(state, 6, frame=frame, unit="m, rad")
        self.base_id = self.base_frame(base, "for the placement in the world use ResidualModelFramePlacement")
        value = np.eye(4) if reference is None else reference
        self.reference = self.parameter("reference", value, unit="-, m", convert=check_placement)

    def _relative(self, instant: Instant) -> tuple[SX, SX]:
        """Rotation (3, 3) and position (3,) of the frame in the base."""
        base_rotation, base_position = instant.robot.frame_placement(self.base_id)
        rotation, position = instant.robot.frame_placement(self.frame_id)
        return base_rotation.T @ rotation, base_rotation.T @ (position - base_position)

    def _error(self, instant: Instant) -> tuple[SX, SX]:
        """Rotation (3, 3) and position (3,) of the frame relative to the reference."""
        rotation, position = self._relative(instant)
        transposed = self.reference[:, :3].T
        return transposed @ rotation, transposed @ (position - self.reference[:, 3])

    def evaluate(self, instant: Instant) -> SX:
        return log6(*self._error(instant))

    def derivative(self, instant: Instant) -> tuple[SX, SX]:
        rotation, position = self._relative(instant)
        own, base = (
            instant.robot.frame_jacobian(frame, pin.ReferenceFrame.LOCAL) for frame in (self.frame_id, self.base_id)
        )
        carried = ca.vertcat(rotation.T @ (base[:3, :] - ca.skew(position) @ base[3:, :]), rotation.T @ base[3:, :])
        return self.pad(log6_and_jacobian(*self._error(instant))[1] @ (own - carried)), SX(6, instant.nu)
