"""Joint friction and damping, smoothed so that they are differentiable."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
import pinocchio as pin
from casadi import SX

from trajopt.checks import check_positive
from trajopt.errors import InvalidArgumentError, shown


@dataclass(frozen=True)
class SmoothFriction:
    """Friction torque of the joints: damping · v + friction · tanh(v / width).

    Damping and friction are those of the model (model.damping, model.friction). Pinocchio's algorithms and Crocoddyl
    ignore both, so the default everywhere is no friction.

    Attributes:
        width: Velocity at which dry friction reaches 76 % of its limit [rad/s, m/s].
    """

    width: float = 1e-2

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", check_positive("width", self.width))

    @staticmethod
    def of(friction: SmoothFriction | str | None) -> SmoothFriction | None:
        """Converts the option `friction` of RobotExpressions to a SmoothFriction or None."""
        if friction is None or isinstance(friction, SmoothFriction):
            return friction
        if isinstance(friction, str) and friction == "smooth":
            return SmoothFriction()
        raise InvalidArgumentError(f"friction: expected None, 'smooth' or a SmoothFriction, got {shown(friction)}")

    def torque(self, model: pin.Model, v: SX) -> SX:
        """Torque that overcomes friction at the velocity v, (nv,) [N m, N]."""
        return SX(np.array(model.damping)) * v + SX(np.array(model.friction)) * ca.tanh(v / self.width)

    def slope(self, model: pin.Model, v: SX) -> SX:
        """Derivative of the torque by v, (nv,); the friction of a joint depends on its own velocity only."""
        steep = (1 - ca.tanh(v / self.width) ** 2) / self.width
        return SX(np.array(model.damping)) + SX(np.array(model.friction)) * steep
