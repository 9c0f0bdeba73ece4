"""Residual of a frame's velocity: difference to a reference."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pinocchio as pin
from casadi import SX

from trajopt.instant import Instant
from trajopt.residuals.multibody import ResidualModelMultibody
from trajopt.robots.placements import check_reference_frame, check_twist
from trajopt.states.base import StateAbstract


class ResidualModelFrameVelocity(ResidualModelMultibody):
    """Velocity error of a frame, r = V(q, v) - V_ref, shape (6,), linear part first [m/s, rad/s].

    Args:
        state: State of the robot.
        frame: Name of the frame.
        reference: Reference twist (6,) [m/s, rad/s], or a pinocchio.Motion; zero by default. Run-time parameter
            `reference`.
        reference_frame: Axes of the twist: "local", "world" or "local_world_aligned", as in pinocchio.ReferenceFrame.
    """

    def __init__(
        self,
        state: StateAbstract,
        frame: str,
        reference: npt.ArrayLike | pin.Motion | None = None,
        *,
        reference_frame: str | pin.ReferenceFrame = "local",
    ) -> None:
        super().__init__(state, 6, frame=frame, unit="m/s, rad/s")
        self.reference_frame = check_reference_frame("reference_frame", reference_frame)
        value = np.zeros(6) if reference is None else reference
        self.reference = self.parameter("reference", value, unit=self.unit, convert=check_twist)

    def evaluate(self, instant: Instant) -> SX:
        return instant.robot.frame_velocity(self.frame_id, self.reference_frame) - self.reference
