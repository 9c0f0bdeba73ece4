"""Touch-down of a point."""

from __future__ import annotations

import casadi as ca
import pinocchio as pin
from casadi import SX

from trajopt.contacts.base import Motions
from trajopt.contacts.impulse import ImpulseModelAbstract
from trajopt.states.base import StateAbstract


class ImpulseModel3D(ImpulseModelAbstract):
    """Touch-down of a point: the origin of a frame stops or bounces, with an impulse (3,) [N s].

    Args:
        state: State of a robot.
        frame: Name of the frame.
        reference_frame: Axes of the impulse: "local"; or "world" or "local_world_aligned", which are equivalent.

    Source: Mastalli et al., Crocoddyl (ICRA 2020), eq. 8.
    """

    vectors = True

    def __init__(
        self, state: StateAbstract, frame: str, *, reference_frame: str | pin.ReferenceFrame = "local_world_aligned"
    ) -> None:
        super().__init__(state, [frame], 3, reference_frame=reference_frame)

    def projections(self, motions: Motions) -> dict[str, SX]:
        return {self.frame: SX(ca.horzcat(SX.eye(3), SX(3, 3)))}
