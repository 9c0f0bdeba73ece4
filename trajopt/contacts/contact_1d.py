"""Contact of a point that stays at a height."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
import numpy.typing as npt
import pinocchio as pin
from casadi import SX

from trajopt.checks import check_array
from trajopt.contacts.base import ContactModelAbstract, Motions
from trajopt.errors import InvalidArgumentError
from trajopt.states.base import StateAbstract


class ContactModel1D(ContactModelAbstract):
    """Contact that stops the origin p of a frame along n: n · (p̈ + kd ṗ + kp (p - h a)) = 0; force (1,) along n [N].

    By default n = a in the world's axes. With reference_frame="local", n = R a turns with the frame, but the point h a
    does not.

    Args:
        state: State of a robot.
        frame: Name of the frame.
        reference: Height h along a in the world [m]; it has an effect only if kp > 0, and is then a run-time
            parameter.
        axis: Direction a (3,), of any length > 0.
        reference_frame: "local"; or "world" or "local_world_aligned", which are equivalent.
        gains: Gains (kp, kd) of Baumgarte's stabilization [1/s², 1/s].
    """

    def __init__(
        self,
        state: StateAbstract,
        frame: str,
        *,
        reference: float = 0.0,
        axis: npt.ArrayLike = (0.0, 0.0, 1.0),
        reference_frame: str | pin.ReferenceFrame = "local_world_aligned",
        gains: Sequence[float] = (0.0, 0.0),
    ) -> None:
        super().__init__(state, [frame], 1, gains=gains, reference_frame=reference_frame)
        direction = check_array("axis", axis, (3,), cure="pass a direction (x, y, z)")
        if not np.linalg.norm(direction) > 0:
            raise InvalidArgumentError(f"axis: expected a nonzero direction, got {direction.tolist()}; up is (0, 0, 1)")
        self.axis = direction / np.linalg.norm(direction)
        height = check_array("reference", reference, (), cure="pass a height along the axis [m]")
        if self.kp is not None:
            self.reference = self.parameter("reference", height, unit="m")

    def projections(self, motions: Motions) -> dict[str, SX]:
        return {self.frame: SX(ca.horzcat(self._local_axis(motions), SX(1, 3)))}

    def position_error(self, motions: Motions) -> SX:
        motion = motions[self.frame]
        away = motion.position - self.reference * self.axis
        return ca.mtimes(SX(self.axis).T, away if self.in_world else ca.mtimes(motion.rotation.T, away))

    def _local_axis(self, motions: Motions) -> SX:
        """Direction nᵀ in the frame's axes (1, 3)."""
        axis = SX(self.axis).T
        return ca.mtimes(axis, motions[self.frame].rotation) if self.in_world else axis
