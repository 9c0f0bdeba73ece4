"""Joint friction and damping, smoothed so that they are differentiable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from trajopt.checks import check_instance, check_positive
from trajopt.errors import InvalidArgumentError, shown
from trajopt.robots import Robot


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

    @staticmethod
    def for_robot(
        friction: SmoothFriction | str | None, robot: Robot, argument: str = "friction"
    ) -> SmoothFriction | None:
        """As `of`, for a model of a robot.

        Raises:
            InvalidArgumentError: There is no friction, but the robot has damping or friction as a parameter; or
                `robot` is no robot.
        """
        smooth, robot = SmoothFriction.of(friction), check_instance("robot", robot, Robot, "use load_robot")
        unused = [name for name, p in robot.parameters.items() if p.quantity in ("damping", "friction")]
        if smooth is None and unused:
            raise InvalidArgumentError(
                f"{argument}: expected 'smooth' or a SmoothFriction, got None, with which the robot's parameter "
                f"{unused[0]!r} has no effect"
            )
        return smooth

    def torque(self, numbers: Sequence[SX], v: SX) -> SX:
        """Torque (nv,) that overcomes friction at the velocity v, for damping and friction (nv,) [N m, N]."""
        damping, friction = numbers
        return damping * v + friction * ca.tanh(v / self.width)

    def slope(self, numbers: Sequence[SX], v: SX) -> SX:
        """Derivative of the torque by v, (nv,); the friction of a joint depends on its own velocity only."""
        damping, friction = numbers
        steep = (1 - ca.tanh(v / self.width) ** 2) / self.width
        return damping + friction * steep
