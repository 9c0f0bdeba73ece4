"""Residual of the joint accelerations: difference to a reference."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.checks import check_array
from trajopt.instant import Instant
from trajopt.residuals.multibody import ResidualModelMultibody
from trajopt.states.base import StateAbstract, check_state


class ResidualModelJointAcceleration(ResidualModelMultibody):
    """Joint acceleration error r = dv/dt - a_ref, shape (nv,) [rad/s², m/s²].

    The model must solve for accelerations, as contact dynamics do, or have them as controls, as inverse dynamics do.

    Args:
        state: State of the robot.
        reference: a_ref (nv,) [rad/s², m/s²]; zero by default. Run-time parameter `reference`.
    """

    uses_solution = True

    def __init__(self, state: StateAbstract, reference: npt.ArrayLike | None = None) -> None:
        super().__init__(state, check_state(state).ndx // 2, unit="rad/s², m/s²")
        nv = self.state.nv
        cure = "pass one acceleration for each velocity of the robot"
        value = np.zeros(nv) if reference is None else check_array("reference", reference, (nv,), cure=cure)
        self.reference = self.parameter("reference", value, unit=self.unit)

    def evaluate(self, instant: Instant) -> SX:
        return instant.acceleration - self.reference

    def derivative(self, instant: Instant) -> tuple[SX, SX]:
        return SX(self.state.nv, self.state.ndx), SX(self.state.nv, instant.nu)
