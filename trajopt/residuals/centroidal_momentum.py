"""Residual of the centroidal momentum: difference to a reference."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.checks import check_array
from trajopt.instant import Instant
from trajopt.residuals.multibody import ResidualModelMultibody
from trajopt.states.base import StateAbstract

_PARTS = "the linear part (3,) [kg m/s], then the angular part (3,) [kg m²/s]"


class ResidualModelCentroidalMomentum(ResidualModelMultibody):
    """Centroidal momentum error r = h(q, v) - h_ref, shape (6,), linear part first [kg m/s, kg m²/s].

    h is the momentum about the centre of mass, in the axes of the world.

    Args:
        state: State of the robot.
        reference: h_ref (6,) [kg m/s, kg m²/s]; zero by default. Run-time parameter `reference`.

    Source: Orin, Goswami and Lee, Autonomous Robots 35, 2013.
    """

    def __init__(self, state: StateAbstract, reference: npt.ArrayLike | None = None) -> None:
        super().__init__(state, 6, unit="kg m/s, kg m²/s")
        value = np.zeros(6) if reference is None else check_array("reference", reference, (6,), cure=_PARTS)
        self.reference = self.parameter("reference", value, unit=self.unit)

    def evaluate(self, instant: Instant) -> SX:
        return instant.robot.centroidal_momentum() - self.reference
