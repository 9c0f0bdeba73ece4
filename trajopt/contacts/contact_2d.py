"""Contact of a point that does not slip, in the x-z plane."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.checks import check_array
from trajopt.contacts.base import ContactModelAbstract, Motions
from trajopt.states.base import StateAbstract


class ContactModel2D(ContactModelAbstract):
    """Contact that stops the origin of a frame along the frame's x and z axes; force (fx, fz) (2,) [N].

    Args:
        state: State of a robot.
        frame: Name of the frame.
        reference: x and z of the point in the world (2,) [m]; required if kp > 0, and then a run-time parameter.
        gains: Gains (kp, kd) of Baumgarte's stabilization [1/s², 1/s].

    The position error Rᵀ (p_x - x, 0, p_z - z) is in the frame's axes. Crocoddyl computes it in the world's axes and
    adds it to accelerations in the frame's axes, which is inconsistent if the frame turns.
    """

    def __init__(
        self,
        state: StateAbstract,
        frame: str,
        *,
        reference: npt.ArrayLike | None = None,
        gains: Sequence[float] = (0.0, 0.0),
    ) -> None:
        super().__init__(state, [frame], 2, gains=gains)
        point = self.reference_or(reference, np.zeros(2), "robot.placement(q, frame)[[0, 2], 3]")
        position = check_array("reference", point, (2,), cure="pass x and z in the world [m]")
        if self.kp is not None:
            self.reference = self.parameter("reference", position, unit="m")

    def projections(self, motions: Motions) -> dict[str, SX]:
        projection = SX(2, 6)
        projection[0, 0] = projection[1, 2] = 1
        return {self.frame: projection}

    def position_error(self, motions: Motions) -> SX:
        motion = motions[self.frame]
        x, z = motion.position[0] - self.reference[0], motion.position[2] - self.reference[1]
        return ca.mtimes(motion.rotation.T, ca.vertcat(x, 0, z))[[0, 2]]
