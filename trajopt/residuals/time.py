"""Residual whose cost is the time that passes."""

from __future__ import annotations

import math

from casadi import SX

from trajopt.instant import Instant
from trajopt.residuals.base import ResidualModelAbstract
from trajopt.states.base import StateAbstract


class ResidualModelTime(ResidualModelAbstract):
    """Constant r = √2, shape (1,), whose quadratic cost is the time that passes: weight w costs w per second [-].

    Integrated models multiply their costs by the time step, so the costs of all knots add up to the duration. With
    `problem.free("dt", lower, upper)` the solver minimises it. At a terminal knot the cost is the constant w.

    Args:
        state: Manifold of the state.
    """

    def __init__(self, state: StateAbstract) -> None:
        super().__init__(state, 1)

    def evaluate(self, instant: Instant) -> SX:
        return SX(math.sqrt(2.0))

    def derivative(self, instant: Instant) -> tuple[SX, SX]:
        return SX(1, self.state.ndx), SX(1, instant.nu)
