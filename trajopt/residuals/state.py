"""Residual of the state: distance to a reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.instant import Instant
from trajopt.residuals.base import ResidualModelAbstract
from trajopt.states.base import StateAbstract, check_state


class ResidualModelState(ResidualModelAbstract):
    """State minus reference: r = x ⊖ x_ref, shape (ndx,) [units of the tangent space: rad, m, rad/s, m/s].

    Args:
        state: Manifold of the state.
        reference: Reference state (nx,); by default `state.zero()`. Run-time parameter `reference`.
    """

    def __init__(self, state: StateAbstract, reference: npt.ArrayLike | None = None) -> None:
        super().__init__(state, check_state(state).ndx, unit=", ".join(dict.fromkeys(state.tangent_units)))
        value: Any = state.zero() if reference is None else reference
        self.reference = self.parameter("reference", value, unit=self.unit, convert=self._checked)

    def _checked(self, argument: str, value: Any) -> npt.NDArray[np.float64]:
        return self.state.check(value, argument)

    def evaluate(self, instant: Instant) -> SX:
        return self.state.sx_difference(self.reference, instant.x)

    def derivative(self, instant: Instant) -> tuple[SX, SX]:
        _, second = self.state.sx_jdifference(self.reference, instant.x)
        return second, SX(self.state.ndx, instant.nu)
