"""Contact of a point that does not slip."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
import numpy.typing as npt
import pinocchio as pin
from casadi import SX

from trajopt.checks import check_array
from trajopt.contacts.base import ContactModelAbstract, Motions
from trajopt.states.base import StateAbstract


class ContactModel3D(ContactModelAbstract):
    """Point contact: the origin of a frame does not move, p̈ + kd ṗ + kp (p - p_ref) = 0, with a force (3,) [N].

    Args:
        state: State of a robot.
        frame: Name of the frame, such as a point foot.
        reference: p_ref (3,) in the world [m]; required if kp > 0, and then the run-time parameter `reference`.
        reference_frame: Axes of the force: "local"; or "world" or "local_world_aligned", which are equivalent.
        gains: Gains (kp, kd) of Baumgarte's stabilization [1/s², 1/s].

    Source: Mastalli et al., Crocoddyl (ICRA 2020), eq. 6; Budhiraja et al., Humanoids 2018.
    """

    vectors = True

    def __init__(
        self,
        state: StateAbstract,
        frame: str,
        *,
        reference: npt.ArrayLike | None = None,
        reference_frame: str | pin.ReferenceFrame = "local_world_aligned",
        gains: Sequence[float] = (0.0, 0.0),
    ) -> None:
        super().__init__(state, [frame], 3, gains=gains, reference_frame=reference_frame)
        point = self.reference_or(reference, np.zeros(3), "robot.placement(q, frame)[:3, 3]")
        position = check_array("reference", point, (3,), cure="pass a point (x, y, z) in the world [m]")
        if self.kp is not None:
            self.reference = self.parameter("reference", position, unit="m")

    def projections(self, motions: Motions) -> dict[str, SX]:
        return {self.frame: SX(ca.horzcat(SX.eye(3), SX(3, 3)))}

    def position_error(self, motions: Motions) -> SX:
        motion = motions[self.frame]
        return ca.mtimes(motion.rotation.T, motion.position - self.reference)
