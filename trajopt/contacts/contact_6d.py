"""Contact of a sole that does not slip or tip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pinocchio as pin
from casadi import SX

from trajopt.contacts.base import ContactModelAbstract, Motions
from trajopt.lie import log6
from trajopt.robots.placements import check_placement
from trajopt.states.base import StateAbstract


class ContactModel6D(ContactModelAbstract):
    """Sole contact: a frame does not move or turn, V̇ + kd V + kp log6(M_ref⁻¹ M) = 0, with a wrench (6,) [N, N m].

    Args:
        state: State of a robot.
        frame: Name of the frame, such as a sole.
        reference: M_ref, a pinocchio.SE3, a homogeneous matrix (4, 4), or position and quaternion xyzw (7,). It is
            required if kp > 0, and then the run-time parameter `reference` (3, 4).
        reference_frame: Axes of the wrench: "local"; or "world" or "local_world_aligned", which are equivalent. The
            force comes first; torques are about the frame's origin.
        gains: Gains (kp, kd) of Baumgarte's stabilization [1/s², 1/s].

    Source: Mastalli et al., Crocoddyl (ICRA 2020), eq. 6.
    """

    classical = False
    vectors = True

    def __init__(
        self,
        state: StateAbstract,
        frame: str,
        *,
        reference: Any = None,
        reference_frame: str | pin.ReferenceFrame = "local_world_aligned",
        gains: Sequence[float] = (0.0, 0.0),
    ) -> None:
        super().__init__(state, [frame], 6, gains=gains, reference_frame=reference_frame)
        pose = self.reference_or(reference, pin.SE3.Identity(), "robot.placement(q, frame)")
        placement = check_placement("reference", pose)
        if self.kp is not None:
            self.reference = self.parameter("reference", placement, unit="-, m", convert=check_placement)

    def projections(self, motions: Motions) -> dict[str, SX]:
        return {self.frame: SX.eye(6)}

    def position_error(self, motions: Motions) -> SX:
        motion, rotation = motions[self.frame], self.reference[:, :3].T
        return log6(rotation @ motion.rotation, rotation @ (motion.position - self.reference[:, 3]))
